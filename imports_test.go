// Package zktorture_test guards the shape of the module.
package zktorture_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

const module = "github.com/zktorture/zktorture/"

// mayImport says for each part of the module which other parts its packages may import. Imports point
// one way, so that the recipes can be used in production without the simulator, and each checker and
// each fake without the rest. What is not listed may import anything.
var mayImport = map[string]string{
	"recipes":          "",
	"recipes/zkclient": "",
	"recipes/cluster":  "recipes",
	"linearizability":  "",

	"fakezk/wire":     "internal/faultset",
	"fakezk":          "fakezk/wire internal/digest",
	"fakezk/goclient": "fakezk fakezk/goclient/parked fakezk/wire internal/digest",
	"fakezk/versions": "fakezk",
	"fakezk/protocol": "fakezk fakezk/wire",
	"fakezk/server":   "fakezk fakezk/protocol fakezk/wire internal/webpage",

	"sim/internal/bubble": "fakezk/goclient fakezk/goclient/parked internal/digest",
	"sim/internal/line":   "fakezk fakezk/protocol fakezk/wire",
	"sim/world":           "fakezk fakezk/goclient fakezk/protocol fakezk/wire sim/internal/bubble sim/internal/line internal",
	"sim/internal":        "fakezk fakezk/goclient fakezk/wire sim/internal/bubble sim/world internal",
	"sim/replay":          "fakezk sim/internal sim/internal/bubble sim/world internal",
	"story":               "fakezk fakezk/wire linearizability sim/replay sim/world internal",
	"sim":                 "fakezk sim/internal sim/internal/bubble sim/internal/checkout sim/replay sim/world story internal",
	"story/reading":       "story",
	"story/index":         "linearizability sim story internal",

	"workload":         "fakezk fakezk/goclient fakezk/wire linearizability recipes sim sim/world internal",
	"workload/cluster": "linearizability recipes recipes/cluster sim sim/world workload",
	"workload/service": "fakezk fakezk/wire linearizability recipes sim sim/world workload",

	"live/ensemble": "fakezk/wire recipes/zkclient",
	"live/worker":   "fakezk/goclient linearizability live/ensemble recipes recipes/zkclient sim/world workload workload/cluster internal",
	"live/outcome":  "linearizability recipes sim/world workload",
	"live":          "fakezk/wire linearizability live/ensemble live/outcome live/worker recipes sim sim/world workload internal/faultset",
	"live/confirm":  "fakezk/goclient fakezk/wire live recipes sim sim/world workload",

	// Leaves that need nothing but the standard library:
	"fakezk/goclient/parked": "",
	"sim/internal/checkout":  "",
	"internal/cycle":         "",
	"internal/digest":        "",
	"internal/escape":        "",
	"internal/faultset":      "",
	"internal/resource":      "",
	"internal/webpage":       "",
	"internal/wholefile":     "",
}

// testsOnly are packages that tests of others import, and nothing else, and programs that only tests run.
var testsOnly = map[string]bool{"fakezk/fakezktest": true, "story/reworded": true}

func TestImportsPointOneWay(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(list(t, "{{.ImportPath}} {{join .Imports \" \"}}")) {
		words := strings.Fields(line)
		part := partOf(words[0])
		seen[part] = true
		allowed, guarded := mayImport[part]
		for _, other := range words[1:] {
			to := partOf(other)
			below, _, _ := strings.Cut(to, "/")
			if guarded && to != "" && to != part && !slices.Contains(strings.Fields(allowed), to) &&
				!(below == "internal" && slices.Contains(strings.Fields(allowed), below)) {
				t.Errorf("%s imports %s: %s may import %s only", words[0], other, part, allowed)
			}
		}
	}
	for part := range mayImport {
		if !seen[part] {
			t.Errorf("there is no %s any more", part)
		}
	}
}

// Package testing brings flags and a way to end the process: of what recipes in production are
// made of, nothing needs it.
func TestRecipesDoNotImportTesting(t *testing.T) {
	for line := range strings.Lines(list(t, "{{.ImportPath}} {{join .Deps \" \"}}")) {
		words := strings.Fields(line)
		for _, dep := range words[1:] {
			if dep == "testing" && (partOf(words[0]) == "recipes" || partOf(words[0]) == "fakezk") {
				t.Errorf("%s imports %s", words[0], dep)
			}
		}
	}
}

// partOf returns the part of this module to which a package belongs: the longest path above it that
// is listed, or else its first folder; "" for other packages.
func partOf(path string) string {
	rest, ours := strings.CutPrefix(path, module)
	if !ours {
		return ""
	}
	for at := rest; at != "."; at = filepath.Dir(at) {
		if _, listed := mayImport[at]; listed || testsOnly[at] {
			return at
		}
	}
	part, _, _ := strings.Cut(rest, "/")
	return part
}

