package linearizability

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/monitor"
	"github.com/zktorture/zktorture/linearizability/internal/persistent"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// DoubleBarrier returns the model of a double barrier for so many parties.
//
//	enter  waits until a round begins
//	leave  waits until nobody is inside
//
// The rules: an enter returns only after a moment between its call and its return at which as many processes as there
// are parties were there at once, its own by this call or a later one; a process is there from its call of enter to
// its call of leave. A leave returns only after a moment between its call and its return at which nobody was inside;
// a process is inside from the moment at which its enter succeeded to its next call, of leave or of enter.
//
// An enter of unknown outcome is there from its call until its process leaves, and never inside. It may have let others
// in, so the process's leave waits for these as any leave does. A leave of unknown outcome ends the stay inside, but
// the process may be there until it enters again. So does the death of a process or of its session; record it as a
// leave of unknown outcome.
//
// What happens at one stamp may happen in any order, with two exceptions: what a process calls at one stamp it calls in
// the order in which it returns, then of the history, and what an operation waits for comes after its call. For
// example, of two parties A calls enter at 4 and does not know its outcome, B's enter from 1 to 7 is ok, and so is A's
// leave from 6 to 9: that is illegal. B's enter succeeded before A's call of leave, as it needed A, and B was inside
// from then on.
func DoubleBarrier(parties int) Model {
	return Model{
		Name:       "doublebarrier",
		Operations: operationsOf("doublebarrier"),
		Parameters: Parameters{Parties: parties},
		problem:    onlyNull("doublebarrier"),
		prepare:    prepareDoubleBarrier,
		spec:       doubleBarrierSpec(parties),
		monitor:    func(steps []step.Step) step.Ruling { return monitor.DoubleBarrier(steps, parties) },
		explain:    func(j *judge, steps []step.Step) step.Finding { return explainDoubleBarrier(j, steps, parties) },
	}
}

// prepareDoubleBarrier splits operations into call and wait. The item of a step is the number of its process.
func prepareDoubleBarrier(h History, _ []int32) []step.Step {
	var steps []step.Step
	number := make(map[Value]int32)
	var last []int32 // by process: the order of its last call
	for _, i := range byCallAndReturn(h) {
		op := &h[i]
		if op.Outcome == Fail {
			continue
		}
		who, found := number[op.Owner()]
		if !found {
			who = int32(len(number))
			number[op.Owner()] = who
			last = append(last, 0)
		}
		at := len(steps)
		steps = append(steps, atCall(op, i, who))
		if op.Outcome == OK {
			steps = append(steps, awaited(op, i, who))
		}
		order := int32(at + 1)
		for k := range steps[at:] {
			steps[at+k].With = &step.Sequence{Order: order, Previous: last[who]}
		}
		last[who] = order
	}
	return steps
}

// byCallAndReturn returns the indices of h in order of call, then of return, then of place.
func byCallAndReturn(h History) []int {
	order := byCall(h)
	for from, to := 0, 0; from < len(order); from = to {
		for to < len(order) && h[order[to]].Call == h[order[from]].Call {
			to++
		}
		slices.SortStableFunc(order[from:to], func(a, b int) int { return cmp.Compare(h[a].end(), h[b].end()) })
	}
	return order
}

// atCall is what an operation does when it is called, whatever becomes of it.
func atCall(op *Operation, i int, who int32) step.Step {
	kind := step.Arrive
	switch {
	case op.Op == "leave" && op.Outcome == OK:
		kind = step.Depart
	case op.Op == "leave":
		kind = step.Vanish
	}
	s := newStep(op, i, kind, who)
	s.Unknown, s.End = false, op.Call
	return s
}

func awaited(op *Operation, i int, who int32) step.Step {
	if op.Op == "enter" {
		return newStep(op, i, step.Pass, who)
	}
	return newStep(op, i, step.Part, who)
}

