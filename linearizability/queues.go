package linearizability

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/zktorture/zktorture/linearizability/internal/fifo"
	"github.com/zktorture/zktorture/linearizability/operations"
)

// Queue returns the model of an unbounded first-in-first-out queue.
//
//	offer  puts its argument at the tail; no two offers have the same argument
//	poll   removes the head; the result is null if the queue is empty
//	take   removes the head, and waits for one
//	peek   returns the head without removing it; the result is null if the queue is empty
//
// A poll or take of unknown outcome removes the head at any time from its call on, or nothing. If the value is known
// that it tried to remove (put it into the result) it removes only that.
//
// ZooKeeper's reads are not linearizable (Programmer's Guide, "Consistency Guarantees"): a replica that lags may say
// empty for a while after an offer elsewhere. Where a recipe does not promise more, judge what StaleReads of package histories makes of
// the history.
func Queue() Model {
	return Model{
		Name:       "queue",
		Operations: operationsOf("queue"),
		problem:    queueProblem,
		conflict:   offeredTwice,
		steps:      func(h History) []step { return queueSteps(h, func(Value) int64 { return 0 }) },
		object:     objectOf("", doQueue),
		fast:       fastQueue,
		explain:    explainQueue,
	}
}

// PriorityQueue returns the model of an unbounded queue from which the best value comes out first, and of equally
// good ones the oldest. Its operations are those of [Queue]. A value is a number or a text "priority:name"; the
// number, or the number before the colon, is its priority. The lowest is the best.
func PriorityQueue() Model {
	m := Queue()
	m.Name, m.problem, m.fast = "priorityqueue", priorityProblem, nil
	m.steps = func(h History) []step {
		return queueSteps(h, func(v Value) int64 { n, _ := priorityOf(v); return n })
	}
	m.rules = map[string]string{
		"order": "a value came out before one that was better, or as good and older",
		"lost":  "a value was lost: others that should have waited for it came out, it never did",
	}
	return m
}

func queueProblem(o *Operation) string {
	switch {
	case o.Op == "offer" && o.Arg.IsNull():
		return "an offer's argument is the value offered, and not null"
	case o.Op == "offer" && !o.Result.IsNull():
		return "an offer has no result; leave it null"
	case o.Op != "offer" && !o.Arg.IsNull():
		return fmt.Sprintf("a %s has no argument; leave it null", o.Op)
	case o.Op == "take" && o.Outcome == OK && o.Result.IsNull():
		return "a take of outcome ok has a value; one that finds the queue empty waits"
	}
	return ""
}

func priorityProblem(o *Operation) string {
	if problem := queueProblem(o); problem != "" {
		return problem
	}
	for _, v := range []Value{o.Arg, o.Result} {
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
		return 0, false
	}
	priority, err := strconv.ParseInt(number, 10, 64)
	return priority, err == nil
}

// offeredTwice finds a value that is offered for the second time.
func offeredTwice(h History) (int, string) {
	offers := map[Value]*Operation{}
	for i := range h {
		o := &h[i]
		if o.Op != "offer" || o.Outcome == Fail {
			continue
		}
		if first := offers[o.Arg]; first != nil {
			return i, fmt.Sprintf("the value was offered before, by %v; give every offer its own value", *first)
		}
		offers[o.Arg] = o
	}
	return 0, ""
}

// entry is what a step of a queue knows.
type entry struct {
	role     operations.Role // Offer, Removal or Read
	priority int64           // of the value; the least comes out first
	order    []int64         // the priorities of all values, by item
}

func (s *step) entry() *entry { return s.with.(*entry) }

// foundEmpty reports whether a step saw that the queue was empty.
func (s *step) foundEmpty() bool {
	return s.entry().role != operations.Offer && s.Outcome == OK && s.Result.IsNull()
}

// queueSteps numbers the values, and leaves out
//
//   - what failed: it had no effect; and peeks of unknown outcome: they have none;
//   - offers of unknown outcome whose value nobody surely saw. If there is an order in which such an offer took
//     effect, there is the same order without it: a value that nobody sees only keeps others waiting. A removal of
//     unknown outcome that would have taken it goes last.
func queueSteps(h History, priority func(Value) int64) []step {
	steps, entries := make([]step, 0, len(h)), make([]entry, len(h))
	numbers := map[Value]int32{}
	var priorities []int64
	var seen []bool // by item: whether somebody surely saw it
	for i := range h {
		o := &h[i]
		role, value := o.kind().Role, o.Result
		if o.Outcome == Fail || o.Outcome == Unknown && role == operations.Read {
			continue
		}
		if role == operations.Offer {
			value = o.Arg
		}
		s := newStep(o, i, none)
		if number, found := numbers[value]; found {
			s.item = number
		} else if !value.IsNull() {
			s.item = int32(len(numbers))
			numbers[value], priorities, seen = s.item, append(priorities, priority(value)), append(seen, false)
		}
		if role != operations.Offer && o.Outcome == OK && s.item != none {
			seen[s.item] = true
		}
		entries[i].role = role
		s.with = &entries[i]
		s.droppable = role == operations.Read || s.foundEmpty()
		steps = append(steps, s)
	}
	steps = slices.DeleteFunc(steps, func(s step) bool {
		return s.entry().role == operations.Offer && s.Outcome == Unknown && !seen[s.item]
	})
	for i := range steps {
		if e := steps[i].entry(); steps[i].item != none {
			e.priority, e.order = priorities[steps[i].item], priorities
		}
	}
	return steps
}

