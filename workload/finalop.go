package workload

import (
	"context"
	"sync"
	"time"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// usable is promised of kinds of which any user can do something by itself.
var usable = Promise{Names: []string{"unusable"}, Text: "once faults are healed a new operation of each user succeeds"}

// finalOps is a fresh operation of each user, which a third of the episodes have: when the scripts are over and all
// faults healed, each user does once more what it can do alone, with the object that it has. It may fail at first, as
// what had struck before may be learned only now. An error that goes on breaks unusable, whoever made it.
type finalOps struct {
	drawn bool

	mu      sync.Mutex
	found   []sim.Violation
	unknown bool // it is not known when faults are over
}

// pauses are how long a user waits before each try: altogether longer than any back-off of a recipe and, in simulation,
// than the timeout of a session, within which a client has learned of all that had struck.
var pauses = [...]time.Duration{0, time.Second, 10 * time.Second, time.Minute}

// Afresh draws whether each user does something once more when all is over: see [Script.Finally].
func (c *Script[T]) Afresh(p *world.Plan) { c.fresh = &finalOps{drawn: p.Afresh()} }

// Finally has a user do something when all is over, in one of three episodes ([Script.Afresh]). use does it and returns
// the operation. An error that goes on breaks the property unusable.
func (c *Script[T]) Finally(u User, use func() *world.Op) {
	f := c.fresh
	if f == nil || !f.drawn || !f.faultsOver(u) {
		return
	}
	var failed []*world.Op
	for _, pause := range pauses {
		if pause > 0 {
			u.Wait(pause)
		}
		op := use()
		if op.Err == nil || op.Cancelled {
			return
		}
		failed = append(failed, op)
	}
	f.blame(failed)
}

// faultsOver waits until all faults are over, and reports whether that is known.
func (f *finalOps) faultsOver(u User) bool {
	known := u.AwaitLiveness()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unknown = f.unknown || !known
	return known
}

// blame notes that a user has failed again and again.
func (f *finalOps) blame(failed []*world.Op) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := failed[len(failed)-1]
	f.found = append(f.found, Broken("unusable", failed,
		"%s cannot use it any more: after all faults were over its %s failed %d times in a row, at last with %q",
		Who(last), last.Name, len(failed), last.Err)...)
}

// unusable adds what users have found.
func (j *Judgement) unusable(f *finalOps) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	j.Judges("unusable", !f.unknown)
	j.Add(f.found...)
}

// taking is the fresh operation of a user who takes something and gives it back.
func taking(u User, by holder, name string, begin func(context.Context) error, release string,
	end func(context.Context) error) *world.Op {
	h, op := take(u, by, name, method{wait: begin})
	if h != nil {
		h.giveBack(release, end, false)
	}
	return op
}
