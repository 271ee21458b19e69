package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/workload/audit"
)

// What the judge lets pass of a corrupted history must be in order; most of the corruptions are not.
func TestSensitivityOfAPass(t *testing.T) {
	for _, of := range workload.Kinds() {
		kind := of.Name
		if of.Model.Name == "" {
			continue
		}
		s := campaign(t, lookUp(t, kind, workload.Ours), sim.Config{Episodes: 80, Seed: 1, Audit: 40, Auditor: audit.Measure}).Sensitivity
		t.Logf("%s: %+v", kind, s)
		if s.Episodes < 36 || s.Overlapping == 0 || s.Undecided > 0 || s.Corruptions < 7*s.Episodes ||
			audit.Vacuous(s) != "" {
			t.Errorf("%s: %+v is vacuous: %s", kind, s, audit.Vacuous(s))
		}
		if s.DuringOp == 0 || s.DuringOp > s.Faults {
			t.Errorf("%s: %d of %d faults hit an operation", kind, s.DuringOp, s.Faults)
		}
	}
}

func TestSensitivityIsDeterministic(t *testing.T) {
	run := func(workers int) world.Sensitivity {
		return campaign(t, lookUp(t, "queue", workload.Ours),
			sim.Config{Episodes: 60, Seed: 3, Workers: workers, Audit: 60, Auditor: audit.Measure}).Sensitivity
	}
	if diff := cmp.Diff(run(1), run(4)); diff != "" {
		t.Error(diff)
	}
}

// The larger episodes are, the fewer of them are measured.
func TestLargeEpisodesAreMeasuredLess(t *testing.T) {
	s := campaign(t, lookUp(t, "lock", workload.Ours),
		sim.Config{Episodes: 5, Seed: 1, Clients: 64, NoFaultsAtAll: true, Audit: 5, Auditor: audit.Measure}).Sensitivity
	if s.Episodes != 2 {
		t.Errorf("of 5 episodes of 64 clients and 4 turns %d were measured, want 2", s.Episodes)
	}
}

// A pass in which nothing could go wrong, or in which it would not have been noticed, says so.
func TestVacuousPass(t *testing.T) {
	for want, s := range map[string]world.Sensitivity{
		"": {
			Episodes: 1, Operations: 2, Overlapping: 2, Corruptions: 8, Noticed: 1},
		"no operation was judged":               {Episodes: 1},
		"no two clients' operations overlapped": {Episodes: 1, Operations: 2},
		"the checker would have caught none of 8 planted errors": {
			Episodes: 1, Operations: 2, Overlapping: 2, Corruptions: 8},
	} {
		if got := audit.Vacuous(s); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	if got := audit.Vacuous(world.Sensitivity{Faults: 3}); got != "" {
		t.Errorf("what was not measured is said to be vacuous: %s", got)
	}
}
