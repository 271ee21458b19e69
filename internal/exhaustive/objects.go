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
// [lin.ByName]; an unknown name is an error. The history has to be sound, see [lin.Validate].
func Judge(model string, with lin.Parameters, h lin.History) (Answer, error) {
	switch model {
	case "queue", "priorityqueue":
		return inSomeOrder("", queueEvents(h, model == "priorityqueue")), nil
	case "counter":
		return inSomeOrder(int64(0), counterEvents(h)), nil
	case "barrier":
		return inSomeOrder(false, barrierEvents(h)), nil
	case "doublebarrier":
		return inSomeOrder("", doubleBarrierEvents(h, max(with.Parties, 1))), nil
	case "lock", "election", "rwlock", "semaphore":
		return inSomeOrder(tenancy{}, newHolds(model, max(with.Permits, 1), h).events()), nil
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

// A barrier's state of a process.
const (
	there  = 1 << iota // from its call of enter to its call of leave
	inside             // from the moment at which its enter succeeded
	left               // by a leave of unknown outcome: no longer inside, but perhaps still there
)

// doubleBarrierEvents: the state is two bytes for each process: its state, and how many operations had been called when
// it made its last call, in order of call. An operation's effect at its call is an event of its own, which happens
// whatever the outcome, and after the process's earlier calls; its wait is another, which comes after the call.
func doubleBarrierEvents(h lin.History, parties int) (events []event[string]) {
	h = slices.DeleteFunc(slices.Clone(h), func(op lin.Operation) bool { return op.Outcome == lin.Fail })
	slices.SortStableFunc(h, func(a, b lin.Operation) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(until(a), until(b)))
	})
	var processes []string
	for _, op := range h {
		if !slices.Contains(processes, owner(op)) {
			processes = append(processes, owner(op))
		}
	}
	for i, op := range h {
		at := 2 * slices.Index(processes, owner(op))
		before := i // how many had been called at the process's call before
		for before > 0 && owner(h[before-1]) != owner(op) {
			before--
		}
		called := func(b string) bool { return len(b) > at && int(b[at+1]) > i }
		events = append(events, event[string]{from: op.Call, to: op.Call, do: func(b string) (string, bool) {
			b += strings.Repeat("\x00", 2*len(processes)-len(b))
			if int(b[at+1]) != before {
				return b, false
			}
			return b[:at] + string([]byte{atCall(op, b[at]), byte(i + 1)}) + b[at+2:], true
		}})
		if op.Outcome == lin.OK {
			events = append(events, newEvent(op, func(b string) (string, bool) {
				if !called(b) {
					return b, false
				}
				return passes(b, op, at, parties)
			}))
		}
	}
	return events
}

// atCall is a process's state after it has called an operation.
func atCall(op lin.Operation, was byte) byte {
	switch {
	case op.Op == "enter":
		return there
	case op.Outcome == lin.OK:
		return 0
	}
	return was | left
}

// passes lets an operation of the process at a place succeed.
func passes(b string, op lin.Operation, at, parties int) (string, bool) {
	present, within := 0, 0
	for k := 0; k < len(b); k += 2 {
		if b[k]&there != 0 {
			present++
		}
		if b[k]&(inside|left) == inside {
			within++
		}
	}
	switch {
	case op.Op == "leave":
		return b, within == 0
	case present < parties || b[at]&(there|inside) != there:
		return b, false
	}
	return b[:at] + string([]byte{b[at] | inside}) + b[at+1:], true
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
