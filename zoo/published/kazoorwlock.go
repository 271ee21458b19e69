package published

import (
	"context"

	"github.com/zktorture/zktorture/recipes"
)

// KazooRWLock is a read/write lock. After kazoo.recipe.lock.ReadLock and WriteLock, kazoo 2.8 (python-zk/kazoo,
// kazoo/recipe/lock.py), and, where R1 is in force, before commit 9bb8499. The names have a hyphen more.
type KazooRWLock struct{ contender }

const (
	kazooWriter = "__lock__-"
	kazooReader = "__rlock__-"
)

// NewKazooRWLock returns a lock; nothing is sent before it is used.
func NewKazooRWLock(client recipes.Conn, path string, bugs Bugs) *KazooRWLock {
	return &KazooRWLock{newContender(client, path, "", "-", bugs)}
}

// RLock waits until the lock is held for reading.
func (l *KazooRWLock) RLock(ctx context.Context) error {
	return l.acquire(ctx, kazooReader, kazooWriter)
}

// Lock waits until the lock is held for writing.
func (l *KazooRWLock) Lock(ctx context.Context) error {
	return l.acquire(ctx, kazooWriter, kazooWriter, kazooReader)
}

// acquire waits until none of the excluded is before the own znode.
func (l *KazooRWLock) acquire(ctx context.Context, nodeName string, excludeNames ...string) error {
	l.infix = nodeName
	err := l.waitTurn(ctx, func(children []string, index int) string {
		// BUG: R1 a reader looks for its own znode among the writers', and never finds where to stop
		if l.bugs.Has("R1") && nodeName == kazooReader {
			index = len(children)
		}
		return lastWith(children[:index], excludeNames...)
	})
	return l.orWithdraw(err)
}
