package linearizability

import (
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// PriorityQueue returns the model of an unbounded queue from which the best value comes out first, and of equally
// good ones the oldest. Its operations are those of [Queue]. A value is a number or a text "priority:name"; the
// number, or the number before the colon, is its priority. The lowest is the best.
func PriorityQueue() Model {
	m := Queue()
	m.Name, m.problem, m.prepare, m.spec = "priorityqueue", priorityProblem, preparePriorities, prioritySpec
	m.monitor, m.streamer = priorityMonitor, nil
	m.rules = map[string]string{
		"order": "a value came out before one that was better, or as good and older",
		"lost":  "a value was passed over by others that should have waited for it, and never came out",
	}
	return m
}

func priorityProblem(op *Operation) string {
	if problem := queueProblem(op); problem != "" {
		return problem
	}
	for _, v := range []Value{op.Arg, op.Result} {
		if _, ok := priorityOf(v); !ok && !v.IsNull() {
			return "a value is a whole number, or a text that begins with one and a colon: it says how urgent the " +
				"value is"
		}
	}
	return ""
}

// priorityOf returns the priority that a value says it has.
func priorityOf(v Value) (int64, bool) {
	if v.IsInt() {
		return v.Int(), true
	}
	number, _, found := strings.Cut(v.String(), ":")
	if !found {
		return 0, false // without the cost of an error
	}
	priority, err := strconv.ParseInt(number, 10, 64)
	return priority, err == nil
}

// preparePriorities is prepareQueue with the priorities of what is offered.
func preparePriorities(h History, items []int32) []step {
	steps := prepareQueue(h, items)
	for i := range steps {
		if s := &steps[i]; s.kind == stepOffer {
			s.token, _ = priorityOf(h[s.source].Arg)
		}
	}
	return steps
}

var prioritySpec = porcupine.Model{
	Init: func() any { return (*ranking)(nil) },
	Step: func(state, input, _ any) (bool, any) {
		legal, next := stepPriorities(state.(*ranking), input.(*step))
		return legal, next
	},
	Equal: func(a, b any) bool { return a.(*ranking).equal(b.(*ranking)) },
	Hash:  func(state any) uint64 { return state.(*ranking).sum() },
}

// stepPriorities is stepQueue for a priority queue.
func stepPriorities(r *ranking, s *step) (bool, *ranking) {
	if s.kind == stepOffer {
		return true, r.with(s.token, s.item)
	}
	if r == nil {
		return s.noToken || s.unknown, r
	}
	matches := r.head() == s.item || s.noToken && s.unknown
	if matches && s.kind == stepRemove {
		return true, r.pop()
	}
	return matches || s.unknown, r
}
