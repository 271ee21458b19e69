package output

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

func TestSensitivityLine(t *testing.T) {
	hard := world.Sensitivity{Episodes: 2, Faults: 4, DuringOp: 3, Operations: 8, Overlapping: 4, Unknown: 1,
		Corruptions: 10, Noticed: 9}
	doubtful := world.Sensitivity{Episodes: 2, Operations: 800, Overlapping: 1, Corruptions: 10, Noticed: 7, Undecided: 2}
	vacuous := world.Sensitivity{Episodes: 2, Operations: 8}
	for want, r := range map[string]sim.Result{
		"": {Verdict: sim.VerdictViolation, Counts: tally.Counts{Sensitivity: hard}},
		"strength: 50 % of the operations overlapped another client's, 12 % had an unknown outcome; " +
			"75 % of the faults hit an operation; " +
			"the checker caught 90 % of 10 planted errors, 10 % are legal": {
			Verdict: sim.VerdictOK, Counts: tally.Counts{Sensitivity: hard},
		},
		"strength: 0 % of the operations overlapped another client's, 0 % had an unknown outcome; " +
			"the checker caught 70 % of 10 planted errors, 10 % are legal, " +
			"2 could not be judged": {Verdict: sim.VerdictOK, Counts: tally.Counts{Sensitivity: doubtful}},
		"this pass proves nothing: no two clients' operations overlapped": {Verdict: sim.VerdictOK, Counts: tally.Counts{Sensitivity: vacuous}},
	} {
		if got := sensitivityLine(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := sensitivityLine(sim.Result{Verdict: sim.VerdictOK}); got != "" {
		t.Errorf("of what was not measured: %q", got)
	}
}
