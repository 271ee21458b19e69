package linearizability

import (
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/linearizability/internal/monitor"
	"github.com/zktorture/zktorture/linearizability/internal/persistent"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// PriorityQueue returns the model of an unbounded queue from which the best value comes out first, and of equally
// good ones the oldest. Its operations are those of [Queue]. A value is a number or a text "priority:name"; the
// number, or the number before the colon, is its priority. The lowest is the best.
func PriorityQueue() Model {
	m := Queue()
	m.Name, m.problem, m.prepare, m.spec = "priorityqueue", priorityProblem, preparePriorities, prioritySpec
	m.monitor, m.streamer = monitor.Priorities, nil
	m.rules = map[string]string{
		"order": "a value came out before one that was better, or as good and older",
		"lost":  "a value was lost: others that should have waited for it came out, it never did",
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
func preparePriorities(h History, items []int32) []step.Step {
	steps := prepareQueue(h, items)
	for i := range steps {
		if s := &steps[i]; s.Kind == step.Offer {
			n, _ := priorityOf(h[s.Source].Arg)
			priority := step.Urgency(n)
			s.With = &priority
		}
	}
	return steps
}

var prioritySpec = specOf(nil, stepPriorities, (*persistent.Ranking).Sum, (*persistent.Ranking).Equal)

// stepPriorities is stepQueue for a priority queue.
func stepPriorities(r *persistent.Ranking, s *step.Step) (bool, *persistent.Ranking) {
	if s.Kind == step.Offer {
		return true, r.With(s.Priority(), s.Item)
	}
	if r == nil {
		return s.Null || s.Unknown, r
	}
	matches := r.Head() == s.Item || s.Null && s.Unknown
	if matches && s.Kind == step.Remove {
		return true, r.Pop()
	}
	return matches || s.Unknown, r
}
