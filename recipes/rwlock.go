package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// The prefixes of the names of a read/write lock's znodes.
const (
	readPrefix  = "read-"
	writePrefix = "write-"
)

// RWLock is a fair read/write lock: one writer, or any number of readers. After ZooKeeper's recipes "Shared Locks"
// and "Revocable Shared Locks" (ZooKeeper Recipes and Solutions), with the changes below.
//
// # Znodes
//
// A contender is an ephemeral sequential znode dir/read-<guid>-<sequence> or dir/write-<guid>-<sequence>, with a
// fresh guid for each acquisition. A writer holds the lock when no contender is before it, a reader when no writer
// is. A writer watches the contender right before it, a reader the last writer before it.
//
// The data of a contender is a set of words: "unlock" if it is asked to release ([RWLock.Revoke]), "shared" if a
// writer has become a reader ([RWLock.Downgrade]). A reader that reads "shared" where it wanted to watch has the
// lock: that writer was first in line, so no contender is before it.
//
// # Promises
//
// Exclusion: while a writer's session is alive and it holds the lock, no other user whose session is alive holds it.
// Fairness: no user is granted the lock before an earlier one that is in its way; so readers cannot starve a writer.
// Downgrade without a gap: from the write hold to the read hold no other writer holds the lock. Progress and
// cleanliness are as for [Lock].
//
// As with any lock, a holder may not know yet that its session has ended. [RWLock.Token] is greater for a writer than
// for all holders before it, and for a reader than for all writers before it.
//
// # Cost
//
// Without contention four requests to acquire (create, list, two with a watch on the own znode) and one to release. A
// waiter adds two for each time that it wakes (watch and list): normally once. The release of a writer wakes the
// readers that waited for it, which are granted the lock together, and one writer at most; that of a reader one
// writer at most. A downgrade is four requests (read, conditional write, two watches anew), and wakes the same as a
// release would. Revoke is two (sync, list), two for the first in line, and two for each holder.
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
//   - Downgrading by acquiring the read lock first: the reader queues behind a writer that waits for the hold to be
//     downgraded.
//   - Downgrading by a release and an acquisition: a writer gets in between.
//   - One watch on the own znode, which a request to release it spends: a session that expires before the watch is
//     set again is not noticed.
//
// An RWLock belongs to one user at a time, which holds it in one way at a time, although its methods may be called
// from any goroutine. Several may share a connection and a directory.
type RWLock struct{ holder }

// NewRWLock returns a read/write lock on the directory dir.
func NewRWLock(conn Conn, dir string, opts ...Option) *RWLock {
	l := &RWLock{newHolder(conn, "read/write lock", dir, opts...)}
	l.changes = true
	return l
}

var bothPrefixes = []string{readPrefix, writePrefix}

// writeRule: a writer waits for the contender right before it, whichever it is.
var writeRule = rule{prefix: writePrefix, prefixes: bothPrefixes, flags: true, before: rightBefore}

// readRule: a reader waits for the last writer before it.
var readRule = rule{
	prefix: readPrefix, prefixes: bothPrefixes, flags: true, before: lastWriter,
	yields: func(data []byte) bool { return hasFlag(data, flagShared) },
}

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
// holder's znode, as [Lock.Token] explains; a downgraded hold keeps it.
func (l *RWLock) Token() int64 { return l.token() }

// Downgrade turns an exclusive hold into one beside other readers, to be released by RUnlock. It takes effect when
// ZooKeeper writes "shared" into the holder's znode, whose place in line stays.
//
// [ErrNotHeld] means that there is no exclusive hold, [ErrLost] that it was lost. When ctx ends first the error is
// the context's, the downgrade may go on, and either of Unlock and RUnlock releases the hold. [ErrClosed] is final;
// with any other error ZooKeeper has refused and the hold is still exclusive. After any error Unlock is right.
func (l *RWLock) Downgrade(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a := l.hold()
	if a == nil || !l.turn(a, exclusive, either) {
		return ErrNotHeld
	}
	done := make(chan error, 1)
	change := func() (tell func()) {
		err := l.downgrade(a)
		return func() { done <- err }
	}
	select {
	case a.changes <- change:
	case <-a.ended:
		return l.ended(a)
	case <-ctx.Done():
		l.turn(a, either, exclusive) // nothing was begun
		return ctx.Err()
	}
	select {
	case err := <-done:
		return l.downgraded(a, err)
	case <-a.ended:
		return l.ended(a)
	case <-ctx.Done():
		return fmt.Errorf("recipes: the downgrade of %s %s goes on in the background: %w", l.noun, l.path, ctx.Err())
	}
}

