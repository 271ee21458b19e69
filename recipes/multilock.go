package recipes

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/zktorture/zktorture/internal/call"
)

// MultiLock holds several [Lock]s at once, or none.
//
// # Order
//
// The locks are acquired one after the other in the order of their paths, whatever order they were named in. So of
// users that want several of the same locks, under whatever names for the set, no two ever wait for each other: a
// user that waits for a path holds only smaller ones.
//
// # Znodes, promises, cost
//
// Each lock is as [Lock] says, and so are the cost and the wake-ups for each. A call that fails or gives up releases
// what it had got, in the background where that takes longer than the call. A lock that is lost while others are
// being waited for is found out at the end, and all are acquired again.
//
// Every hold lasts as long as the slowest of its locks is waited for: users of single locks among them wait that long
// too.
//
// # Errors
//
// As for [Lock]. Unlock returns [ErrLost] if one of the locks was lost.
//
// # Wrong versions that tempt
//
//   - Acquiring in the order given: two users that name the same locks differently deadlock.
//   - Trying all, and if one is taken, releasing and trying again: users of overlapping sets may keep each other from
//     ever getting through.
//   - Returning the error of the third lock with the first two held.
//
// A MultiLock belongs to one user at a time, although its methods may be called from any goroutine.
type MultiLock struct {
	locks []*Lock // by path, each once

	mu   sync.Mutex // never held across a call to ZooKeeper
	busy bool       // held, or being acquired
	hold *multiHold // nil if it is not held
}

// multiHold is a hold of all locks.
type multiHold struct {
	lost, released chan struct{}
}

// NewMultiLock returns a lock on all of the directories dirs, of which each counts once. Without a directory it is a
// lock that everybody holds.
func NewMultiLock(conn Conn, dirs []string, opts ...LockOption) *MultiLock {
	m := &MultiLock{}
	for _, dir := range slices.Compact(slices.Sorted(slices.Values(dirs))) {
		m.locks = append(m.locks, NewLock(conn, dir, opts...))
	}
	return m
}

// Lock waits until all locks are held, see [Lock.Lock].
func (m *MultiLock) Lock(ctx context.Context) error {
	_, err := m.acquire(ctx, false)
	return err
}

// TryLock takes all locks if nobody holds or waits for any, and says whether it did.
func (m *MultiLock) TryLock(ctx context.Context) (bool, error) {
	return m.acquire(ctx, true)
}

func (m *MultiLock) acquire(ctx context.Context, try bool) (got bool, err error) {
	if !m.begin() {
		return false, ErrHeld
	}
	for {
		got, err = m.acquireAll(ctx, try)
		if err != errDisplaced {
			break
		}
	}
	m.end(got)
	return got, err
}

// acquireAll acquires the locks in order; errDisplaced if one was lost meanwhile.
func (m *MultiLock) acquireAll(ctx context.Context, try bool) (bool, error) {
	for i, l := range m.locks {
		if got, err := l.acquire(ctx, try); !got || err != nil {
			m.abandon(m.locks[:i])
			return false, err
		}
	}
	if slices.ContainsFunc(m.locks, m.lostSince) {
		m.abandon(m.locks)
		return false, errDisplaced
	}
	return true, nil
}

// lostSince reports whether a lock was lost while others were acquired: this is known, or the last one was granted to
// another session. (That the one before has ended may be known to the client, and not yet to the goroutine that keeps
// the hold.)
func (m *MultiLock) lostSince(l *Lock) bool {
	return call.IsClosed(l.Lost()) || l.session() != m.locks[len(m.locks)-1].session()
}

// abandon releases locks and does not wait for that. The next acquisition of each does.
func (m *MultiLock) abandon(locks []*Lock) {
	for _, l := range locks {
		l.leave(exclusive)
	}
}

func (m *MultiLock) begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy {
		return false
	}
	m.busy = true
	return true
}

// end ends an acquisition, with a hold or without one.
func (m *MultiLock) end(got bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = got
	if !got {
		return
	}
	m.hold = &multiHold{lost: make(chan struct{}), released: make(chan struct{})}
	events := []<-chan struct{}{m.hold.released}
	for _, l := range m.locks {
		events = append(events, l.Lost())
	}
	go m.hold.watch(events)
}

// watch waits for the release, which is the first event, or for the loss of one lock.
func (h *multiHold) watch(events []<-chan struct{}) {
	cases := make([]reflect.SelectCase, len(events))
	for i, event := range events {
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(event)}
	}
	if chosen, _, _ := reflect.Select(cases); chosen > 0 {
		close(h.lost)
	}
}

// Unlock releases all locks and returns when their znodes are gone, see [Lock.Unlock]. Calling it again after its
// context has ended waits for the rest.
func (m *MultiLock) Unlock(ctx context.Context) error {
	m.release()
	var left []*acquisition
	for _, l := range m.locks {
		left = append(left, l.leave(exclusive))
	}
	found, errs := false, []error(nil)
	for i, a := range left {
		if a != nil {
			found = true
			errs = append(errs, m.locks[i].depart(ctx, a))
		}
	}
	if !found && len(m.locks) > 0 {
		return ErrNotHeld
	}
	return errors.Join(errs...)
}

// Settle waits for what goes on in the background at each of the locks, see [Lock.Settle].
func (m *MultiLock) Settle(ctx context.Context) error {
	var errs []error
	for _, l := range m.locks {
		errs = append(errs, l.Settle(ctx))
	}
	return errors.Join(errs...)
}

// release ends the hold.
func (m *MultiLock) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold != nil {
		close(m.hold.released)
		m.hold, m.busy = nil, false
	}
}

// Lost returns a channel that is closed when one of the locks held is known to be lost, see [Lock.Lost]. It belongs
// to one hold; without one, the channel returned is closed already.
func (m *MultiLock) Lost() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold == nil {
		return call.ClosedChannel
	}
	return m.hold.lost
}

// Token returns the fencing token of the lock on dir, see [Lock.Token]; 0 without a hold of it. A resource compares
// tokens of one directory only.
func (m *MultiLock) Token(dir string) int64 {
	for _, l := range m.locks {
		if l.path == dir {
			return l.Token()
		}
	}
	return 0
}
