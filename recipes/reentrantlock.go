package recipes

import (
	"context"
	"sync"

	"github.com/zktorture/zktorture/internal/call"
)

// ReentrantLock is a [Lock] that its owner may take again while it has it. The lock is released when it was unlocked
// as often as it was locked: the outer hold outlives the inner release.
//
// # The owner
//
// Goroutines have no identity, so the owner is explicit: it is the ReentrantLock value. Code that acts for one owner,
// on however many goroutines, shares one value; other owners, in this process or in others, have values of their own,
// on the same directory. The goroutines of one owner do not exclude each other: that is what reentrance means.
//
// # Znodes, promises, cost, errors
//
// As for [Lock]. Only the outermost Lock and Unlock make requests: the inner ones are counted. If the hold is lost,
// every Lock inside it and every Unlock returns [ErrLost], so that no inner section runs as if it were protected, and
// the outermost Unlock ends it all the same. [ErrHeld] does not occur.
//
// # Wrong versions that tempt
//
//   - No count: the inner release deletes the znode, and the outer section goes on unprotected.
//   - The session as the owner: all goroutines of a process hold each other's locks.
//   - Counting up although the session has ended meanwhile.
type ReentrantLock struct {
	lock *Lock
	turn turn // of whoever acquires for the owner

	mu    sync.Mutex // never held across a call to ZooKeeper
	count int        // how often the owner holds the lock
}

// NewReentrantLock returns a lock on the directory dir, for one owner.
func NewReentrantLock(conn Conn, dir string, opts ...LockOption) *ReentrantLock {
	return &ReentrantLock{lock: NewLock(conn, dir, opts...), turn: newTurn()}
}

// Lock waits until the owner holds the lock, and counts. It returns at once if the owner holds it already. See
// [Lock.Lock].
func (r *ReentrantLock) Lock(ctx context.Context) error {
	_, err := r.acquire(ctx, false)
	return err
}

// TryLock takes the lock if the owner holds it already, or if nobody holds it and nobody waits for it, and says
// whether it did. It waits for ZooKeeper, and for a Lock of the same owner.
func (r *ReentrantLock) TryLock(ctx context.Context) (bool, error) {
	return r.acquire(ctx, true)
}

func (r *ReentrantLock) acquire(ctx context.Context, try bool) (bool, error) {
	if err := r.turn.take(ctx); err != nil {
		return false, err
	}
	defer r.turn.give()
	if again, err := r.enter(ctx); again || err != nil {
		return again, err
	}
	got, err := r.lock.acquire(ctx, try)
	if got {
		r.mu.Lock()
		r.count = 1
		r.mu.Unlock()
	}
	return got, err
}

// enter counts one hold more if there is one.
func (r *ReentrantLock) enter(ctx context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.count == 0:
		return false, nil
	case call.IsClosed(r.Lost()):
		return false, ErrLost
	case ctx.Err() != nil:
		return false, ctx.Err()
	}
	r.count++
	return true, nil
}

// Unlock takes back one Lock. The last one releases the lock, as [Lock.Unlock] does; the others return at once.
func (r *ReentrantLock) Unlock(ctx context.Context) error {
	inner, a := r.exit()
	if inner {
		if call.IsClosed(r.Lost()) {
			return ErrLost
		}
		return nil
	}
	return r.lock.depart(ctx, a)
}

// exit counts one hold less, and begins the release after the last.
func (r *ReentrantLock) exit() (inner bool, a *acquisition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count > 1 {
		r.count--
		return true, nil
	}
	r.count = 0
	return false, r.lock.leave(exclusive)
}

// Settle waits for what goes on in the background, see [Lock.Settle].
func (r *ReentrantLock) Settle(ctx context.Context) error { return r.lock.Settle(ctx) }

// Holds returns how often the owner holds the lock: how many times Unlock is to be called.
func (r *ReentrantLock) Holds() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// Lost returns a channel that is closed when the hold is known to be lost, see [Lock.Lost]. Inner and outer holds are
// lost together.
func (r *ReentrantLock) Lost() <-chan struct{} { return r.lock.Lost() }

// Token returns the fencing token of the hold, the same for inner and outer holds, see [Lock.Token]; 0 without a hold.
func (r *ReentrantLock) Token() int64 { return r.lock.Token() }
