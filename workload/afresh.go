package workload

import (
	"context"
	"sync"
	"time"

	"github.com/zktorture/zktorture/sim"
)

// usable is promised of kinds of which any user can do something by itself.
var usable = Promise{
	Names: []string{"unusable"}, Text: "once faults are healed a new operation of each user succeeds",
}

// freshness is a fresh operation of each user, which a third of the episodes have: when the scripts are over and all
// faults healed, each user does once more what it can do alone, with the object that it has. It may fail at first, as
// what had struck before may be learned only now. An error that goes on breaks unusable, whoever made it. An error
// that the recipe may fail with at any time ([Final]) may be the end of an object; then the user makes another one.
type freshness struct {
	drawn bool

	mu      sync.Mutex
	found   []sim.Violation
	unknown bool // it is not known when faults are over
	renewed bool // a user has made another object
}

// pauses are how long a user waits before each try: altogether longer than any back-off of a recipe and, in simulation,
// than the timeout of a session, within which a client has learned of all that had struck.
var pauses = [...]time.Duration{0, time.Second, 10 * time.Second, time.Minute}

// afresh has a user do something when all is over. use does it and returns the operation; renew makes another object.
func (c *Script[T]) afresh(u User, use func() *sim.Op, renew func()) {
	f := c.fresh
	if f == nil || !f.drawn || !f.faultsOver(u) {
		return
	}
	var failed []*sim.Op
	for _, pause := range pauses {
		if pause > 0 {
			u.Wait(pause)
		}
		op := use()
		if op.Err == nil || op.Cancelled {
			return
		}
		if failed = append(failed, op); c.terms.expects(op.Err) {
			f.renew(renew)
		}
	}
	f.blame(failed)
}

// faultsOver waits until all faults are over, and tells whether that is known.
func (f *freshness) faultsOver(u User) bool {
	known := u.AwaitLiveness()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unknown = f.unknown || !known
	return known
}

// renew notes that a user makes another object, which does not know what the one before has left.
func (f *freshness) renew(renew func()) {
	f.mu.Lock()
	f.renewed = true
	f.mu.Unlock()
	renew()
}

// blame notes that a user has failed again and again.
func (f *freshness) blame(failed []*sim.Op) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := failed[len(failed)-1]
	f.found = append(f.found, broken("unusable", failed,
		"%s cannot use it any more: after all faults were over its %s failed %d times in a row, at last with %q",
		Who(last), last.Name, len(failed), last.Err)...)
}

// unusable adds what users have found.
func (j *Judgement) unusable(v *View, f *freshness) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	j.Judges("unusable", !f.unknown)
	j.Add(f.found...)
	v.Left.Values = f.renewed
}

// taking is the fresh operation of a user who takes something and gives it back.
func taking(u User, recipe holder, take string, begin func(context.Context) error, release string,
	end func(context.Context) error) *sim.Op {
	h, op := tryTake(u, recipe, take, method{wait: begin})
	if h != nil {
		giveBack(u, recipe.believer, h, release, end, false)
	}
	return op
}
