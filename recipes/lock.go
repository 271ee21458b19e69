package recipes

import "context"

// lockPrefix begins the names of a lock's znodes.
const lockPrefix = "lock-"

// Lock is a fair, exclusive lock. After ZooKeeper's recipe "Locks" (ZooKeeper Recipes and Solutions), with the
// changes below.
//
// # Znodes
//
// A contender is an ephemeral sequential znode dir/lock-<guid>-<sequence>, with a fresh guid for each acquisition.
// The contender created first holds the lock. Every other watches the one right before it and looks again when that
// is gone.
//
// # Promises
//
// Exclusion: two clients whose sessions are alive do not hold the lock at the same time. Fairness: grants are made in
// the order in which the contenders' znodes were created. Progress: the lock passes on when it is released, or when
// the holder's session ends. Nothing is left behind: a caller that gives up, and a Lock that fails, remove their
// znode, however long that takes.
//
// What no lock can promise is that a holder knows at once that its session has ended, see the package comment.
// [Lock.Lost] says so as soon as the client learns of it. Give [Lock.Token] to the resource that the lock protects
// and let that refuse smaller tokens than it has seen.
//
// # Cost
//
// Without contention Lock takes three requests (create, list, read with watch) and Unlock one; a waiter adds one for
// the watch and one list after its turn has come. A release wakes the next waiter only. A holder and a waiter keep
// one watch each.
//
// # Errors
//
// After an error of Lock or TryLock the lock is not held. [ErrHeld] means a mistake of the program. Unlock returns
// [ErrLost] when another user may have held the lock before the release: what was done under it must be checked, or
// was guarded by tokens. See [Lock.Unlock] for a context that ends before the release.
//
// # Wrong versions that tempt
//
//   - Waiting for the predecessor with exists, and taking "it is gone" for "it is my turn". A predecessor that was
//     waiting itself may give up; only the list tells who is first. (And the watch that exists leaves on an absent
//     znode never fires.)
//   - Names with the session id instead of a guid. Two locks of one session then adopt each other's znode, and
//     sorting by whole names sorts by session.
//   - Looking for one's znode after a lost create without sync: a server that lags does not show it, and the second
//     znode waits for the first for ever.
//   - Being first in a list of children is not yet a hold: the znode may belong to a session that has just been
//     replaced silently. Here the znode is read once more, and its owner compared.
//   - Deleting a fixed name on release: after an expiry that deletes the successor's lock.
//
// A Lock belongs to one user at a time, although its methods may be called from any goroutine. Several Locks may
// share a connection and a directory.
type Lock struct {
	holder
	data []byte
}

// LockListener is told when a hold begins and ends. Either function may be nil. They are called once for each hold,
// Acquired first, on a goroutine of the Lock: before Lock or TryLock returns, and before Unlock returns or, for a
// lost hold, after Lost was closed. They must be short and must not call Lock, TryLock or Unlock. Released is not
// called when ZooKeeper refuses to delete the znode, since then the lock stays taken.
type LockListener struct {
	Acquired func()
	Released func()
}

// NewLock returns a lock on the directory dir.
func NewLock(conn Conn, dir string, opts ...LockOption) *Lock {
	return newLock(conn, "lock", dir, opts)
}

func newLock(conn Conn, noun, dir string, opts []LockOption) *Lock {
	l := &Lock{holder: newHolder(conn, noun, dir)}
	for _, opt := range opts {
		opt.applyToLock(l)
	}
	return l
}

// Lock waits until the lock is held. It returns nil if so, else see [Lock] for the errors; a context that ends in the
// same moment as the lock is granted may give either result.
func (l *Lock) Lock(ctx context.Context) error {
	_, err := l.acquire(ctx, false)
	return err
}

// TryLock takes the lock if nobody holds it and nobody waits for it, and says whether it did. It never waits for
// other users, but it waits for ZooKeeper.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	return l.acquire(ctx, true)
}

func (l *Lock) acquire(ctx context.Context, try bool) (bool, error) {
	return l.queue(ctx, lockRule, exclusive, try)
}

// lockRule: a contender waits for the one right before it.
var lockRule = rule{prefix: lockPrefix, prefixes: []string{lockPrefix}, before: rightBefore}

// queue acquires by a place in the line of that rule.
func (l *Lock) queue(ctx context.Context, r rule, m mode, try bool) (bool, error) {
	return l.holder.queue(ctx, r, l.data, m, try)
}

// Unlock releases the lock and returns when its znode is gone; a lost reply is no obstacle.
//
// If ctx ends first, the release goes on in the background until it is done, the session ends or the connection is
// closed; the error says so and is the context's. Calling Unlock again waits for it, and so does the next Lock.
func (l *Lock) Unlock(ctx context.Context) error { return l.unlock(ctx, exclusive) }

// Token returns the fencing token of the current hold, positive and greater than that of every hold of this lock
// before it; 0 without a hold.
//
// It is the zxid of the transaction that created the holder's znode. Zxids grow for the life of the ensemble, so it
// makes no difference that the directory was removed and created again, or that the sequence number wrapped. And
// grants are made in the order of that transaction: a contender is granted the lock when a list that contains its own
// znode contains none that was created before, hence when all that were created before are gone for ever.
func (l *Lock) Token() int64 { return l.token() }