// downgrade is carried out by the goroutine of the hold.
func (l *RWLock) downgrade(a *acquisition) error {
	return l.addFlag(&a.holding, a.acquirer.(*waitQueue).path, flagShared)
}

// downgraded tells its caller how a downgrade went. (Of a caller that has gone away the hold stays one that either
// way of releasing ends.)
func (l *RWLock) downgraded(a *acquisition, err error) error {
	switch {
	case err == nil:
		l.turn(a, either, shared)
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return ErrLost
	case classify(err) == answered:
		l.turn(a, either, exclusive)
		return fmt.Errorf("recipes: ZooKeeper refuses to downgrade %s %s: %w", l.noun, l.path, err)
	}
	return err // ErrClosed, or the context of the hold, which was released meanwhile
}

// turn changes the mode of a hold that has the given one.
func (l *RWLock) turn(a *acquisition, from, to mode) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.mode != from {
		return false
	}
	a.mode = to
	return true
}

// ended says why a hold is over that its user has not released.
func (l *RWLock) ended(a *acquisition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.given {
		return ErrNotHeld
	}
	return a.err
}

// Revoked returns a channel that is closed when the release of the current hold is asked for ([RWLock.Revoke]). The
// holder goes on holding until it releases the lock, which it should do soon. It belongs to one hold; without one,
// the channel is nil, from which nothing ever comes.
func (l *RWLock) Revoked() <-chan struct{} {
	if a := l.hold(); a != nil {
		return a.revocation()
	}
	return nil
}

// Revoke asks those who hold the lock at a moment during this call to release it, this user included. They are told
// by the word "unlock" in the data of their znodes, and decide when to follow: Revoke does not wait for that. To call
// it again does no harm.
func (l *RWLock) Revoke(ctx context.Context) error {
	err := perform(ctx, func(*operation) error { return l.revoke(ctx) })
	return explain(err, "the holders of %s %s cannot be asked to release it", l.noun, l.path)
}

func (l *RWLock) revoke(ctx context.Context) error {
	line, err := l.members(ctx, l.path, l.syncedChildren, bothPrefixes...)
	if err != nil {
		return err
	}
	holders, err := l.holders(ctx, line)
	if err != nil {
		return err
	}
	for _, m := range holders {
		if err := l.addFlag(ctx, join(l.path, m.name), flagUnlock); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return nil
}

// holders returns the contenders in line that hold the lock: the first, and if that is not an exclusive writer, all
// up to the next writer.
func (l *RWLock) holders(ctx context.Context, line []member) ([]member, error) {
	if len(line) == 0 {
		return nil, nil
	}
	if line[0].writes() {
		data, _, err := l.get(ctx, join(l.path, line[0].name))
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, err
		}
		if !hasFlag(data, flagShared) {
			return line[:1], nil
		}
	}
	n := 1
	for n < len(line) && !line[n].writes() {
		n++
	}
	return line[:n], nil
}

// The data of a contender for an [RWLock] is a set of flags, words with spaces between them. Flags are added and
// never taken away, so that to add one again does no harm.
var (
	// flagUnlock asks the holder to release the lock. The name is that of ZooKeeper's recipe "Revocable Shared Locks".
	flagUnlock = []byte("unlock")
	// flagShared says that the holder of a write lock has become a reader.
	flagShared = []byte("shared")
)

func hasFlag(data, flag []byte) bool {
	return slices.ContainsFunc(bytes.Fields(data), func(w []byte) bool { return bytes.Equal(w, flag) })
}

// addFlag adds a flag to a znode whose name is never used again. Others may do so at the same time: the znode's
// version tells.
func (l *retryConn) addFlag(ctx context.Context, path string, flag []byte) error {
	for {
		data, stat, err := l.get(ctx, path)
		if err != nil || hasFlag(data, flag) {
			return err
		}
		with := bytes.Join(append(bytes.Fields(data), flag), []byte(" "))
		_, err = l.persist(ctx, func() error { _, err := l.conn.Set(path, with, stat.Version); return err })
		if !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
	}
}
