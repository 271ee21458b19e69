package linearizability

import (
	"fmt"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

// RWLock returns the model of a lock that is held by one writer, or by any number of readers.
//
//	acquire, try, release     as of [Lock], for writers
//	racquire, rtry, rrelease  the same for readers
//	downgrade                 makes a writer a reader, to be released by rrelease
//
// The rules are those of [Lock], for readers and writers apart, with these differences: a reader is granted the lock
// while no writer holds it, a writer while nobody does. A writer's token is greater than all tokens granted earlier, a
// reader's than those of all writers earlier. A downgrade is legal while its process holds the lock as a writer, by a
// grant of which a release could be. A process that writes excludes itself as a reader. A downgrade of outcome ok is a
// grant to a reader: the hold is to be released by rrelease; but a release that was called before the downgrade, and is
// of unknown outcome or touches it, may still end it, at any time from its call on. (So the sequence of an acquire, a
// release of unknown outcome, a downgrade of outcome ok and another process's acquire is legal.) After a downgrade of
// unknown outcome either release ends the hold, and either may be the retry of a release of unknown outcome, also of a
// writer's called before the downgrade, until an operation of the process is of outcome ok. If a process may have
// several holds at once, of unknown outcome, a release is about the first of them, by call, that it has when the
// release takes effect.
func RWLock() Model {
	m := Lock()
	m.Name = "rwlock"
	m.Operations = operationsOf("rwlock")
	m.streamer = nil // a downgrade may tell that a hold has lasted after all
	m.problem = rwlockProblem
	m.prepare = prepareRWLock
	m.govern(whole, "a writer held the lock while somebody else did")
	return m
}

// Semaphore returns the model of a semaphore.
//
//	acquire  takes permits: its argument is how many, null for one. The result is a token, a number
//	         that grows from grant to grant, or null if there are none
//	try      does not wait; the result is the token or true, or null, false or 0 if it was refused
//	release  gives back the permits of one acquire or try: its argument is how many these were
//
// The rules are those of [Lock], with the difference that permits are granted while at most the rest of them is held.
// What a release gives back, and what it may be the retry of, is of the same number of permits.
// A user that holds the same number of permits twice is recorded as two processes.
func Semaphore(permits int) Model {
	m := Lock()
	m.Name, m.Parameters = "semaphore", Parameters{Permits: permits}
	m.problem = func(op *Operation) string { return semaphoreProblem(op, int64(permits)) }
	m.conflict = semaphoreConflict
	m.govern(int64(permits), fmt.Sprintf("more than the semaphore's permits (%d) were held at once", permits))
	return m
}

// govern gives the model the rule of permits; overdrawn says that it is broken.
func (m *Model) govern(capacity int64, overdrawn string) {
	m.spec = permitSpec(capacity)
	m.monitor = func(steps []step) ruling { return permitMonitor(steps, capacity) }
	m.rules = map[string]string{"exclusion": overdrawn}
}

func rwlockProblem(op *Operation) string {
	writers := *op
	if op.Op == "downgrade" {
		writers.Op = "release"
	}
	if op.reads() {
		writers.Op = op.Op[1:]
	}
	return lockProblem(&writers)
}

func semaphoreProblem(op *Operation, permits int64) string {
	switch n := op.permits(); {
	case !op.Arg.IsNull() && !op.Arg.IsInt() || n < 1:
		return "the argument is the number of permits, 1 or more, or null for 1"
	case n > permits:
		return fmt.Sprintf("it asks for more permits than the semaphore has, %d; give the right number of permits",
			permits)
	}
	bare := *op
	bare.Arg = Null
	return lockProblem(&bare)
}

func (o *Operation) permits() int64 {
	if o.Arg.IsNull() {
		return 1
	}
	return o.Arg.Int()
}

// holder is a process and how it holds: as a reader or not, and how many permits. Releases end holds of their own
// kind.
type holder struct {
	process Value
	reads   bool
	permits int64
}

func (o *Operation) holder() holder { return holder{o.owner(), o.reads(), o.permits()} }

// semaphoreConflict finds a process that holds the same number of permits twice, so that its release is ambiguous.
func semaphoreConflict(h History, processes []int32) (int, string) {
	if i, problem := releaseWithoutAcquire(h, processes); problem != "" {
		return i, problem
	}
	held := make(map[holder]bool)
	for _, i := range byCall(h) {
		op := &h[i]
		switch {
		case op.Outcome == Fail:
		case op.releases():
			delete(held, op.holder())
		case mayGrant(op) && op.Outcome == OK && held[op.holder()]:
			return i, "its process has not given back the permits that it was granted before; record each hold " +
				"under a client or process of its own"
		case mayGrant(op) && op.Outcome == OK:
			held[op.holder()] = true
		}
	}
	return 0, ""
}

// whole is what an exclusive hold takes.
const whole = math.MaxInt64

func (s *step) takes() int64 {
	switch {
	case s.reads:
		return 1
	case s.permits > 0:
		return s.permits
	}
	return whole
}

// permitState is who holds permits, and the greatest tokens granted.
type permitState struct {
	holders []permitHold // by item; never changed, only replaced
	granted bool         // whether any token was
	token   int64
	wrote   bool // whether any was to somebody who is no reader
	written int64
}

type permitHold struct {
	item, order int32 // order as in lockState
	takes       int64
	downgrade   int32 // the order of that of outcome ok that has made it a reader's, or 0
}

// share lets a downgrade make the hold a reader's.
func (h *permitHold) share(s *step) {
	if h.takes = 1; !s.unknown {
		h.downgrade = s.order
	}
}

func permitSpec(capacity int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return permitState{} },
		Step: func(state, input, _ any) (bool, any) {
			legal, next := stepPermits(capacity, state.(permitState), input.(*step))
			return legal, next
		},
		Equal: func(a, b any) bool { return a.(permitState).equal(b.(permitState)) },
		Hash:  func(state any) uint64 { return state.(permitState).hash() },
	}
}

