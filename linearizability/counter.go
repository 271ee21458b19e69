package linearizability

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// Counter returns the model of a number that starts at 0.
//
//	add  adds its argument, a whole number; the result is the sum, or null if that is not told
//	get  returns the number
//
// An add of unknown outcome takes effect at any time from its call on, or never. If the sum is known that it would
// have returned (put it into the result) it takes effect only where that is the sum.
//
// Which additions of unknown outcome make up a number is a subset sum. A history of a thousand operations may be
// undetermined.
func Counter() Model {
	return Model{
		Name:       "counter",
		Operations: operationsOf("counter"),
		problem:    counterProblem,
		steps:      counterSteps,
		object:     objectOf(0, add),
		explain:    explainCounter,
	}
}

func counterProblem(o *Operation) string {
	switch {
	case o.Op == "get" && !o.Arg.IsNull():
		return "a get has no argument; leave it null"
	case o.Op == "add" && !o.Arg.IsInt():
		return "an add's argument is what it adds, a whole number"
	case !o.Result.IsInt() && !o.Result.IsNull():
		return "the result is a whole number, or null if it is not known"
	}
	return ""
}

// counterSteps leaves out what failed, which had no effect, and gets that saw nothing.
func counterSteps(h History) (steps []step) {
	for i := range h {
		o := &h[i]
		gets := o.kind().Role == operations.Read
		if o.Outcome == Fail || gets && (o.Outcome == Unknown || o.Result.IsNull()) {
			continue
		}
		s := newStep(o, i, none)
		s.droppable = gets
		steps = append(steps, s)
	}
	return steps
}

// add adds the argument, which is nothing for a get.
func add(number int64, s *step) (int64, bool) {
	sum := number + s.Arg.Int()
	return sum, s.Result.IsNull() || s.Result.Int() == sum
}

// explainCounter looks at what was called until the first moment that cannot be explained. It sets aside first the gets,
// to see whether the adds are legal by themselves. Then it tries what would make the adds legal: that one of them was
// counted twice, or was undone.
func explainCounter(s *search, steps []step) finding {
	steps = s.untilIllegal(steps)
	adds := selected(steps, func(s *step) bool { return s.kind.Role == operations.Add })
	switch s.ask(adds) {
	case porcupine.Ok:
		return finding{"stale-get", s.shrink(steps)}
	case porcupine.Unknown:
		return unexplained(steps)
	}
	switch {
	case s.ask(withEchoes(adds, 1)) == porcupine.Ok:
		return finding{"counted-twice", dropLate(adds)}
	case s.ask(withEchoes(adds, -1)) == porcupine.Ok:
		return finding{"lost-update", dropLate(adds)}
	}
	return finding{"sum", dropLate(adds)}
}

// withEchoes adds to each step one that repeats it, or undoes it, any time later or never.
func withEchoes(adds []step, sign int64) []step {
	all := slices.Clone(adds)
	for _, s := range adds {
		echo := *s.Operation
		echo.Arg, echo.Result, echo.Outcome = Int(sign*s.Arg.Int()), Null, Unknown
		s.Operation, s.end = &echo, Forever
		all = append(all, s)
	}
	return all
}