func list(t *testing.T, format string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", format, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Every package says what it is for.
func TestPackagesAreDocumented(t *testing.T) {
	for line := range strings.Lines(list(t, "{{.ImportPath}} {{len .GoFiles}} {{.Doc}}")) {
		words := strings.Fields(line)
		if len(words) < 3 && words[1] != "0" {
			t.Errorf("%s has no package comment", words[0])
		}
	}
	for _, path := range []string{"linearizability", "live/ensemble", "live/worker", "recipes/zkclient", "sim", "story", "workload"} {
		if !hasExample(t, path) {
			t.Errorf("%s%s has no Example function: what its user writes first", module, path)
		}
	}
}

func hasExample(t *testing.T, path string) bool {
	t.Helper()
	tests, err := filepath.Glob(path + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(tests, func(name string) bool {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(text, []byte("\nfunc Example"))
	})
}

// Modules within this one, such as that of campaigns, bring dependencies that its users do not get.
func TestNestedModulesAreNotImported(t *testing.T) {
	nested := nestedModules(t)
	if !slices.Contains(nested, module+"campaign") {
		t.Fatalf("campaign is no module of its own: %v", nested)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	packages := list(t, "{{.ImportPath}} {{join .Deps \" \"}} {{join .TestImports \" \"}} {{join .XTestImports \" \"}}")
	for _, other := range nested {
		if bytes.Contains(mod, []byte(other)) {
			t.Errorf("go.mod names %s", other)
		}
		for line := range strings.Lines(packages) {
			words := strings.Fields(line)
			for _, dep := range words[1:] {
				if strings.HasPrefix(dep+"/", other+"/") {
					t.Errorf("%s imports %s", words[0], dep)
				}
			}
		}
	}
}

// Modules refer to each other by version, so that what is in them can be installed from afar: go install takes no module
// with a replacement. A checkout uses its own by go.work, which has to say so of the version that they name, too.
func TestModulesReferByVersion(t *testing.T) {
	work := testkit.File(t, "go.work")
	for _, path := range nestedModules(t) {
		folder := strings.TrimPrefix(path, module)
		mod := testkit.File(t, folder+"/go.mod")
		if strings.Contains(mod, "replace") {
			t.Errorf("%s/go.mod has a replacement", folder)
		}
		if used := strings.Contains(work, "\t./"+folder+"\n"); used == (folder == "internal/tools") {
			t.Errorf("go.work has %s: %t", folder, used)
		}
		for _, required := range regexp.MustCompile(`github.com/zktorture/zktorture\S* v\S+`).FindAllString(mod, -1) {
			if !strings.Contains(work, "\t"+required+" => .") {
				t.Errorf("%s/go.mod requires %s, and go.work does not say where it is", folder, required)
			}
		}
	}
}

// nestedModules are the modules in folders of this one, by the paths that they would be imported by.
func nestedModules(t *testing.T) (found []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Name() == "go.mod" && path != "go.mod" {
			found = append(found, module+filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The command torture is made of these modules and of no others.
func TestTortureIsMadeOf(t *testing.T) {
	want := strings.Fields(`
		github.com/alecthomas/kong
		github.com/anishathalye/porcupine
		github.com/go-zookeeper/zk
		github.com/hashicorp/errwrap
		github.com/hashicorp/go-multierror
		github.com/jotaen/kong-completion
		github.com/pkg/errors
		github.com/posener/complete
		github.com/riywo/loginshell
		github.com/zktorture/zktorture
		github.com/zktorture/zktorture/cmd/torture
		github.com/zktorture/zktorture/sim/prove
		github.com/zktorture/zktorture/zoo
		golang.org/x/mod
		golang.org/x/sync
		golang.org/x/sys
		golang.org/x/term
		golang.org/x/tools
		pgregory.net/rapid`)
	format := "{{with .Module}}{{.Path}}{{end}}"
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, "./cmd/torture")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOWORK=") // of the checkout
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	is := strings.Fields(string(out))
	slices.Sort(is)
	if is = slices.Compact(is); !slices.Equal(is, want) {
		t.Errorf("torture is made of\n%s\nand should be of\n%s", strings.Join(is, "\n"), strings.Join(want, "\n"))
	}
}

// A kind is judged by what its World knows, whichever it is: no file of package workload names one of the worlds.
func TestKindsNameNoRealServers(t *testing.T) {
	files := 0
	for name, source := range sources(t) {
		if filepath.Base(filepath.Dir(name)) != "workload" {
			continue
		}
		files++
		words := strings.Join(strings.Fields(strings.ReplaceAll(strings.ToLower(source), "//", " ")), " ")
		if i := strings.Index(words, "real server"); i >= 0 {
			t.Errorf("%s names real servers: %q. Say what the world does not know", name, words[max(0, i-30):min(len(words), i+40)])
		}
	}
	if files < 20 {
		t.Errorf("only %d files were looked at", files)
	}
}

// sources are the module's files, without tests, by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(list(t, `{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}`)) {
		if name := strings.TrimSpace(line); name != "" {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(source)
		}
	}
	return all
}

// Texts are made for people. What a program needs of one is in a field, so nothing scans values out of a text.
func TestNothingIsScannedOutOfTexts(t *testing.T) {
	all := sources(t)
	for name, source := range all {
		if strings.Contains(source, "fmt.Sscan") {
			t.Errorf("%s scans a text: have what it looks for in a field where the text is made", name)
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d files were looked at", len(all))
	}
}
