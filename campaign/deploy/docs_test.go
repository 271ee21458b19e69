package deploy

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/zktorture/zktorture/campaign"
	"github.com/zktorture/zktorture/internal/testkit"
)

// guide is docs/campaign.md. Its commands are run by the tests of internal/cli.
func guide(t *testing.T) string {
	t.Helper()
	return readText(t, "../../docs/campaign.md")
}

// The guide's tables have all fields of a plan, in their order, with their defaults, and no others.
func TestTheGuideHasEveryFieldOfAPlan(t *testing.T) {
	text := guide(t)
	noted := []string{"programs", "known", "resolved"} // of which it says so
	for name, of := range map[string]reflect.Type{
		"field": reflect.TypeFor[campaign.Plan](), "field of a group": reflect.TypeFor[campaign.Group](),
	} {
		var want []string
		for field := range of.Fields() {
			if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" && !slices.Contains(noted, key) {
				want = append(want, key)
			}
		}
		if is := keys(text, name); !slices.Equal(is, want) {
			t.Errorf("the table of each %s has\n%v\nand should have\n%v", name, is, want)
		}
	}
	for field, value := range map[string]any{
		"episodes": campaign.EpisodesDefault, "unit": campaign.PerUnitDefault, "unit_memory": campaign.MemoryDefault,
		"unit_limit": fmt.Sprintf(`"%v"`, campaign.LimitDefault), "tries": campaign.TriesDefault,
		"canary": fmt.Sprintf("%q", campaign.CanaryDefault), "shares": campaign.SharesDefault,
	} {
		if row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| `%s` .* \\| `?%v`? \\|$", field, value)); !row.MatchString(text) {
			t.Errorf("the guide does not say that the default of %s is %v", field, value)
		}
	}
}

// The YAML that pages show can be read, and has no key twice. Actions are named by commits, as tags may be moved.
func TestShownYAML(t *testing.T) {
	names, err := testkit.Documents("../..")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, name := range names {
		for _, m := range yamlBlock.FindAllStringSubmatch(readText(t, filepath.Join("..", "..", name)), -1) {
			shown++
			var value any
			if err := yaml.UnmarshalStrict([]byte(m[1]), &value); err != nil {
				t.Errorf("%s: %v\n%s", name, err, m[1])
			}
			for _, action := range action.FindAllStringSubmatch(m[1], -1) {
				if !pinned.MatchString(action[1]) {
					t.Errorf("%s: %s is not named by a commit", name, action[1])
				}
			}
		}
	}
	if shown < 2 {
		t.Errorf("there are %d blocks", shown)
	}
}

var (
	yamlBlock = regexp.MustCompile("(?m)^```yaml\n((?:.*\n)*?)```$")
	action    = regexp.MustCompile(`uses: (.*)`)
	pinned    = regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

// keys are the words in the first column of a table.
func keys(text, head string) (found []string) {
	_, table, _ := strings.Cut(text, "\n| "+head+" |")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, key := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(first, -1) {
			found = append(found, key[1])
		}
	}
	return found
}
