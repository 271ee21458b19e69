package torturecli

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
)

func TestStrengthLine(t *testing.T) {
	hard := sim.Strength{Episodes: 2, Faults: 4, Inside: 3, Operations: 8, Overlapping: 4, Unknown: 1, Corruptions: 10, Noticed: 9}
	doubtful := sim.Strength{Episodes: 2, Operations: 800, Overlapping: 1, Corruptions: 10, Noticed: 7, Undecided: 2}
	vacuous := sim.Strength{Episodes: 2, Operations: 8}
	for want, r := range map[string]sim.Result{
		"": {Verdict: sim.VerdictViolation, Strength: hard},
		"strength: 50 % of the operations overlapped another client's, 12 % had an unknown outcome; 75 % of the faults struck during an operation; " +
			"of 10 corruptions of what clients saw 90 % would have been noticed, 10 % are legal too": {Verdict: sim.VerdictOK, Strength: hard},
		"strength: 0 % of the operations overlapped another client's, 0 % had an unknown outcome; " +
			"of 10 corruptions of what clients saw 70 % would have been noticed, 10 % are legal too, 2 could not be judged": {Verdict: sim.VerdictOK, Strength: doubtful},
		"this pass says nothing: no two clients' operations overlapped": {Verdict: sim.VerdictOK, Strength: vacuous},
	} {
		if got := strengthLine(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := strengthLine(sim.Result{Verdict: sim.VerdictOK}); got != "" {
		t.Errorf("of what was not measured: %q", got)
	}
}
