package zoo

import (
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
)

// Executions within a bound show about half of the known bugs, and accuse no fixed version. One in eight is tried, all
// with ZKTORTURE_THOROUGH=all, which logs what results/prove.md has.
func TestExploreFindsKnownBugs(t *testing.T) {
	testkit.ManyWorlds(t)
	tried, found := 0, 0
	for i, b := range KnownBugs() {
		if i%testkit.Sized(8, 1) != 0 {
			continue
		}
		bound := sim.Bound{Faults: b.Faults(), Strikes: 1, Departures: 2, Runs: testkit.Sized(2000, 6000), NoShrink: true}
		r, err := sim.Explore(t.Context(), b.Broken(), bound)
		if err != nil {
			t.Fatal(err)
		}
		tried++
		property := "–"
		if len(r.Violations) > 0 {
			found++
			property = r.Violations[0].Property
		}
		t.Logf("%s %s: %d runs, %s", b.ID, b.Needs, r.Explored.Total, property)
		if r, err = sim.Explore(t.Context(), b.Fixed(), bound); err != nil || len(r.Violations) > 0 || r.Reason != "" {
			t.Errorf("the fixed version of %s: %v, %s, %v", b.ID, err, r.Reason, r.Violations)
		}
	}
	t.Logf("%d of %d are found", found, tried)
	if 5*found < 2*tried {
		t.Errorf("only %d of %d are found", found, tried)
	}
}
