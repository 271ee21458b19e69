package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// KazooLock is an exclusive lock. After kazoo.recipe.lock.Lock, kazoo 2.8 (python-zk/kazoo, kazoo/recipe/lock.py),
// and, where L5 is in force, before commit 0937c79 (2014).
//
// The end of a context is what the original's cancel and timeout are. The name of a znode has a hyphen more, and a
// guid for each znode, not for each object. That the first znode is one's own, and not that of a session which has
// been replaced, is looked at here only.
type KazooLock struct {
	contender
	bugs Bugs
}

// NewKazooLock returns a lock; nothing is sent before it is used.
func NewKazooLock(client recipes.Conn, path string, bugs Bugs) *KazooLock {
	l := &KazooLock{newContender(client, path, "", "__lock__-"), bugs}
	if bugs.Has("L7") {
		l.lineUp = (*contender).byText // BUG: L7 after the wrap each newcomer comes before the owner
	}
	return l
}

// Lock waits until the lock is acquired.
func (l *KazooLock) Lock(ctx context.Context) error {
	_, err := l.acquire(ctx, true)
	return err
}

// TryLock acquires the lock if no other client has it or waits for it.
func (l *KazooLock) TryLock(ctx context.Context) (bool, error) { return l.acquire(ctx, false) }

func (l *KazooLock) acquire(ctx context.Context, blocking bool) (bool, error) {
	gotten, err := l.innerAcquire(ctx, blocking)
	if !gotten {
		err = errors.Join(err, l.bestEffortCleanup())
	}
	return gotten, err
}

// innerAcquire waits until it is our chance to get it.
func (l *KazooLock) innerAcquire(ctx context.Context, blocking bool) (bool, error) {
	if l.path == "" {
		if err := l.enlist(ctx); err != nil {
			return false, err
		}
	}
	watch, err := l.reachTurn(ctx, rightBefore, func(name string) (done bool, err error) {
		if !blocking {
			return true, nil
		}
		// Otherwise we are in the mix: watch the predecessor and bide our time.
		return false, l.watchPredecessor(ctx, name)
	})
	return watch != nil && err == nil, err
}

