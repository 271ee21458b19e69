package linearizability

import (
	"slices"
	"strings"
	"testing"
)

// crowdedDoubleBarrier is 14 operations of a double barrier at nearly one instant, of which the last leave is too early:
// whoever enters with it is inside. It is illegal.
func crowdedDoubleBarrier() History {
	at := func(client int, op string, call, ret int64) Operation {
		return Operation{Client: client, Op: op, Call: call, Return: ret}
	}
	h := History{
		at(3, "enter", 0, 0), at(2, "enter", 0, 0), at(0, "enter", 0, 0), at(1, "enter", 0, 0),
		at(2, "leave", 0, 0), at(3, "leave", 0, 0), at(0, "leave", 0, 0), at(0, "enter", 0, 1), at(1, "leave", 0, 1),
		at(2, "enter", 0, 1), at(1, "enter", 1, 1), at(0, "enter", 1, 1), at(3, "enter", 1, Forever),
		at(0, "leave", 5, 5),
	}
	h[12].Outcome = Unknown
	return h
}

// Whoever only looks does so as soon as there is what he saw. Without that the search has to remember for each
// leave and each moment whether it was then, and has no memory for it.
func TestTheFrontierLooksAtOnce(t *testing.T) {
	m := DoubleBarrier(2)
	steps := m.steps(crowdedDoubleBarrier())
	j := newJudge(&m, Options{MemoryLimit: 64 << 20})
	if r := searchFrontier(&j.spec, steps, j.half(), j.memory); Status(r.Outcome) != Violation {
		t.Errorf("%v: %s", Status(r.Outcome), r.Reason)
	}
}

// A legal history of many operations at one instant is legal by the first order that is found in the depth. To
// look at all that may be open together took the frontier seconds.
func TestShortHistoriesAreSearchedInTheDepth(t *testing.T) {
	at := func(client int, op string, call, ret int64) Operation {
		return Operation{Client: client, Op: op, Call: call, Return: ret}
	}
	h := History{
		at(2, "enter", 0, 0), at(2, "leave", 0, 0), at(0, "enter", 0, 0), at(2, "enter", 0, 1), at(2, "enter", 0, 0),
		at(1, "enter", 0, 0), at(0, "leave", 0, 0), at(3, "leave", 0, 0), at(1, "leave", 0, 1), at(3, "leave", 0, 1),
		at(3, "enter", 1, 1), at(0, "enter", 1, Forever), at(2, "enter", 1, Forever),
	}
	h[11].Outcome, h[12].Outcome = Unknown, Unknown
	v := Check(DoubleBarrier(3), h, Options{MemoryLimit: 16 << 20})[0]
	if v.Outcome != Ok || slices.ContainsFunc(v.Tried,
		func(s string) bool { return strings.HasPrefix(s, "frontier") }) {
		t.Error(v, v.Tried)
	}
}
