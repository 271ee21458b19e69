package deploy

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"

	"github.com/zktorture/zktorture/internal/testkit"
)

// Workflows for GitHub are those of this repository and those that pages show, also with all the parts that the page
// says to add. actionlint knows their syntax, their expressions, and the inputs of well-known actions by their
// major versions.
func TestWorkflows(t *testing.T) {
	workflows := map[string]string{}
	for _, name := range globbed(t, "../../.github/workflows/*.yml") {
		workflows[name] = readText(t, name)
	}
	pages, err := testkit.Documents("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pages {
		whole, parts := shownWorkflow(t, filepath.Join("..", "..", name))
		if whole == "" {
			continue
		}
		workflows[name] = whole
		if len(parts) > 0 {
			workflows[name+", with all parts"] = withParts(t, whole, parts)
		}
	}
	if len(workflows) < 4 {
		t.Errorf("there are %d workflows", len(workflows))
	}
	for name, text := range workflows {
		linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := linter.Lint("workflow.yml", []byte(byCommit.ReplaceAllString(text, "@$1")), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range found {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}

// byCommit is how actions are named, with the major version.
var byCommit = regexp.MustCompile(`@[0-9a-f]{40} # (v\d+)\.\d+\.\d+`)

// shownWorkflow is the workflow that a page shows, with the parts that may be added.
func shownWorkflow(t *testing.T, name string) (whole string, parts []string) {
	t.Helper()
	for _, m := range yamlBlock.FindAllStringSubmatch(readText(t, name), -1) {
		if !strings.HasPrefix(m[1], "name: ") {
			parts = append(parts, m[1])
			continue
		}
		if whole != "" {
			t.Fatalf("%s has two workflows", name)
		}
		whole = m[1]
	}
	return whole, parts
}

// withParts adds parts to the only job of a workflow: steps at its end, others at its beginning.
func withParts(t *testing.T, whole string, parts []string) string {
	t.Helper()
	for _, part := range parts {
		if strings.HasPrefix(part, "      - ") {
			whole += "\n" + part
			continue
		}
		before, steps, found := strings.Cut(whole, "    steps:\n")
		if !found || !strings.HasPrefix(part, "    ") {
			t.Fatalf("no place for\n%s", part)
		}
		whole = before + part + "    steps:\n" + steps
	}
	return whole
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
