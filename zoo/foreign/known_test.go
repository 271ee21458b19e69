package foreign

import (
	"os"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// known is a line of known.tsv: a defect, and where it shows.
type known struct{ kind, recipe, cause, faults, property, real, properties string }

func readKnown(t *testing.T) (all []known) {
	t.Helper()
	file, err := os.ReadFile("known.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(file)), "\n") {
		words := strings.Split(line, "\t")
		if len(words) != 7 {
			t.Fatalf("known.tsv:%d: %d columns", i+1, len(words))
		}
		if i > 0 {
			all = append(all, known{words[0], words[1], words[2], words[3], words[4], words[5], words[6]})
		}
	}
	return all
}

// Each known defect is found in simulation: over the wire, with the project's own client library and these faults only.
func TestKnownDefectsAreFound(t *testing.T) {
	for _, k := range readKnown(t) {
		if k.property == "-" {
			continue // it is found on real servers only
		}
		t.Run(k.cause, func(t *testing.T) {
			if r := campaign(t, k.kind, k.recipe, k.faults, k.property, 3000); r.Verdict != sim.VerdictViolation {
				t.Errorf("%s is not broken in %d episodes: %v %s", k.property, r.Episodes, r.Verdict, r.Reason)
			}
		})
	}
}

// On days without faults, recipes without a known defect that needs none are clean.
func TestGoodDaysAreClean(t *testing.T) {
	broken := map[string]bool{}
	for _, k := range readKnown(t) {
		broken[k.kind+k.recipe] = broken[k.kind+k.recipe] || k.faults == "none"
	}
	for _, r := range listed {
		if broken[r.Kind+r.Name] {
			continue
		}
		t.Run(r.Kind+" "+r.Name, func(t *testing.T) {
			if r := campaign(t, r.Kind, r.Name, "none", "", 100); r.Verdict != sim.VerdictOK || r.Barred != nil {
				t.Errorf("%v %s %v, barred %q", r.Verdict, r.Reason, r.Violations, r.Barred)
			}
		})
	}
}

// campaign runs episodes until a property is broken, or all of them if it is "".
func campaign(t *testing.T, kind, recipe, faults, until string, episodes int) sim.Result {
	t.Helper()
	r, found := Find(kind, recipe)
	if !found {
		t.Fatalf("there is no recipe %s of kind %s", recipe, kind)
	}
	if r.Dials != nil && !sim.Exact() {
		t.Skipf("%s connects by itself, which takes exact mode: make exact", recipe)
	}
	may, err := world.ParseFaults(faults)
	if err != nil {
		t.Fatal(err)
	}
	result, err := sim.Run(t.Context(), r.workload(), sim.Config{
		Episodes: episodes, Seed: 1, Faults: may, NoFaultsAtAll: true, Until: until, NoShrink: true, Workers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}
