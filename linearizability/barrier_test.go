package linearizability

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawMeetings draws operations of up to three processes at a barrier, all stamps of which differ.
func drawMeetings(t *rapid.T) (h History) {
	stamps := rapid.Permutation([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).Draw(t, "stamps")
	for i := range rapid.IntRange(0, 6).Draw(t, "size") {
		pair := slices.Sorted(slices.Values(stamps[2*i : 2*i+2]))
		op := Operation{
			Client:  rapid.IntRange(0, 2).Draw(t, "client"),
			Op:      rapid.SampledFrom([]string{"enter", "enter", "leave"}).Draw(t, "op"),
			Outcome: rapid.SampledFrom([]Outcome{OK, OK, OK, OK, OK, Unknown, Fail}).Draw(t, "outcome"),
			Call:    pair[0], Return: pair[1],
		}
		if op.Outcome == Unknown {
			op.Return = Forever
		}
		h = append(h, op)
	}
	sortByCall(h)
	return h
}

// presence is what the reference knows of a process at one moment.
type presence struct{ there, inside bool }

// presenceAt replays the history up to a moment between two stamps; passed are the moments at
// which the enters succeeded, by index.
func presenceAt(h History, passed map[int]float64, t float64) map[int]presence {
	type event struct {
		at   float64
		i    int
		pass bool
	}
	var events []event
	for i, op := range h {
		if op.Outcome == Fail {
			continue
		}
		events = append(events, event{float64(op.Call), i, false})
		if at, ok := passed[i]; ok {
			events = append(events, event{at, i, true})
		}
	}
	slices.SortFunc(events, func(a, b event) int { return int(4 * (a.at - b.at)) })
	state, gone := map[int]presence{}, map[int]bool{}
	for _, e := range events {
		op := h[e.i]
		switch p := state[op.Client]; {
		case e.at >= t:
		case e.pass:
			state[op.Client] = presence{there: p.there, inside: !gone[op.Client]}
		case op.Op == "enter":
			state[op.Client], gone[op.Client] = presence{there: true}, false
		case op.Outcome == OK:
			state[op.Client], gone[op.Client] = presence{}, false
		default:
			state[op.Client], gone[op.Client] = presence{there: p.there}, true
		}
	}
	return state
}

// moments are those between two stamps of an operation.
func moments(op Operation) (all []float64) {
	for t := float64(op.Call) + 0.5; t < float64(op.Return); t++ {
		all = append(all, t)
	}
	return all
}

// meetsByReference tries all moments at which the enters from index i on may have succeeded.
func meetsByReference(h History, parties, i int, passed map[int]float64) bool {
	if i == len(h) {
		return canAllLeave(h, passed)
	}
	if h[i].Op != "enter" || h[i].Outcome != OK {
		return meetsByReference(h, parties, i+1, passed)
	}
	for _, t := range moments(h[i]) {
		there := 0
		for _, p := range presenceAt(h, nil, t) {
			if p.there {
				there++
			}
		}
		passed[i] = t
		if there >= parties && meetsByReference(h, parties, i+1, passed) {
			return true
		}
		delete(passed, i)
	}
	return false
}

func canAllLeave(h History, passed map[int]float64) bool {
	for _, op := range h {
		if op.Op != "leave" || op.Outcome != OK {
			continue
		}
		free := slices.ContainsFunc(moments(op), func(t float64) bool {
			for _, p := range presenceAt(h, passed, t) {
				if p.inside {
					return false
				}
			}
			return true
		})
		if !free {
			return false
		}
	}
	return true
}

func TestDoubleBarrierAgreesWithReference(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		h, parties := drawMeetings(t), rapid.IntRange(1, 3).Draw(t, "parties")
		m := DoubleBarrier(parties)
		if Validate(m, h) != nil || overlapsItself(h) {
			t.Skip("not a sound history")
		}
		v := Check(m, h, Options{})[0]
		seen[summary(v)]++
		if legal := meetsByReference(h, parties, 0, map[int]float64{}); legal != (v.Outcome == Ok) {
			t.Fatalf("reference: legal is %v; Check for %d parties: %v\n%s", legal, parties, v, lines(h))
		}
	})
	t.Log(seen)
}

// overlapsItself: with an operation of unknown outcome that is not the last of its client it is not
// defined to which a moment belongs. Histories have a fresh client after such an operation.
func overlapsItself(h History) bool {
	for i, a := range h {
		for _, b := range h[i+1:] {
			if a.Outcome == Unknown && b.Client == a.Client {
				return true
			}
		}
	}
	for i, a := range h {
		for _, b := range h[i+1:] {
			if a.Client == b.Client && a.Outcome == OK && b.Call < a.Return {
				return true
			}
		}
	}
	return false
}

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

// plainBarrier is whether the barrier is shut.
type plainBarrier bool

func (g plainBarrier) apply(h History, i int) (bool, object) {
	switch h[i].Op {
	case "shut":
		return true, plainBarrier(true)
	case "open":
		return true, plainBarrier(false)
	}
	return !bool(g), g
}

func TestBarrierAgreesWithReference(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := drawWild(t, Barrier())
		for i := range h {
			h[i].Arg, h[i].Result = Null, Null
		}
		if Validate(Barrier(), h) != nil {
			t.Skip("not a sound history")
		}
		v := Check(Barrier(), h, Options{})[0]
		seen[summary(v)]++
		if legal := linearizableByReference(plainBarrier(false), h); legal != (v.Outcome == Ok) {
			t.Fatalf("reference: legal is %v; Check: %v\n%s", legal, v, lines(h))
		}
		if v.Outcome == Violation && linearizableByReference(plainBarrier(false), v.Operations) {
			t.Fatalf("these do not break the rule by themselves:\n%s", lines(v.Operations))
		}
	})
	t.Log(seen)
}