func (p permitState) equal(q permitState) bool {
	return p.granted == q.granted && p.token == q.token && p.wrote == q.wrote && p.written == q.written &&
		slices.Equal(p.holders, q.holders)
}

func (p permitState) hash() uint64 {
	sum := mix(^uint64(p.token)) ^ mix(uint64(p.written)+1)
	for _, h := range p.holders {
		sum = mix(sum ^ uint64(h.item) ^ uint64(h.order)<<16 ^ uint64(h.takes)<<32)
	}
	return sum
}

func stepPermits(capacity int64, p permitState, s *step) (bool, permitState) {
	if s.kind == stepGrant {
		if !p.room(capacity, s) || !s.noToken && p.stale(s) {
			return s.unknown, p
		}
		return true, p.grant(s)
	}
	i, found := p.of(s)
	if !found || s.kind == stepShare && p.holders[i].takes != whole {
		return s.unknown || s.excused, p
	}
	p.holders = slices.Clone(p.holders)
	if s.kind == stepShare {
		p.holders[i].share(s)
	} else {
		p.holders = slices.Delete(p.holders, i, i+1)
	}
	return true, p
}

// of returns the place of the hold that a release or downgrade is about: the first of its item called before it.
func (p permitState) of(s *step) (place int, found bool) {
	place, _ = slices.BinarySearchFunc(p.holders, permitHold{item: s.item}, compareHolds)
	for ; place < len(p.holders) && p.holders[place].item == s.item && p.holders[place].order < s.order; place++ {
		if s.about(&p.holders[place]) {
			return place, true
		}
	}
	return 0, false
}

// room tells whether there are permits for a grant.
func (p permitState) room(capacity int64, s *step) bool {
	takes := s.takes()
	for _, h := range p.holders {
		if h.takes == whole || takes == whole {
			return false
		}
		takes += h.takes
	}
	return takes == whole || takes <= capacity
}

// stale tells whether the token of a grant is too small.
func (p permitState) stale(s *step) bool {
	if s.reads {
		return p.wrote && s.token <= p.written
	}
	return p.granted && s.token <= p.token
}

func (p permitState) grant(s *step) permitState {
	hold := permitHold{item: s.item, order: s.order, takes: s.takes()}
	i, _ := slices.BinarySearchFunc(p.holders, hold, compareHolds)
	p.holders = slices.Insert(slices.Clone(p.holders), i, hold)
	if s.noToken {
		return p
	}
	if !p.granted || s.token > p.token {
		p.token, p.granted = s.token, true
	}
	if !s.reads {
		p.wrote, p.written = true, s.token
	}
	return p
}
