package published

import (
	"context"
	"strings"

	"github.com/zktorture/zktorture/recipes"
)

const (
	proseReader = "read-"
	proseWriter = "write-"
)

// ProseRWLock is the read/write lock that notes on ZooKeeper describe in two steps, after the class
// [Locks]: what a reader does, and that it differs from what is done where there are writers only.
// Of writers the text says no more; here each waits for the one right before it.
type ProseRWLock struct{ contender }

// NewProseRWLock returns a lock; nothing is sent before it is used.
func NewProseRWLock(client recipes.Conn, dir string, bugs Bugs) *ProseRWLock {
	return &ProseRWLock{newContender(client, dir, "", "-", bugs)}
}

// RLock waits until the lock is held for reading.
func (l *ProseRWLock) RLock(ctx context.Context) error { return l.lock(ctx, proseReader) }

// Lock waits until the lock is held for writing.
func (l *ProseRWLock) Lock(ctx context.Context) error { return l.lock(ctx, proseWriter) }

func (l *ProseRWLock) lock(ctx context.Context, prefix string) error {
	l.prefix = prefix // 1. Create the znode, read- or write-.
	return l.orWithdraw(l.waitTurnBy(ctx, l.obstacle, func(name string) (bool, error) {
		err := l.awaitDeletion(ctx, name)
		// BUG: LK10 another writer may have been behind that one: back to 2
		return prefix == proseReader && l.bugs.Has("LK10"), err
	}))
}

// obstacle is what the text waits for in step 2, of those with a smaller number.
func (l *ProseRWLock) obstacle(names []string, own int) string {
	if l.prefix == proseWriter {
		return rightBefore(names, own)
	}
	for _, name := range names[:own] {
		if strings.HasPrefix(name, proseWriter) {
			return name
		}
	}
	return ""
}
