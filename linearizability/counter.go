package linearizability

import (
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/monitor"
	"github.com/zktorture/zktorture/linearizability/internal/persistent"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// Counter returns the model of a number that starts at 0.
//
//	add  adds its argument, a whole number; the result is the sum, or null if that is not told
//	get  returns the number
//
// An add of unknown outcome takes effect at any time from its call on, or never. If the sum is known that it would
// have returned (put it into the result) it takes effect only where that is the sum.
//
// Which additions of unknown outcome make up a number is a subset sum. A history of thousands of operations may be
// undetermined if something negative is added, or if additions that were not told their sums are of more than eight amounts.
func Counter() Model {
	return Model{
		Name:       "counter",
		Operations: operationsOf("counter"),
		problem:    counterProblem,
		prepare:    prepareCounter,
		spec:       counterSpec,
		monitor:    monitor.Counter,
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
func prepareCounter(h History, _ []int32) []step.Step {
	steps := make([]step.Step, 0, len(h))
	for i := range h {
		op := &h[i]
		silent := op.Op == "get" && (op.Outcome == Unknown || op.Result.IsNull())
		if op.Outcome == Fail || silent {
			continue
		}
		kind := step.Add
		if op.Op == "get" {
			kind = step.Get
		}
		s := newStep(op, i, kind, step.NoItem)
		s.With = &step.Amount{Delta: op.Arg.Int(), Sum: op.Result.Int()}
		s.Null, s.Droppable = op.Result.IsNull(), kind == step.Get
		steps = append(steps, s)
	}
	return steps
}

var counterSpec = specOf(0, stepCounter, func(n int64) uint64 { return persistent.Mix(uint64(n)) }, nil)

func stepCounter(number int64, s *step.Step) (bool, int64) {
	added := s.Amount()
	sum := number + added.Delta
	if s.Null || added.Sum == sum {
		return true, sum
	}
	return s.Unknown, number
}

// explainCounter sets aside first the gets, to see whether the adds are legal by themselves. Then it tries what would
// make the adds legal: that one of them was counted twice, or was undone.
func explainCounter(j *judge, steps []step.Step) step.Finding {
	adds := step.Select(steps, func(s *step.Step) bool { return s.Kind == step.Add })
	switch j.ask(adds) {
	case porcupine.Ok:
		return step.Finding{Property: "stale-get", Steps: j.shrink(steps)}
	case porcupine.Unknown:
		return unexplained(steps)
	}
	switch {
	case j.ask(withEchoes(adds, 1)) == porcupine.Ok:
		return step.Finding{Property: "counted-twice", Steps: step.DropLate(adds)}
	case j.ask(withEchoes(adds, -1)) == porcupine.Ok:
		return step.Finding{Property: "lost-update", Steps: step.DropLate(adds)}
	}
	return step.Finding{Property: "sum", Steps: step.DropLate(adds)}
}

// withEchoes adds to each step one that repeats it, or undoes it, any time later or never.
func withEchoes(adds []step.Step, sign int64) []step.Step {
	all := slices.Clone(adds)
	for _, s := range adds {
		s.Unknown, s.Null, s.End = true, true, Forever
		s.With = &step.Amount{Delta: sign * s.Amount().Delta}
		all = append(all, s)
	}
	return all
}
