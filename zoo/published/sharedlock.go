package published

import (
	"context"
	"slices"

	"github.com/zktorture/zktorture/recipes"
)

// SharedLock is a read/write lock as ZooKeeper's documentation describes it in "ZooKeeper Recipes and Solutions",
// Shared Locks: a znode's name is a guid, what it is for, and a number.
type SharedLock struct{ contender }

const (
	sharedRead  = "-read-"
	sharedWrite = "-write-"
)

// NewSharedLock returns a lock; nothing is sent before it is used.
func NewSharedLock(client recipes.Conn, locknode string, bugs Bugs) *SharedLock {
	return &SharedLock{newContender(client, locknode, "", "-", bugs)}
}

// RLock waits until the lock is held for reading.
func (l *SharedLock) RLock(ctx context.Context) error { return l.lock(ctx, sharedRead, sharedWrite) }

// Lock waits until the lock is held for writing.
func (l *SharedLock) Lock(ctx context.Context) error { return l.lock(ctx, sharedWrite, "-") }

// lock waits for the next lower znode whose name contains what is in the way.
func (l *SharedLock) lock(ctx context.Context, kind, inTheWay string) error {
	l.infix = kind
	err := l.waitTurn(ctx, func(children []string, own int) string {
		lower := children[:own]
		if l.bugs.Has("R6") { // BUG: R6 names are sorted as texts, which begin with the guid
			sorted := slices.Sorted(slices.Values(children))
			lower = slices.DeleteFunc(sorted, func(name string) bool { return name >= children[own] })
		}
		return lastWith(lower, inTheWay)
	})
	return l.orWithdraw(err)
}
