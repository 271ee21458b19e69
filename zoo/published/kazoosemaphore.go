package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
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
		lock:  newContender(client, path+kazooLockPath, "", kazooWriter, bugs),
		lease: newContender(client, path, "", "", bugs),
	}
	s.lease.flags = zk.FlagEphemeral
	return s
}

// Acquire waits until a lease is held, in the way of the report: it tries again and again.
func (s *KazooSemaphore) Acquire(ctx context.Context) error {
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
func (s *KazooSemaphore) TryAcquire(ctx context.Context) (bool, error) { return s.acquire(ctx) }

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
	release := func() { err = errors.Join(err, s.lock.withdraw()) }
	if !s.bugs.Has("S2") { // BUG: S2 only what was acquired is released; the znode of a lock that was not stays
		defer release()
	}
	gotten, err := s.acquireLock(ctx)
	if err != nil || !gotten {
		return false, err
	}
	if s.bugs.Has("S2") {
		defer release()
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
	for {
		_, index, err := s.lock.line(ctx)
		if err != nil {
			return false, s.lock.orWithdraw(err)
		}
		if index > 0 {
			return false, s.giveUp()
		}
		_, held, err := s.lock.first(ctx, index)
		if held || err != nil {
			return held, s.lock.orWithdraw(err)
		}
	}
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
