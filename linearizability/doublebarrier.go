package linearizability

import (
	"encoding/binary"

	"github.com/anishathalye/porcupine"
)

// DoubleBarrier returns the model of a double barrier for so many parties.
//
//	enter  waits until a round begins
//	leave  waits until nobody is inside
//
// The rules: an enter returns only after a moment between its call and its return at which as many processes as there
// are parties were there at once, its own by this call or a later one; a process is there from its call of enter to
// its call of leave. A leave returns only after a moment between its call and its return at which nobody was inside;
// a process is inside from the moment at which its enter succeeded to its call of leave.
//
// An enter of unknown outcome is there from its call until its process leaves, and never inside. A leave of unknown
// outcome ends the stay inside, but the process may be there until it enters again. So does the death of a process or
// of its session; record it as a leave of unknown outcome.
func DoubleBarrier(parties int) Model {
	return Model{
		Name:       "doublebarrier",
		Operations: operationsOf("doublebarrier"),
		Parameters: Parameters{Parties: parties},
		problem:    doubleBarrierProblem,
		prepare:    prepareDoubleBarrier,
		spec:       doubleBarrierSpec(parties),
		monitor:    func(steps []step) ruling { return doubleBarrierMonitor(steps, parties) },
		explain:    func(j *judge, steps []step) finding { return explainDoubleBarrier(j, steps, parties) },
	}
}

func doubleBarrierProblem(op *Operation) string { return onlyNull(op, "doublebarrier") }

// prepareDoubleBarrier splits operations into call and wait. The item of a step is the number of its process.
func prepareDoubleBarrier(h History, _ []int32) []step {
	var steps []step
	number := make(map[Value]int32)
	for _, i := range byCall(h) {
		op := &h[i]
		if op.Outcome == Fail {
			continue
		}
		who, found := number[op.owner()]
		if !found {
			who = int32(len(number))
			number[op.owner()] = who
		}
		order := int32(len(steps))
		steps = append(steps, atCall(op, i, who))
		if op.Outcome == OK {
			steps = append(steps, awaited(op, i, who))
		}
		for k := range steps[order:] {
			steps[int(order)+k].order = order
		}
	}
	return steps
}

// atCall is what an operation does when it is called, whatever becomes of it.
func atCall(op *Operation, i int, who int32) step {
	kind := stepArrive
	switch {
	case op.Op == "leave" && op.Outcome == OK:
		kind = stepDepart
	case op.Op == "leave":
		kind = stepVanish
	}
	s := newStep(op, i, kind, who)
	s.unknown, s.end = false, op.Call
	return s
}

func awaited(op *Operation, i int, who int32) step {
	if op.Op == "enter" {
		return newStep(op, i, stepPass, who)
	}
	return newStep(op, i, stepPart, who)
}

// What the state says of each process, by number: flags, and the order of the enter that it called last. That
// matters, as an enter may still be under way when its process, which knows nothing of it, enters again: one cannot
// succeed before its own call, on the presence of the other.
const (
	isThere  = 1 << iota // has called enter
	isInside             // its enter has succeeded
	isGone               // perhaps: it has left by an operation of unknown outcome

	placeBytes = 1 + 4 // of one process
)

func doubleBarrierSpec(parties int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, _ any) (bool, any) {
			legal, next := stepDoubleBarrier([]byte(state.(string)), input.(*step), parties)
			return legal, string(next)
		},
		Hash: func(state any) uint64 {
			hash := uint64(0)
			for _, b := range []byte(state.(string)) {
				hash = mix(hash ^ uint64(b))
			}
			return hash
		},
	}
}

func stepDoubleBarrier(state []byte, s *step, parties int) (bool, []byte) {
	for len(state) < placeBytes*(int(s.item)+1) {
		state = append(state, 0)
	}
	own := state[placeBytes*int(s.item):][:placeBytes]
	switch s.kind {
	case stepArrive:
		own[0] = isThere
		binary.BigEndian.PutUint32(own[1:], uint32(s.order))
	case stepDepart:
		clear(own)
	case stepVanish:
		own[0] |= isGone
	case stepPass:
		if own[0]&(isThere|isInside) != isThere || binary.BigEndian.Uint32(own[1:]) < uint32(s.order) ||
			countThere(state) < parties {
			return false, state
		}
		own[0] |= isInside
	case stepPart:
		return !anyInside(state), state
	}
	return true, state
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
func explainDoubleBarrier(j *judge, steps []step, parties int) finding {
	if len(steps) > explainedMax {
		return unexplained(steps)
	}
	for i := range steps {
		if j.late() {
			return unexplained(steps)
		}
		if s := &steps[i]; s.kind == stepPass && mostThere(steps, s.call, s.end) < parties {
			own := selectSteps(steps, func(other *step) bool { return other.source == s.source })
			return finding{"early-enter", own}
		}
	}
	for i := range steps {
		s := &steps[i]
		if s.kind != stepPart {
			continue
		}
		// What was called later makes no difference to this leave, nor do other leaves' waits.
		before := selectSteps(steps, func(other *step) bool {
			return other == s || other.kind != stepPart && other.call <= s.end
		})
		if j.ask(before) == porcupine.Illegal {
			return finding{"early-leave", before}
		}
	}
	return unexplained(steps)
}

// mostThere returns the greatest number of processes present at one moment between two stamps. It changes only where
// a step is a moment; of steps with one stamp arrivals are taken first.
func mostThere(steps []step, from, to int64) (most int) {
	for _, s := range steps {
		if t := max(s.call, from); s.kind == stepArrive && t <= to {
			most = max(most, thereAt(steps, t))
		}
	}
	return most
}

// thereAt returns how many were there at a stamp, at most.
func thereAt(steps []step, t int64) (n int) {
	arrived := make(map[int32]int64) // by process: when it arrived last
	for _, s := range steps {        // by call
		at, here := arrived[s.item]
		switch {
		case s.call > t:
		case s.kind == stepArrive && !here:
			arrived[s.item] = s.call
		case s.kind == stepDepart && here && at <= s.call && s.call < t:
			delete(arrived, s.item)
		}
	}
	return len(arrived)
}
