package linearizability

import (
	"testing"
)

func TestDoubleBarrierNamesWhatIsBroken(t *testing.T) {
	cases := map[string][2]string{
		"two enter and leave together": {"client 1 enter [1..6]\nclient 2 enter [2..5]\nclient 1 leave " +
			"[7..12]\nclient 2 leave [9..11]", "ok"},
		"one enters alone": {"client 1 enter [1..3]\nclient 2 enter [4..6]", "violation early-enter"},
		"one leaves alone": {"client 1 enter [1..6]\nclient 2 enter [2..5]\nclient 1 leave " +
			"[7..8]\nclient 2 leave [9..11]", "violation early-leave"},
		"the second round begins with one": {"client 1 enter [1..3]\nclient 2 enter [1..3]\nclient 1 leave " +
			"[4..6]\nclient 2 leave [5..7]\nclient 1 enter [8..9]", "violation early-enter"},
		"one that gave up counts": {"client 1 enter (unknown) [1..]\nclient 2 enter [2..5]", "ok"},
		"the dead are not waited for": {"client 1 enter [1..6]\nclient 2 enter [2..5]\nclient 1 leave " +
			"(unknown) [7..]\nclient 2 leave [9..11]", "ok"},
		"whoever comes back is one and not": {"client 1 enter (unknown) [1..]\nclient 1 enter [3..5]",
			"violation early-enter"},
	}
	for title, c := range cases {
		if v := Check(DoubleBarrier(2), parseHistory(t, c[0]), Options{})[0]; summary(v) != c[1] {
			t.Errorf("%s: %v, want %s", title, v, c[1])
		}
	}
	if _, err := ByName("doublebarrier", Parameters{Parties: 3}); err != nil {
		t.Error(err)
	}
	if v := Check(DoubleBarrier(2), parseHistory(t, "client 1 enter 5 [1..2]"),
		Options{})[0]; v.Outcome != Undetermined {
		t.Errorf("an enter with an argument: %v", v)
	}
}
