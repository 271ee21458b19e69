package recipes

import (
	"context"
	"strings"
)

// The prefixes of the names of a read/write lock's znodes.
const (
	readPrefix  = "read-"
	writePrefix = "write-"
)

// RWLock is a fair read/write lock: one writer, or any number of readers. After ZooKeeper's recipe "Shared Locks"
// (ZooKeeper Recipes and Solutions), with the changes below.
//
// # Znodes
//
// A contender is an ephemeral sequential znode dir/read-<guid>-<sequence> or dir/write-<guid>-<sequence>, with a
// fresh guid for each acquisition. A writer holds the lock when no contender is before it, a reader when no writer
// is. A writer watches the contender right before it, a reader the last writer before it.
//
// # Promises
//
// Exclusion: while a writer's session is alive and it holds the lock, no other user whose session is alive holds it.
// Fairness: no user is granted the lock before an earlier one that is in its way; so readers cannot starve a writer.
// Progress and cleanliness are as for [Lock].
//
// As with any lock, a holder may not know yet that its session has ended. [RWLock.Token] is greater for a writer than
// for all holders before it, and for a reader than for all writers before it.
//
// # Cost
//
// Without contention three requests to acquire (create, list, read with a watch) and one to release. A waiter adds two
// for each time that it wakes (watch and list): normally once. The release of a writer wakes the readers that waited
// for it, which are granted the lock together, and one writer at most; that of a reader one writer at most.
//
// # Errors
//
// As for [Lock]. Unlock without a write hold and RUnlock without a read hold return [ErrNotHeld].
//
// # Wrong versions that tempt
//
//   - A reader that waits for the lowest writer and, when that goes, takes the lock for its own: another writer may
//     have been between them. (The recipe's text, read literally.)
//   - A reader that waits for writers that came later: they wait for it.
//   - Sorting whole names: all readers come before all writers, whenever they came.
//
// An RWLock belongs to one user at a time, which holds it in one way at a time, although its methods may be called
// from any goroutine. Several may share a connection and a directory.
type RWLock struct{ holder }

// NewRWLock returns a read/write lock on the directory dir.
func NewRWLock(conn Conn, dir string, opts ...Option) *RWLock {
	return &RWLock{newHolder(conn, "read/write lock", dir, opts...)}
}

var bothPrefixes = []string{readPrefix, writePrefix}

// writeRule: a writer waits for the contender right before it, whichever it is.
var writeRule = rule{prefix: writePrefix, prefixes: bothPrefixes, before: rightBefore}

// readRule: a reader waits for the last writer before it.
var readRule = rule{prefix: readPrefix, prefixes: bothPrefixes, before: lastWriter}

func lastWriter(line []member, i int) []member {
	for k := i - 1; k >= 0; k-- {
		if line[k].writes() {
			return line[k : k+1]
		}
	}
	return nil
}

func (m member) writes() bool { return strings.HasPrefix(m.name, writePrefix) }

// Lock waits until the lock is held exclusively. It returns nil if so, else see [Lock] for the errors; a context that
// ends in the same moment as the lock is granted may give either result.
func (l *RWLock) Lock(ctx context.Context) error {
	_, err := l.queue(ctx, writeRule, nil, exclusive, false)
	return err
}

// TryLock takes the lock exclusively if nobody holds it and nobody waits for it, and says whether it did. It never
// waits for other users, but it waits for ZooKeeper.
func (l *RWLock) TryLock(ctx context.Context) (bool, error) {
	return l.queue(ctx, writeRule, nil, exclusive, true)
}

// RLock waits until the lock is held beside other readers.
func (l *RWLock) RLock(ctx context.Context) error {
	_, err := l.queue(ctx, readRule, nil, shared, false)
	return err
}

// TryRLock takes the lock beside other readers if nobody writes and nobody waits to write, and says whether it did.
func (l *RWLock) TryRLock(ctx context.Context) (bool, error) {
	return l.queue(ctx, readRule, nil, shared, true)
}

// Unlock releases an exclusive hold and returns when its znode is gone, see [Lock.Unlock].
func (l *RWLock) Unlock(ctx context.Context) error { return l.unlock(ctx, exclusive) }

// RUnlock releases a hold beside other readers and returns when its znode is gone, see [Lock.Unlock].
func (l *RWLock) RUnlock(ctx context.Context) error { return l.unlock(ctx, shared) }

// Token returns the fencing token of the current hold, positive; 0 without a hold. It is the zxid that created the
// holder's znode, as [Lock.Token] explains.
func (l *RWLock) Token() int64 { return l.token() }
