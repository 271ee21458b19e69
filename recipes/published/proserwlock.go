package published

import (
	"context"
	"errors"
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
type ProseRWLock struct {
	client recipes.Conn
	dir    string
	bugs   Bugs
	place  contender
}

// NewProseRWLock returns a lock; nothing is sent before it is used.
func NewProseRWLock(client recipes.Conn, dir string, bugs Bugs) *ProseRWLock {
	return &ProseRWLock{client: client, dir: dir, bugs: bugs}
}

// RLock waits until the lock is held for reading.
func (l *ProseRWLock) RLock(ctx context.Context) error { return l.lock(ctx, proseReader) }

// Lock waits until the lock is held for writing.
func (l *ProseRWLock) Lock(ctx context.Context) error { return l.lock(ctx, proseWriter) }

func (l *ProseRWLock) lock(ctx context.Context, prefix string) error {
	l.place = newContender(l.client, l.dir, prefix)
	err := l.acquire(ctx)
	if err != nil {
		err = errors.Join(err, l.place.withdraw())
	}
	return err
}

func (l *ProseRWLock) acquire(ctx context.Context) error {
	// 1. Create the znode, read- or write-.
	if err := l.place.enlist(ctx); err != nil {
		return err
	}
	for {
		// 2. Is there one in the way, with a smaller number?
		names, own, err := l.place.line(ctx)
		if err != nil {
			return err
		}
		obstacle := ""
		if own > 0 {
			obstacle = l.obstacle(names[:own])
		}
		if obstacle == "" {
			held, err := l.place.first(ctx, min(own, 0)) // whose way is free may as well be first
			if held || err != nil {
				return err
			}
			continue
		}
		// Else wait until it is deleted.
		if err := l.place.awaitDeletion(ctx, obstacle); err != nil {
			return err
		}
		if l.place.prefix == proseReader && l.bugs.Has("LK10") { // BUG: LK10 another writer may have been behind that one: back to 2
			return nil
		}
	}
}

// obstacle is what has to go first, of those before the own znode; "" if nothing has to.
func (l *ProseRWLock) obstacle(before []string) string {
	if l.place.prefix == proseWriter {
		return before[len(before)-1]
	}
	for _, name := range before {
		if strings.HasPrefix(name, proseWriter) {
			return name
		}
	}
	return ""
}

// RUnlock ends the reading.
func (l *ProseRWLock) RUnlock(ctx context.Context) error { return l.place.withdraw() }

// Unlock ends the writing.
func (l *ProseRWLock) Unlock(ctx context.Context) error { return l.place.withdraw() }