// watchPredecessor waits until a znode may be gone.
func (l *KazooLock) watchPredecessor(ctx context.Context, name string) error {
	event, _, err := l.hearOf(ctx, name)
	if event.Type == zk.EventSession && l.bugs.Has("L5") { // BUG: L5 the watch is dropped with the connection
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// bestEffortCleanup leaves the queue after a failure.
func (l *KazooLock) bestEffortCleanup() error {
	if !l.bugs.Has("L6") || l.path == "" {
		return l.withdraw()
	}
	if l.client.Delete(l.path, -1) == nil { // BUG: L6 a delete that fails is swallowed, and the znode stays
		l.path = ""
	}
	return nil
}

const (
	kazooWriter = "__lock__-"
)

// KazooSemaphore is a counting semaphore. After kazoo.recipe.lock.Semaphore, kazoo 2.4 (python-zk/kazoo,
// kazoo/recipe/lock.py), before commit a674322, used without blocking. The holder of an inner lock, one at a time,
// takes a lease if there is one.
type KazooSemaphore struct {
	client    recipes.Conn
	path      string
	maxLeases int
	bugs      Bugs

	lock  contender
	lease contender
}

// kazooLockPath is the end of the path of a KazooSemaphore's inner lock.
const kazooLockPath = "-__lock__"

// NewKazooSemaphore returns a semaphore; nothing is sent before it is used.
func NewKazooSemaphore(client recipes.Conn, path string, maxLeases int, bugs Bugs) *KazooSemaphore {
	s := &KazooSemaphore{
		client: client, path: path, maxLeases: maxLeases, bugs: bugs,
		lock:  newContender(client, path+kazooLockPath, "", kazooWriter),
		lease: newContender(client, path, "", ""),
	}
	s.lease.flags = zk.FlagEphemeral
	return s
}

// Acquire waits until a lease is held, in the way of the report: it tries again and again.
func (s *KazooSemaphore) Acquire(ctx context.Context) error {
	if s.bugs.Has("S3") {
		_, err := s.acquireBlocking(ctx, pause)
		return err
	}
	for {
		acquired, err := s.acquire(ctx)
		if acquired || err != nil {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// TryAcquire takes a lease if it can without waiting for others.
func (s *KazooSemaphore) TryAcquire(ctx context.Context) (bool, error) {
	if s.bugs.Has("S3") {
		return s.acquireBlocking(ctx, func(context.Context) error { return errNoLease })
	}
	return s.acquire(ctx)
}

// acquire is the original's acquire(blocking=False).
func (s *KazooSemaphore) acquire(ctx context.Context) (bool, error) {
	for {
		acquired, err := s.innerAcquire(ctx)
		if acquired && err == nil {
			acquired, err = s.lease.keeps(ctx)
			if acquired {
				return true, nil
			}
			if err == nil {
				continue // it has gone with its session
			}
		}
		if errors.Is(err, errForceRetry) {
			continue
		}
		return false, errors.Join(err, s.lease.withdraw())
	}
}

func (s *KazooSemaphore) innerAcquire(ctx context.Context) (acquired bool, err error) {
	defer func() { err = errors.Join(err, s.lock.withdraw()) }()
	gotten, err := s.acquireLock(ctx)
	if err != nil || !gotten {
		return false, err
	}
	return s.getLease(ctx)
}

// acquireLock is Lock.acquire(blocking=False).
func (s *KazooSemaphore) acquireLock(ctx context.Context) (bool, error) {
	if s.lock.path == "" {
		if err := s.lock.enlist(ctx); err != nil {
			return false, s.lock.orWithdraw(err)
		}
	}
	taken := false
	watch, err := s.lock.reachTurn(ctx, rightBefore, func(string) (done bool, err error) {
		taken = true
		return true, s.giveUp()
	})
	if taken {
		return false, err
	}
	return watch != nil && err == nil, s.lock.orWithdraw(err)
}

// giveUp deletes the znode of a lock that another client has.
func (s *KazooSemaphore) giveUp() error {
	err := s.client.Delete(s.lock.path, -1)
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		s.lock.path, s.lock.guid = "", ""
		return nil
	}
	return err
}

// getLease takes a lease if there is one, as long as the inner lock is held.
func (s *KazooSemaphore) getLease(ctx context.Context) (bool, error) {
	if err := surePath(ctx, s.client, s.path); err != nil {
		return false, err
	}
	var children []string
	err := retry(ctx, func() (err error) { children, _, err = s.client.Children(s.path); return err })
	if err == nil && len(children) >= s.maxLeases {
		return false, nil
	}
	if err == nil {
		err = s.lease.enlistUnder(ctx, s.lock.path)
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = errForceRetry // the session has expired, or the directory is gone
	}
	return err == nil, err
}

// Release releases the lease.
func (s *KazooSemaphore) Release(context.Context) error { return s.lease.withdraw() }

var errNoLease = errors.New("no lease")

// acquireBlocking waits for the inner lock, and holds it while others have all leases, unless again is an error.
func (s *KazooSemaphore) acquireBlocking(ctx context.Context, again func(context.Context) error) (bool, error) {
	err := s.lock.waitTurn(ctx, rightBefore) // BUG: S3 also in a try: its holder waits until somebody releases a lease
	for err == nil {
		var got bool
		if got, err = s.getLease(ctx); got {
			return true, s.lock.withdraw()
		}
		if err == nil {
			err = again(ctx)
		}
		if errors.Is(err, errForceRetry) {
			err = s.lock.waitTurn(ctx, rightBefore)
		}
	}
	err = errors.Join(err, s.lock.withdraw(), s.lease.withdraw())
	if errors.Is(err, errNoLease) {
		err = nil
	}
	return false, err
}
