package linearizability

import (
	"slices"

	"github.com/anishathalye/porcupine"
)

// Counter returns the model of a number that starts at 0.
//
//	add  adds its argument, a whole number; the result is the sum, or null if that is not told
//	get  returns the number
//
// An add of unknown outcome takes effect at any time from its call on, or never. If the sum is known that it would
// have returned (put it into the result) it takes effect only where that is the sum.
func Counter() Model {
	return Model{
		Name:       "counter",
		Operations: operationsOf("counter"),
		problem:    counterProblem,
		prepare:    prepareCounter,
		spec:       counterSpec,
		monitor:    counterMonitor,
		search:     searchCounts,
		explain:    explainCounter,
	}
}

func counterProblem(op *Operation) string {
	switch {
	case op.Op == "get" && !op.Arg.IsNull():
		return "a get has no argument; leave it null"
	case op.Op == "add" && !op.Arg.IsInt():
		return "an add's argument is what it adds, a whole number"
	case !op.Result.IsInt() && !op.Result.IsNull():
		return "the result is a whole number, or null if it is not known"
	}
	return ""
}

// prepareCounter leaves out what failed, which had no effect, and gets that saw nothing.
func prepareCounter(h History, _ []int32) []step {
	steps := make([]step, 0, len(h))
	for i := range h {
		op := &h[i]
		silent := op.Op == "get" && (op.Outcome == Unknown || op.Result.IsNull())
		if op.Outcome == Fail || silent {
			continue
		}
		kind := stepAdd
		if op.Op == "get" {
			kind = stepGet
		}
		s := newStep(op, i, kind, noItem)
		s.delta, s.sum = op.Arg.Int(), op.Result.Int()
		s.noToken, s.droppable = op.Result.IsNull(), kind == stepGet
		steps = append(steps, s)
	}
	return steps
}

var counterSpec = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, _ any) (bool, any) {
		legal, next := stepCounter(state.(int64), input.(*step))
		return legal, next
	},
	Hash: func(state any) uint64 { return mix(uint64(state.(int64))) },
}

func stepCounter(number int64, s *step) (bool, int64) {
	sum := number + s.delta
	if s.noToken || s.sum == sum {
		return true, sum
	}
	return s.unknown, number
}

// explainCounter sets aside first the gets, to see whether the adds are legal by themselves. Then it tries what would
// make the adds legal: that one of them was counted twice, or was undone.
func explainCounter(j *judge, steps []step) finding {
	adds := selectSteps(steps, func(s *step) bool { return s.kind == stepAdd })
	switch j.ask(adds) {
	case porcupine.Ok:
		return finding{"stale-get", j.shrink(steps)}
	case porcupine.Unknown:
		return unexplained(steps)
	}
	switch {
	case j.ask(withEchoes(adds, 1)) == porcupine.Ok:
		return finding{"counted-twice", dropLate(adds)}
	case j.ask(withEchoes(adds, -1)) == porcupine.Ok:
		return finding{"lost-update", dropLate(adds)}
	}
	return finding{"sum", dropLate(adds)}
}

// withEchoes adds to each step one that repeats it, or undoes it, any time later or never.
func withEchoes(adds []step, sign int64) []step {
	all := slices.Clone(adds)
	for _, s := range adds {
		s.unknown, s.noToken, s.end = true, true, Forever
		s.delta *= sign
		all = append(all, s)
	}
	return all
}
