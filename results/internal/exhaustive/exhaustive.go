// Package exhaustive decides whether a short history is linearizable by trying every order of its operations. It is
// the reference for the judge of package linearizability, and shares with it only the types of a history and the
// documentation of the models: no preparation, no monitor, no porcupine.
//
// A history becomes a set of events. Each takes effect at one instant between two stamps, on an object whose state
// may forbid it. An event of unknown outcome is optional. The history is linearizable if the other events can be run
// one at a time, each after all those that ended before it began (Wing and Gong, "Testing and Verifying Concurrent
// Objects", 1993). A state with the same events done is visited once.
package exhaustive

import (
	"math/bits"

	"github.com/zktorture/zktorture/linearizability"
)

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
func newEvent[S comparable](op linearizability.Operation, do func(S) (S, bool)) event[S] {
	return event[S]{from: op.Call, to: until(op), optional: op.Outcome == linearizability.Unknown, do: do}
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

// search is a depth-first search. Its depth is at most the number of events.
type search[S comparable] struct {
	events []event[S]
	sure   set   // those that are not optional
	before []set // by event: the sure ones that ended before it began
	seen   map[node[S]]struct{}
}

func inSomeOrder[S comparable](start S, events []event[S]) Answer {
	if len(events) > eventsMax {
		return Undecided
	}
	s := &search[S]{events: events, before: make([]set, len(events)), seen: map[node[S]]struct{}{}}
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
func (s *search[S]) extend(n node[S]) bool {
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
