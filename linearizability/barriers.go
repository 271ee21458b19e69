package linearizability

import (
	"encoding/binary"

	"github.com/anishathalye/porcupine"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// Barrier returns the model of a barrier that is open or shut, and open at first.
//
//	shut  shuts it
//	open  opens it
//	wait  waits until it is open
//
// A shut or an open of unknown outcome takes effect at any time from its call on, or never.
func Barrier() Model {
	return Model{
		Name:       "barrier",
		Operations: operationsOf("barrier"),
		problem:    onlyNull("barrier"),
		steps:      barrierSteps,
		// The state is whether it is shut. A step that never happens is one that happens after all others.
		object: objectOf(false, func(shut bool, s *step) (bool, bool) {
			if s.kind.Role == operations.Wait {
				return shut, !shut
			}
			return s.kind.Role == operations.Shut, true
		}),
		explain: func(s *search, steps []step) finding {
			return finding{"early-wait", s.shrink(steps)} // only a wait can be illegal
		},
	}
}

// onlyNull says that an operation has an argument or a result, or nothing.
func onlyNull(object string) func(*Operation) string {
	return func(o *Operation) string {
		if !o.Arg.IsNull() || !o.Result.IsNull() {
			return "operations of a " + object + " have neither argument nor result; leave them null"
		}
		return ""
	}
}

// barrierSteps leaves out what failed, and waits of unknown outcome.
func barrierSteps(h History) (steps []step) {
	for i := range h {
		o := &h[i]
		if o.Outcome == Fail || o.kind().Role == operations.Wait && o.Outcome == Unknown {
			continue
		}
		s := newStep(o, i, none)
		s.droppable = o.kind().Role != operations.Open
		steps = append(steps, s)
	}
	return steps
}

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
		steps:      doubleBarrierSteps,
		object:     objectOf("", func(state string, s *step) (string, bool) { return doDoubleBarrier(state, s, parties) }),
		explain:    func(s *search, steps []step) finding { return explainDoubleBarrier(s, steps, parties) },
	}
}

// passage is what a step of a double barrier knows. An operation is a call, and if its outcome is ok what it waited for.
type passage struct {
	waited bool
	order  int32 // of the call, of those of its process, from 1
}

func (s *step) passage() *passage { return s.with.(*passage) }

func (s *step) enters() bool { return s.kind.Role == operations.Enter }

// doubleBarrierSteps splits operations into call and wait. The item of a step is the number of its process.
func doubleBarrierSteps(h History) []step {
	steps, passages := make([]step, 0, 2*len(h)), make([]passage, 2*len(h))
	numbers := map[Value]int32{}
	var calls []int32 // by process
	for _, i := range byCallAndReturn(h) {
		o := &h[i]
		if o.Outcome == Fail {
			continue
		}
		who, found := numbers[o.Owner()]
		if !found {
			who = int32(len(numbers))
			numbers[o.Owner()], calls = who, append(calls, 0)
		}
		calls[who]++
		call, waited := newStep(o, i, who), newStep(o, i, who)
		passages[2*i], passages[2*i+1] = passage{false, calls[who]}, passage{true, calls[who]}
		call.end, call.optional, call.with = o.Call, false, &passages[2*i]
		waited.with = &passages[2*i+1]
		if steps = append(steps, call); o.Outcome == OK {
			steps = append(steps, waited)
		}
	}
	return steps
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

func doDoubleBarrier(before string, s *step, parties int) (string, bool) {
	state, p := []byte(before), s.passage()
	for len(state) < placeBytes*(int(s.item)+1) {
		state = append(state, 0)
	}
	own := state[placeBytes*int(s.item):][:placeBytes]
	last := int32(binary.BigEndian.Uint32(own[1:]))
	switch {
	case p.waited && s.enters():
		if last < p.order || own[0]&(isThere|isInside) != isThere || countThere(state) < parties {
			return before, false
		}
		own[0] |= isInside
		return string(state), true
	case p.waited:
		return before, last >= p.order && !anyInside(state)
	case s.enters():
		own[0] = isThere
	case s.Outcome == OK:
		own[0] = 0
	default:
		own[0] |= isGone
	}
	binary.BigEndian.PutUint32(own[1:], uint32(p.order))
	return string(state), last == p.order-1
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
func explainDoubleBarrier(find *search, steps []step, parties int) finding {
	if len(steps) > explainedMax {
		return unexplained(steps)
	}
	for i := range steps {
		if s := &steps[i]; s.passage().waited && s.enters() && mostThere(steps, s.Call, s.end) < parties {
			own := selected(steps, func(other *step) bool { return other.source == s.source })
			return finding{"early-enter", own}
		}
	}
	for i := range steps {
		s := &steps[i]
		if !s.passage().waited || s.enters() {
			continue
		}
		// What was called later makes no difference to this leave, nor do other leaves' waits.
		before := selected(steps, func(other *step) bool {
			waits := other.passage().waited && !other.enters()
			return other == s || !waits && other.Call <= s.end
		})
		if find.ask(before) == porcupine.Illegal {
			return finding{"early-leave", before}
		}
	}
	return unexplained(steps)
}

// mostThere returns the greatest number of processes present at one moment between two stamps. It changes only where
// a step is a moment; of steps with one stamp arrivals are taken first.
func mostThere(steps []step, from, to int64) (most int) {
	for i := range steps {
		if s := &steps[i]; !s.passage().waited && s.enters() && max(s.Call, from) <= to {
			most = max(most, thereAt(steps, max(s.Call, from)))
		}
	}
	return most
}

// thereAt returns how many were there at a stamp, at most.
func thereAt(steps []step, t int64) (n int) {
	arrived := map[int32]int64{} // by process: when it arrived last
	for i := range steps {       // by call
		s := &steps[i]
		at, here := arrived[s.item]
		switch {
		case s.Call > t || s.passage().waited:
		case s.enters() && !here:
			arrived[s.item] = s.Call
		case !s.enters() && s.Outcome == OK && here && at <= s.Call && s.Call < t:
			delete(arrived, s.item)
		}
	}
	return len(arrived)
}
