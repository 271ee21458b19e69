package linearizability_test

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	lin "github.com/zktorture/zktorture/linearizability"
)

// The reference decides whether a short history is linearizable by trying every order of its operations. It shares with
// the judge only the types of a history and the documentation of the models: no preparation, and no porcupine.
//
// A history becomes a set of events. Each takes effect at one instant between two stamps, on an object whose state
// may forbid it. An event of unknown outcome is optional. The history is linearizable if the other events can be run
// one at a time, each after all those that ended before it began (Wing and Gong, "Testing and Verifying Concurrent
// Objects", 1993). A state with the same events done is visited once.

// Answer is the result of a search.
type Answer uint8

const (
	// Legal: an order was found.
	Legal Answer = iota
	// Illegal: there is none.
	Illegal
	// Undecided: there are too many operations or orders to try all.
	Undecided
)

// String returns legal, illegal or undecided.
func (a Answer) String() string {
	return [...]string{"legal", "illegal", "undecided"}[a]
}

// eventsMax bounds the events of a history, nodesMax the visited sets of them.
const (
	eventsMax = 128
	nodesMax  = 1 << 18
)

// event is something that happened, or may have happened, to an object in state S at one instant.
type event[S comparable] struct {
	from, to int64 // bounds of the instant; to is Forever if the event is optional
	optional bool
	after    set // events that come first, by index
	// do returns the state afterwards, and whether the event is possible.
	do func(S) (S, bool)
}

// newEvent is the event of an operation. One of unknown outcome may happen at any time after its call, or never.
func newEvent[S comparable](op lin.Operation, do func(S) (S, bool)) event[S] {
	return event[S]{from: op.Call, to: until(op), optional: op.Outcome == lin.Unknown, do: do}
}

// set is a set of events, by index.
type set [eventsMax / 64]uint64

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }

func (s set) with(i int) set {
	s[i/64] |= 1 << (i % 64)
	return s
}

func (s set) without(i int) set {
	s[i/64] &^= 1 << (i % 64)
	return s
}

func (s set) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s set) contains(t set) bool {
	missing := 0
	for w := range s {
		missing += bits.OnesCount64(t[w] &^ s[w])
	}
	return missing == 0
}

// node is a search state: the events done, and the object's state.
type node[S comparable] struct {
	done  set
	state S
}

// searching is a depth-first search. Its depth is at most the number of events.
type searching[S comparable] struct {
	events []event[S]
	sure   set   // those that are not optional
	before []set // by event: the sure ones that ended before it began
	seen   map[node[S]]struct{}
}

func inSomeOrder[S comparable](start S, events []event[S]) Answer {
	if len(events) > eventsMax {
		return Undecided
	}
	s := &searching[S]{events: events, before: make([]set, len(events)), seen: map[node[S]]struct{}{}}
	for i, e := range events {
		s.before[i] = e.after
		if !e.optional {
			s.sure = s.sure.with(i)
		}
		for k, earlier := range events {
			if !earlier.optional && earlier.to < e.from {
				s.before[i] = s.before[i].with(k)
			}
		}
	}
	switch {
	case s.extend(node[S]{state: start}):
		return Legal
	case len(s.seen) >= nodesMax:
		return Undecided
	}
	return Illegal
}

// extend reports whether all sure events can be completed from here.
func (s *searching[S]) extend(n node[S]) bool {
	if n.done.contains(s.sure) {
		return true
	}
	if _, again := s.seen[n]; again || len(s.seen) >= nodesMax {
		return false
	}
	s.seen[n] = struct{}{}
	for i := range s.events {
		if n.done.has(i) || !n.done.contains(s.before[i]) {
			continue
		}
		after, can := s.events[i].do(n.state)
		if can && s.extend(node[S]{n.done.with(i), after}) {
			return true
		}
	}
	return false
}

