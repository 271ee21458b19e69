//go:build zktexact

package zoo

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// exactBugs are those that need exact mode.
func exactBugs(t *testing.T) (all []KnownBug) {
	t.Helper()
	for _, a := range KnownBugs() {
		if a.Exact {
			all = append(all, a)
		}
	}
	if len(all) < 3 {
		t.Fatalf("only %d known bugs need exact mode", len(all))
	}
	return all
}

// Known bugs that need exact mode are found in it, and replayed; their fixed versions are clean.
func TestExactKnownBugs(t *testing.T) {
	for _, a := range exactBugs(t) {
		c, err := NewHunter(HuntConfig{Seed: 1, Episodes: 3000}).Hunt(t.Context(), a)
		if err != nil || !c.OK() {
			t.Errorf("%s: %v, %s", a.ID, err, c.Problem)
			continue
		}
		t.Logf("%s: in %d episodes; %d clients, %d faults, %d steps", a.ID, c.Episodes, c.Found.Clients, c.Found.Faults, c.Found.Steps)
		cfg := sim.Config{Faults: world.AllFaults, Clients: a.Clients}
		if a.Needs == "none" {
			cfg.Faults, cfg.NoFaultsAtAll = world.NoFaults, true
		}
		if c.Found.Divergence != nil {
			t.Errorf("%s: %v", a.ID, c.Found.Divergence)
		}
		for range 10 {
			example, err := cfg.Counterexample(sim.Result{}, *c.Found)
			if err != nil {
				t.Fatal(err)
			}
			r, err := sim.Replay(a.Broken(), example)
			if err != nil || r.Try != 1 || r.Diverged >= 0 || r.Violation == nil || r.Violation.Property != a.Property {
				t.Fatalf("%s: replayed: %+v, %v", a.ID, r, err)
			}
		}
	}
}
