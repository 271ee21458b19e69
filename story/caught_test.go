package story_test

import (
	"testing"

	_ "github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// bug is what a broken recipe of a kind breaks under some faults.
type bug struct {
	kind, property string
	faults         world.Faults
}

// lostWakeup is one that shows without faults.
var lostWakeup = bug{"lock", "lost-wakeup", world.NoFaults}

// sample are a lost wake-up, a lock that two have, a lost reply, the end of a session, and a queue that is not empty.
var sample = []bug{lostWakeup, {"lock", "exclusion", world.NoFaults}, {"queue", "duplicate", world.Loss},
	{"lock", "belief", world.Expiry}, {"queue", "false-empty", world.NoFaults}}

// caught is a counterexample.
func (b bug) caught(t *testing.T) (*workload.Workload, *sim.Counterexample) {
	t.Helper()
	w, err := workload.Find(b.kind, "broken")
	if err != nil {
		t.Fatal(err)
	}
	return w, caught(t, w, sim.Config{Seed: 1, Faults: b.faults, Until: b.property})
}

// caught is the counterexample that a run finds.
func caught(t *testing.T, w *workload.Workload, cfg sim.Config) *sim.Counterexample {
	t.Helper()
	cfg.Episodes, cfg.NoFaultsAtAll = 2000, true
	result, err := sim.Run(t.Context(), w, cfg)
	if err != nil || len(result.Violations) != 1 {
		t.Fatalf("%v, %+v", err, result.Violations)
	}
	c, err := cfg.Counterexample(result, result.Violations[0])
	if err != nil {
		t.Fatal(err)
	}
	return c
}