// What the state says of each process, by number: flags, and the order of its last call. That keeps its calls in their
// order where stamps are equal, and what an operation waits for behind its call. An enter may still be under way when
// its process, which knows nothing of it, enters again: the one cannot succeed before its own call, on the presence of
// the other.
const (
	isThere  = 1 << iota // has called enter
	isInside             // its enter has succeeded
	isGone               // perhaps: it has left by an operation of unknown outcome

	placeBytes = 1 + 4 // of one process
)

func doubleBarrierSpec(parties int) porcupine.Model {
	return specOf("", func(state string, s *step.Step) (bool, string) {
		legal, next := stepDoubleBarrier([]byte(state), s, parties)
		return legal, string(next)
	}, func(state string) (hash uint64) {
		for _, b := range []byte(state) {
			hash = persistent.Mix(hash ^ uint64(b))
		}
		return hash
	}, nil)
}

func stepDoubleBarrier(state []byte, s *step.Step, parties int) (bool, []byte) {
	for len(state) < placeBytes*(int(s.Item)+1) {
		state = append(state, 0)
	}
	own := state[placeBytes*int(s.Item):][:placeBytes]
	last := int32(binary.BigEndian.Uint32(own[1:]))
	switch s.Kind {
	case step.Pass:
		if last < s.Sequence().Order || own[0]&(isThere|isInside) != isThere || countThere(state) < parties {
			return false, state
		}
		own[0] |= isInside
		return true, state
	case step.Part:
		return last >= s.Sequence().Order && !anyInside(state), state
	case step.Arrive:
		own[0] = isThere
	case step.Depart:
		own[0] = 0
	case step.Vanish:
		own[0] |= isGone
	}
	binary.BigEndian.PutUint32(own[1:], uint32(s.Sequence().Order))
	return last == s.Sequence().Previous, state
}

func countThere(state []byte) (n int) {
	for i := 0; i < len(state); i += placeBytes {
		if state[i]&isThere != 0 {
			n++
		}
	}
	return n
}

func anyInside(state []byte) bool {
	for i := 0; i < len(state); i += placeBytes {
		if state[i]&(isInside|isGone) == isInside {
			return true
		}
	}
	return false
}

// explainedMax bounds the steps of a barrier that is explained, which takes the cube of their number.
const explainedMax = 300

// explainDoubleBarrier tells early enters from early leaves.
func explainDoubleBarrier(j *judge, steps []step.Step, parties int) step.Finding {
	if len(steps) > explainedMax {
		return unexplained(steps)
	}
	for i := range steps {
		if j.late() {
			return unexplained(steps)
		}
		if s := &steps[i]; s.Kind == step.Pass && mostThere(steps, s.Call, s.End) < parties {
			own := monitor.SelectCalls(steps, func(other *step.Step) bool { return other.Source == s.Source })
			return step.Finding{Property: "early-enter", Steps: own}
		}
	}
	for i := range steps {
		s := &steps[i]
		if s.Kind != step.Part {
			continue
		}
		// What was called later makes no difference to this leave, nor do other leaves' waits.
		before := monitor.SelectCalls(steps, func(other *step.Step) bool {
			return other == s || other.Kind != step.Part && other.Call <= s.End
		})
		if j.ask(before) == porcupine.Illegal {
			return step.Finding{Property: "early-leave", Steps: before}
		}
	}
	return unexplained(steps)
}

// mostThere returns the greatest number of processes present at one moment between two stamps. It changes only where
// a step is a moment; of steps with one stamp arrivals are taken first.
func mostThere(steps []step.Step, from, to int64) (most int) {
	for _, s := range steps {
		if t := max(s.Call, from); s.Kind == step.Arrive && t <= to {
			most = max(most, thereAt(steps, t))
		}
	}
	return most
}

// thereAt returns how many were there at a stamp, at most.
func thereAt(steps []step.Step, t int64) (n int) {
	arrived := make(map[int32]int64) // by process: when it arrived last
	for _, s := range steps {        // by call
		at, here := arrived[s.Item]
		switch {
		case s.Call > t:
		case s.Kind == step.Arrive && !here:
			arrived[s.Item] = s.Call
		case s.Kind == step.Depart && here && at <= s.Call && s.Call < t:
			delete(arrived, s.Item)
		}
	}
	return len(arrived)
}