// doQueue: the state is the items in the order in which they come out.
func doQueue(q row, s *step) (row, bool) {
	e := s.entry()
	switch {
	case e.role == operations.Offer:
		at := q.len()
		for at > 0 && e.order[q.at(at-1)] > e.priority {
			at--
		}
		return q.insert(at, s.item), true
	case q.len() == 0:
		return q, s.Result.IsNull()
	case q.at(0) != s.item && !(s.Outcome == Unknown && s.Result.IsNull()):
		return q, false
	case e.role == operations.Read:
		return q, true
	}
	return q.remove(0), true
}

var queueKinds = map[operations.Role]fifo.Kind{operations.Offer: fifo.Offer, operations.Removal: fifo.Remove, operations.Read: fifo.Peek}

// fastQueue asks the queue's own judge.
func fastQueue(steps []step) (finding, Status) {
	asked := make([]fifo.Step, len(steps))
	for i := range steps {
		s := &steps[i]
		asked[i] = fifo.Step{Kind: queueKinds[s.entry().role], Unknown: s.optional, Null: s.Result.IsNull(),
			Item: s.item, Source: i, Call: s.Call, End: s.end}
	}
	found, decided := fifo.Judge(asked)
	switch {
	case !decided:
		return finding{}, Undetermined
	case found == nil:
		return finding{}, Ok
	}
	var few []step
	for _, s := range found.Steps {
		few = append(few, steps[s.Source])
	}
	return finding{found.Property, few}, Violation
}

// explainQueue looks at the values first: one that came out without an offer, or twice. Then it sets aside empty results,
// then peeks, until the rest is legal: the rule is about what it set aside last.
func explainQueue(s *search, steps []step) finding {
	if f, found := wrongValue(steps); found {
		return f
	}
	for _, aside := range []struct {
		property string
		is       func(*step) bool
	}{
		{"false-empty", (*step).foundEmpty},
		{"stale-peek", func(s *step) bool { return s.entry().role == operations.Read }},
	} {
		rest := selected(steps, func(s *step) bool { return !aside.is(s) })
		switch s.ask(rest) {
		case porcupine.Ok:
			return finding{aside.property, s.shrink(steps)}
		case porcupine.Unknown:
			return unexplained(steps)
		}
		steps = rest
	}
	few := s.shrink(steps)
	if passedOver(few) {
		return finding{"lost", few}
	}
	return finding{"order", few}
}

// wrongValue finds a value that came out twice, or was seen without having been offered by then.
func wrongValue(steps []step) (f finding, found bool) {
	values := make([]value, 0, len(steps))
	for _, own := range itemParts(steps) {
		var v value
		for _, i := range own {
			v.take(steps[i])
		}
		values = append(values, v)
	}
	for _, v := range values {
		if v.offer != nil && len(v.removals) > 1 {
			return finding{"duplicate", append(v.offer, v.removals[:2]...)}, true
		}
	}
	for _, v := range values {
		if v.first != nil && (v.offer == nil || v.first[0].end < v.offer[0].Call) {
			return finding{"phantom", append(v.offer, v.first...)}, true
		}
	}
	return finding{}, false
}

// value is what surely happened to a value: its offer, or what may be that, the one that saw it first, and those that took it.
type value struct{ offer, first, removals []step }

func (v *value) take(s step) {
	switch {
	case s.entry().role == operations.Offer:
		v.offer = []step{s}
		return
	case s.optional:
		return
	case s.entry().role == operations.Removal:
		v.removals = append(v.removals, s)
	}
	if v.first == nil || s.end < v.first[0].end {
		v.first = []step{s}
	}
}

// passedOver reports whether there is a value that was offered and surely not removed.
func passedOver(steps []step) bool {
	removed := map[int32]bool{}
	for i := range steps {
		if s := &steps[i]; s.entry().role == operations.Removal && s.Outcome == OK {
			removed[s.item] = true
		}
	}
	return slices.ContainsFunc(steps, func(s step) bool { return s.entry().role == operations.Offer && !removed[s.item] })
}
