package published

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/zktorture/zktorture/recipes"
)

// Locker gives a WriteLock of Apache ZooKeeper 3.4.6 the methods of other locks of this project, the way in which its documentation says that
// it is to be used. It adds no fault and hides none. One user at a time; others that share the WriteLock have a
// Locker of their own, see [Locker.Other].
type Locker struct {
	*sharedWriteLock
	in bool // through the gate
}

// sharedWriteLock is a WriteLock with all who use it.
type sharedWriteLock struct {
	lock     *writeLock
	acquired chan struct{}
	calls    atomic.Int64  // of lockAcquired since Lock was called last
	gate     chan struct{} // has room for one user; nil: nobody waits
}

// NewLocker returns a Locker with a WriteLock of its own.
func NewLocker(conn recipes.Conn, dir string, bugs Bugs) *Locker {
	s := &sharedWriteLock{acquired: make(chan struct{}, 1), gate: make(chan struct{}, 1)}
	s.lock = newWriteLock(conn, dir, s.lockAcquired, bugs)
	if bugs.Has("W16") {
		s.gate = nil // BUG: W16 the lock knows no owner: a second caller is told that it holds it
	}
	return &Locker{sharedWriteLock: s}
}

// Other returns a Locker for another user of the same WriteLock.
func (l *Locker) Other() *Locker { return &Locker{sharedWriteLock: l.sharedWriteLock} }

// SetRetryCount is the WriteLock's.
func (l *Locker) SetRetryCount(n int) { l.lock.SetRetryCount(n) }

// lockAcquired is the callback.
func (s *sharedWriteLock) lockAcquired() {
	s.calls.Add(1)
	select {
	case s.acquired <- struct{}{}:
	default: // called before, and the user has not looked yet
	}
}

// Calls returns how often lockAcquired was called since Lock was. Once is right.
func (s *sharedWriteLock) Calls() int { return int(s.calls.Load()) }

// Lock starts the process of grabbing the lock and waits for lockAcquired. If ctx ends first it removes its request
// in the queue by Unlock. Like the original it cannot be interrupted in a call to ZooKeeper.
func (l *Locker) Lock(ctx context.Context) error {
	if err := l.enter(ctx); err != nil {
		return err
	}
	err := l.grab(ctx)
	if err != nil {
		l.exit()
	}
	return err
}

func (l *Locker) grab(ctx context.Context) error {
	l.forget()
	owner, err := l.lock.Lock()
	if owner || err != nil {
		return err
	}
	if ctx.Err() == nil { // else it counts first: see awaitAny
		select {
		case <-l.acquired:
			return nil
		case <-ctx.Done():
		}
	}
	return errors.Join(ctx.Err(), l.lock.Unlock())
}

// enter waits until no other user is between Lock and Unlock.
func (l *Locker) enter(ctx context.Context) error {
	if l.gate == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.gate <- struct{}{}:
		l.in = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Locker) exit() {
	if l.in {
		l.in = false
		<-l.gate
	}
}

// forget drops a call of lockAcquired from before.
func (l *Locker) forget() {
	l.calls.Store(0)
	select {
	case <-l.acquired:
	default:
	}
}

// Unlock releases the lock.
func (l *Locker) Unlock(context.Context) error {
	defer l.exit()
	return l.lock.Unlock()
}

// Close closes the WriteLock, not the connection.
func (l *Locker) Close() { l.lock.Close() }

// IsOwner reports whether the WriteLock believes to own the lock.
func (l *Locker) IsOwner() bool { return l.lock.IsOwner() }

// Queue gives a DistributedQueue of Apache ZooKeeper 3.4.6 the methods of other queues of this project.
type Queue struct {
	queue *distributedQueue
}

// NewQueue returns a Queue with a DistributedQueue of its own.
func NewQueue(conn recipes.Conn, dir string, bugs Bugs) *Queue {
	return &Queue{newDistributedQueue(conn, dir, nil, bugs)}
}

// Offer appends an item.
func (q *Queue) Offer(_ context.Context, data []byte) error {
	_, err := q.queue.Offer(data)
	return err
}

// Poll removes the head and returns it, or recipes.ErrEmpty.
func (q *Queue) Poll(context.Context) ([]byte, error) { return orEmpty(q.queue.Remove()) }

// Peek returns the head, or recipes.ErrEmpty.
func (q *Queue) Peek(context.Context) ([]byte, error) { return orEmpty(q.queue.Element()) }

// Take removes the head and returns it, and waits for one until ctx ends.
func (q *Queue) Take(ctx context.Context) ([]byte, error) { return q.queue.Take(ctx) }

// InsistentQueue is a [Queue] whose user does not want to lose an item: it offers again what may not have been added.
type InsistentQueue struct{ *Queue }

// NewInsistentQueue returns an InsistentQueue with a DistributedQueue of its own.
func NewInsistentQueue(conn recipes.Conn, dir string, bugs Bugs) InsistentQueue {
	return InsistentQueue{NewQueue(conn, dir, bugs)}
}

// Offer appends an item. It stops at an unknown outcome.
func (q InsistentQueue) Offer(ctx context.Context, data []byte) error {
	for {
		err := q.Queue.Offer(ctx, data)
		if !connectionLoss(err) || errors.Is(err, recipes.ErrUnknownOutcome) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// orEmpty says in this project's word what the original says with an exception. (Its poll and peek say it with null,
// which an item without data is too.)
func orEmpty(data []byte, err error) ([]byte, error) {
	if err == errNoSuchElement {
		return nil, recipes.ErrEmpty
	}
	return data, err
}