// judgeByReference says whether the history of one object is linearizable for the model of that name, see
// [lin.ByName]; an unknown name is an error. The history has to be sound, see [lin.Model.Validate].
func judgeByReference(model string, with lin.Parameters, h lin.History) (Answer, error) {
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

// held is the state of what is granted and given back: a lock, read-write lock, semaphore or election.
type held struct {
	grants          set   // those that hold, by place
	greatest, wrote int64 // tokens: of all grants, and of writers
}

// granting are the operations in order of call; the place of an operation is its index.
type granting struct {
	ops      lin.History
	rw       bool
	capacity int64
}

func holdEvents(model string, permits int, h lin.History) (events []event[held]) {
	x := &granting{rw: model == "rwlock", capacity: map[string]int64{"rwlock": eventsMax, "semaphore": int64(permits)}[model]}
	x.capacity = max(x.capacity, 1)
	for _, op := range h {
		refused := (op.Op == "try" || op.Op == "rtry") && !grantedByTry(op.Result)
		if op.Outcome != lin.Fail && (op.Outcome == lin.Unknown || !refused) {
			x.ops = append(x.ops, op)
		}
	}
	slices.SortStableFunc(x.ops, func(a, b lin.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for i, op := range x.ops {
		do := x.grant
		if releases(op) {
			do = x.release
		}
		events = append(events, newEvent(op, func(s held) (held, bool) { return do(s, i) }))
	}
	return events
}

func nothingHeld() held { return held{greatest: math.MinInt64, wrote: math.MinInt64} }

func grantedByTry(result lin.Value) bool {
	return !result.IsNull() && result != lin.Bool(false) && result != lin.Int(0)
}

func releases(op lin.Operation) bool {
	return slices.Contains([]string{"release", "rrelease", "resigned"}, op.Op)
}

// sort is what a release has in common with the grants that it may end.
type sort struct {
	reader  bool
	permits int64
}

func kindOf(op lin.Operation) sort {
	k := sort{slices.Contains([]string{"racquire", "rtry", "rrelease"}, op.Op), 1}
	if op.Arg.IsInt() {
		k.permits = op.Arg.Int()
	}
	return k
}

// takes is how much of the capacity a grant takes: a writer's all.
func (x *granting) takes(g int) int64 {
	if k := kindOf(x.ops[g]); !x.rw || k.reader {
		return k.permits
	}
	return x.capacity
}

func (x *granting) grant(s held, i int) (held, bool) {
	op, taken := x.ops[i], x.takes(i)
	for g := range x.ops {
		if s.grants.has(g) {
			taken += x.takes(g)
		}
	}
	legal, t := taken <= x.capacity, op.Result.Int()
	s.grants = s.grants.with(i)
	switch {
	case !op.Result.IsInt() || op.Outcome == lin.Unknown && t == 0 && (op.Op == "try" || op.Op == "rtry"): // no token
	case kindOf(op).reader:
		legal = legal && t > s.wrote
		s.greatest = max(s.greatest, t)
	default:
		legal = legal && t > s.greatest
		s.greatest, s.wrote = t, t
	}
	return s, legal
}

// release ends the first hold that it is about. If there is none it may be a retry.
func (x *granting) release(s held, r int) (held, bool) {
	for g := range r {
		if s.grants.has(g) && x.may(g, r) {
			s.grants = s.grants.without(g)
			return s, true
		}
	}
	return s, x.retry(r)
}

// last reports whether what was granted at g is, at its process's later operation at i, the last of its kind that was
// surely granted, or may have been granted since then.
func (x *granting) last(g, i int) bool {
	return g < i && owner(x.ops[g]) == owner(x.ops[i]) && !slices.ContainsFunc(x.ops[g+1:i], func(op lin.Operation) bool {
		return owner(op) == owner(x.ops[i]) && op.Outcome == lin.OK && !releases(op) && kindOf(op) == kindOf(x.ops[g])
	})
}

// may reports whether the release at r may be about what was granted at g.
func (x *granting) may(g, r int) bool {
	return !releases(x.ops[g]) && kindOf(x.ops[g]) == kindOf(x.ops[r]) && x.last(g, r)
}

// retry reports whether the release at r may find its hold ended by one of unknown outcome, at q.
func (x *granting) retry(r int) bool {
	for q, op := range x.ops[:r] {
		for g := range q {
			if releases(op) && op.Outcome == lin.Unknown && x.may(g, q) && x.may(g, r) && x.last(q, r) {
				return true
			}
		}
	}
	return false
}
