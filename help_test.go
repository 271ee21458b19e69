package zktorture_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
	_ "github.com/zktorture/zktorture/workload/cluster"
)

// Whatever a kind promises, there is a sentence about what helps when the promise breaks, and a page of the cookbook, whose
// index names the property.
func TestEveryPropertyHasHelp(t *testing.T) {
	helped, index := map[string]bool{}, testkit.File(t, "docs/cookbook/index.md")
	for _, a := range story.AllAdvice() {
		if len(a.Helps) == 0 || a.Helps[len(a.Helps)-1].Mechanism != story.AnyMechanism {
			t.Errorf("%v: the last line of what helps is not for any mechanism", a.Properties)
		}
		for _, property := range a.Properties {
			if helped[property] {
				t.Errorf("%s has help twice", property)
			}
			if helped[property] = true; !strings.Contains(index, property) {
				t.Errorf("docs/cookbook/index.md does not name %s", property)
			}
		}
		for _, r := range a.Helps {
			if _, err := os.Stat("docs/cookbook/" + r.Page + ".md"); err != nil {
				t.Errorf("%v: %v", a.Properties, err)
			}
		}
	}
	for _, k := range workload.Kinds() {
		for _, p := range k.Promises {
			for _, property := range slices.Concat(p.Names, p.Also) {
				if !helped[property] {
					t.Errorf("%s: nothing helps against %s", k.Name, property)
				}
			}
		}
	}
}
