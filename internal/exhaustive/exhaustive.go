// Package exhaustive says whether a short history is linearizable by trying every order of its operations. It is what
// the judge of package linearizability is measured against, and shares nothing with it but the types of a history and
// what the documentation of the models says: no preparation, no monitor, no porcupine.
//
// A history becomes a set of events. Each has one instant between two stamps, and does something to an object, or
// cannot be done now. An event that may not have happened, as its outcome is unknown, may be left out. The history is
// linearizable if the others can be carried out one at a time, such that none comes before one that was over when it
// began (Wing and Gong, "Testing and Verifying Concurrent Objects", 1993). What was tried once from a state, with the
// same events done, is not tried again.
package exhaustive

import (
	"math/bits"

	"github.com/zktorture/zktorture/linearizability"
)

// Answer is what an exhaustive search says.
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
func (a Answer) String() string { return [...]string{"legal", "illegal", "undecided"}[a] }

// eventsMax bounds the events of a history, nodesMax the sets of them that are looked at.
const (
	eventsMax = 128
	nodesMax  = 1 << 18
)

// event is something that happened to an object in state S at one instant, or that may have.
type event[S comparable] struct {
	from, to int64 // the instant lies between them; to is Forever if it may never have come
	optional bool
	// do returns the state afterwards, and whether it can be done at all.
	do func(S) (S, bool)
}

// newEvent is the event of an operation. One of unknown outcome may happen at any time from its call on, or never.
func newEvent[S comparable](op linearizability.Operation, do func(S) (S, bool)) event[S] {
	e := event[S]{from: op.Call, to: op.Return, do: do}
	if op.Outcome == linearizability.Unknown {
		e.to, e.optional = linearizability.Forever, true
	}
	return e
}

// set is a set of events, by index.
type set [eventsMax / 64]uint64

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }

func (s set) with(i int) set {
	s[i/64] |= 1 << (i % 64)
	return s
}

func (s set) contains(t set) bool {
	missing := 0
	for w := range s {
		missing += bits.OnesCount64(t[w] &^ s[w])
	}
	return missing == 0
}

// node is what may have happened so far: which events, and what the object has become.
type node[S comparable] struct {
	done  set
	state S
}

// search is a depth-first search. Its depth is at most the number of events.
type search[S comparable] struct {
	events []event[S]
	sure   set   // those that are not optional
	before []set // by event: the sure ones that were over when it began
	seen   map[node[S]]struct{}
}

func inSomeOrder[S comparable](start S, events []event[S]) Answer {
	if len(events) > eventsMax {
		return Undecided
	}
	s := &search[S]{events: events, before: make([]set, len(events)), seen: map[node[S]]struct{}{}}
	for i, e := range events {
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

// extend tells whether all that surely happened can be done from here on.
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
