package torturecli

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
)

func TestSensitivityLine(t *testing.T) {
	hard := sim.Sensitivity{Episodes: 2, Faults: 4, DuringOp: 3, Operations: 8, Overlapping: 4, Unknown: 1,
		Corruptions: 10, Noticed: 9}
	doubtful := sim.Sensitivity{Episodes: 2, Operations: 800, Overlapping: 1, Corruptions: 10, Noticed: 7, Undecided: 2}
	vacuous := sim.Sensitivity{Episodes: 2, Operations: 8}
	for want, r := range map[string]sim.Result{
		"": {Verdict: sim.VerdictViolation, Sensitivity: hard},
		"strength: 50 % of the operations overlapped another client's, 12 % had an unknown outcome; " +
			"75 % of the faults struck during an operation; " +
			"of 10 corruptions of what clients saw 90 % would have been noticed, 10 % are legal too": {
			Verdict: sim.VerdictOK, Sensitivity: hard,
		},
		"strength: 0 % of the operations overlapped another client's, 0 % had an unknown outcome; " +
			"of 10 corruptions of what clients saw 70 % would have been noticed, 10 % are legal too, " +
			"2 could not be judged": {Verdict: sim.VerdictOK, Sensitivity: doubtful},
		"this pass proves nothing: no two clients' operations overlapped": {Verdict: sim.VerdictOK, Sensitivity: vacuous},
	} {
		if got := sensitivityLine(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := sensitivityLine(sim.Result{Verdict: sim.VerdictOK}); got != "" {
		t.Errorf("of what was not measured: %q", got)
	}
}
