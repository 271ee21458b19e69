package linearizability

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/monitor"
	"github.com/zktorture/zktorture/linearizability/internal/persistent"
	"github.com/zktorture/zktorture/linearizability/internal/step"
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
	m.govern(step.Whole, "a writer held the lock while somebody else did")
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
	m.monitor = func(steps []step.Step) step.Ruling { return monitor.Permits(steps, capacity) }
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

// holder is a process and how it holds: as a reader or not, and how many permits. Releases end holds of their own kind.
type holder struct {
	process Value
	reads   bool
	permits int64
}

func (o *Operation) holder() holder { return holder{o.Owner(), o.reads(), o.permits()} }

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

// permitState is who holds permits, and the greatest tokens granted.
type permitState struct {
	holders []step.Hold // by item; never changed, only replaced
	granted bool        // whether any token was
	token   int64
	wrote   bool // whether any was to somebody who is no reader
	written int64
}

func permitSpec(capacity int64) porcupine.Model {
	take := func(p permitState, s *step.Step) (bool, permitState) { return stepPermits(capacity, p, s) }
	return specOf(permitState{}, take, permitState.hash, permitState.equal)
}

func (p permitState) equal(q permitState) bool {
	return p.granted == q.granted && p.token == q.token && p.wrote == q.wrote && p.written == q.written &&
		slices.Equal(p.holders, q.holders)
}

func (p permitState) hash() uint64 {
	sum := persistent.Mix(^uint64(p.token)) ^ persistent.Mix(uint64(p.written)+1)
	for _, h := range p.holders {
		sum = persistent.Mix(sum ^ uint64(h.Item) ^ uint64(h.Order)<<16 ^ uint64(h.Takes)<<32)
	}
	return sum
}

func stepPermits(capacity int64, p permitState, s *step.Step) (bool, permitState) {
	if s.Kind == step.Grant {
		if !p.room(capacity, s) || !s.Null && p.stale(s) {
			return s.Unknown, p
		}
		return true, p.grant(s)
	}
	i, found := p.of(s)
	if !found || s.Kind == step.Share && p.holders[i].Takes != step.Whole {
		return s.Unknown || s.Hold().Excused, p
	}
	p.holders = slices.Clone(p.holders)
	if s.Kind == step.Share {
		p.holders[i].Share(s)
	} else {
		p.holders = slices.Delete(p.holders, i, i+1)
	}
	return true, p
}

// of returns the place of the hold that a release or downgrade is about: the first of its item called before it.
func (p permitState) of(s *step.Step) (place int, found bool) {
	place, _ = slices.BinarySearchFunc(p.holders, step.Hold{Item: s.Item}, step.CompareHolds)
	for ; place < len(p.holders) && p.holders[place].Item == s.Item && p.holders[place].Order < s.Hold().Order; place++ {
		if s.About(&p.holders[place]) {
			return place, true
		}
	}
	return 0, false
}

// room reports whether there are permits for a grant.
func (p permitState) room(capacity int64, s *step.Step) bool {
	takes := s.Takes()
	for _, h := range p.holders {
		if h.Takes == step.Whole || takes == step.Whole {
			return false
		}
		takes += h.Takes
	}
	return takes == step.Whole || takes <= capacity
}

// stale reports whether the token of a grant is too small.
func (p permitState) stale(s *step.Step) bool {
	if s.Hold().Reads {
		return p.wrote && s.Hold().Token <= p.written
	}
	return p.granted && s.Hold().Token <= p.token
}

func (p permitState) grant(s *step.Step) permitState {
	hold := step.Hold{Item: s.Item, Order: s.Hold().Order, Takes: s.Takes()}
	i, _ := slices.BinarySearchFunc(p.holders, hold, step.CompareHolds)
	p.holders = slices.Insert(slices.Clone(p.holders), i, hold)
	if s.Null {
		return p
	}
	if !p.granted || s.Hold().Token > p.token {
		p.token, p.granted = s.Hold().Token, true
	}
	if !s.Hold().Reads {
		p.wrote, p.written = true, s.Hold().Token
	}
	return p
}
