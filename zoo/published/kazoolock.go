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
type KazooLock struct{ contender }

// NewKazooLock returns a lock; nothing is sent before it is used.
func NewKazooLock(client recipes.Conn, path string, bugs Bugs) *KazooLock {
	return &KazooLock{newContender(client, path, "", "__lock__-", bugs)}
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
	for {
		names, own, err := l.contenders(ctx)
		if err != nil {
			return false, err
		}
		if own <= 0 { // no predecessor, or ForceRetryError: the own znode is not there
			_, held, err := l.first(ctx, own)
			if held || err != nil {
				return held, err
			}
			continue
		}
		if !blocking {
			return false, nil
		}
		// Otherwise we are in the mix: watch the predecessor and bide our time.
		if err := l.watchPredecessor(ctx, names[own-1]); err != nil {
			return false, err
		}
	}
}

// contenders lists the znodes, the oldest first, and says where the own one is.
func (l *KazooLock) contenders(ctx context.Context) (names []string, own int, err error) {
	if l.bugs.Has("L7") {
		return l.lineByText(ctx) // BUG: L7 after the wrap each newcomer comes before the owner
	}
	return l.line(ctx)
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
