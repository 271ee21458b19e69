package exhaustive

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	lin "github.com/zktorture/zktorture/linearizability"
)

// Judge says whether the history of one object is linearizable for the model of that name, see
// [lin.ByName]; an unknown name is an error. The history has to be sound, see [lin.Model.Validate].
func Judge(model string, with lin.Parameters, h lin.History) (Answer, error) {
	switch model {
	case "queue", "priorityqueue":
		return inSomeOrder("", queueEvents(h, model == "priorityqueue")), nil
	case "counter":
		return inSomeOrder(int64(0), counterEvents(h)), nil
	case "barrier":
		return inSomeOrder(false, barrierEvents(h)), nil
	case "doublebarrier":
		if 2*len(h) > eventsMax { // an operation may be two events
			return Undecided, nil
		}
		return inSomeOrder(parties{}, doubleBarrierEvents(h, max(with.Parties, 1))), nil
	case "lock", "election", "rwlock", "semaphore":
		return inSomeOrder(nothingHeld(), holdEvents(model, with.Permits, h)), nil
	}
	return Undecided, fmt.Errorf("there is no reference for a model called %q", model)
}

// queueEvents: the state is the values in the queue, a byte each, in order of removal. A removal of unknown outcome
// takes the head, or only the value that it tried to take if that is known.
func queueEvents(h lin.History, byPriority bool) (events []event[string]) {
	values := numberValues(h)
	for _, op := range h {
		if op.Outcome == lin.Fail || op.Op == "peek" && op.Outcome == lin.Unknown {
			continue
		}
		if op.Op == "offer" {
			events = append(events, newEvent(op, func(q string) (string, bool) {
				return insert(q, slices.Index(values, op.Arg), values, byPriority), true
			}))
			continue
		}
		seen := slices.Index(values, op.Result) // -1 if it saw none
		events = append(events, newEvent(op, func(q string) (string, bool) { return remove(q, op, seen) }))
	}
	return events
}

func numberValues(h lin.History) (values []lin.Value) {
	for _, op := range h {
		for _, v := range []lin.Value{op.Arg, op.Result} {
			if !v.IsNull() && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
	}
	return values
}

// insert puts a value behind all others, or behind those of its priority or higher.
func insert(q string, value int, values []lin.Value, byPriority bool) string {
	at := len(q)
	for byPriority && at > 0 && priority(values[q[at-1]]) > priority(values[value]) {
		at--
	}
	return q[:at] + string([]byte{byte(value)}) + q[at:]
}

// priority is the number that a value is or begins with.
func priority(v lin.Value) int64 {
	number, _, _ := strings.Cut(v.String(), ":")
	n, _ := strconv.ParseInt(number, 10, 64) // the history is sound
	return n
}

// remove applies a poll, take or peek that saw a value; -1 is none.
func remove(q string, op lin.Operation, seen int) (string, bool) {
	if q == "" {
		return q, seen < 0
	}
	unknownValue := seen < 0 && op.Outcome == lin.Unknown
	if !unknownValue && int(q[0]) != seen {
		return q, false
	}
	if op.Op == "peek" {
		return q, true
	}
	return q[1:], true
}

func counterEvents(h lin.History) (events []event[int64]) {
	for _, op := range h {
		told := !op.Result.IsNull()
		if op.Outcome == lin.Fail || op.Op == "get" && (op.Outcome == lin.Unknown || !told) {
			continue
		}
		events = append(events, newEvent(op, func(n int64) (int64, bool) {
			sum := n + op.Arg.Int() // the argument of a get is null, which adds nothing
			return sum, !told || sum == op.Result.Int()
		}))
	}
	return events
}

// barrierEvents: the state is whether the barrier is shut.
func barrierEvents(h lin.History) (events []event[bool]) {
	for _, op := range h {
		if op.Outcome != lin.Fail {
			events = append(events, newEvent(op, func(shut bool) (bool, bool) {
				return op.Op == "shut" || op.Op == "wait" && shut, op.Op != "wait" || !shut
			}))
		}
	}
	return events
}

// parties is the state of a double barrier: sets of processes. Those that left called leave last.
type parties struct{ there, inside, left set }

// doubleBarrierEvents: a call is an event, whatever its outcome, and what it waits for is another, after it. What a
// process calls at one stamp it calls in the order in which it returns.
func doubleBarrierEvents(h lin.History, needed int) (events []event[parties]) {
	h = slices.DeleteFunc(slices.Clone(h), func(op lin.Operation) bool { return op.Outcome == lin.Fail })
	slices.SortStableFunc(h, func(a, b lin.Operation) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(until(a), until(b)))
	})
	calls := map[string]set{} // by process: the events of its calls
	for _, op := range h {
		p := slices.IndexFunc(h, func(o lin.Operation) bool { return owner(o) == owner(op) })
		called := event[parties]{from: op.Call, to: op.Call, after: calls[owner(op)]}
		called.do = func(s parties) (parties, bool) {
			s.inside, s.left = s.inside.without(p), s.left.with(p)
			switch {
			case op.Op == "enter":
				s.there, s.left = s.there.with(p), s.left.without(p)
			case op.Outcome == lin.OK:
				s.there = s.there.without(p)
			}
			return s, true
		}
		calls[owner(op)] = calls[owner(op)].with(len(events))
		if events = append(events, called); op.Outcome == lin.OK {
			waited := newEvent(op, func(s parties) (parties, bool) {
				switch {
				case op.Op == "leave":
					return s, s.inside == set{}
				case !s.left.has(p):
					s.inside = s.inside.with(p)
				}
				return s, s.there.has(p) && s.there.count() >= needed
			})
			waited.after = calls[owner(op)]
			events = append(events, waited)
		}
	}
	return events
}

// until is the stamp by which an operation has taken effect, if it has.
func until(op lin.Operation) int64 {
	if op.Outcome == lin.Unknown {
		return lin.Forever
	}
	return op.Return
}

// owner is the process of an operation, as a name.
func owner(op lin.Operation) string {
	if op.Process.IsNull() {
		return strconv.Itoa(op.Client)
	}
	return op.Process.String()
}
