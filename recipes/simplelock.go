package recipes

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
)

// SimpleLock is an exclusive lock on one ephemeral znode with a fixed name: the client that creates it holds the lock.
// It is what everybody writes first. There are two, which differ in how they wait: [NewSimpleRetryLock] tries again
// after a pause, [NewSimpleWatchLock] watches the znode and tries again when it is gone. Both are here made correct,
// and their price is stated: [Lock] is better unless one has to share the znode with clients that do it like this.
//
// # Znodes
//
// The lock is path, ephemeral; its data is the guid of the acquisition. Beside it is path-<guid>, ephemeral and
// empty, the holder's proof. Both are created in one multi and deleted in one.
//
// The proof is there because ZooKeeper deletes by name and version only, and a successor's znode has the same name and
// version. A process that sleeps through its expiry and then releases, over a client that has silently opened a new
// session, would delete the lock of the present holder. With the proof in the same multi that fails: it went with the
// session. By its name, which is never used again, it also tells after a lost reply whether the acquisition was made.
//
// # Promises
//
// Exclusion, cleanliness and tokens are as for [Lock]. One must not delete path by hand and leave the proof: the
// holder's release would then delete the successor's lock.
//
// Not promised: an order. A waiter may starve.
//
// # Cost
//
// Two requests to acquire a free lock (multi, read with watch), one to release.
//
//   - Retry: one transaction for each try of each waiter, also if nothing changes, which every server writes to its
//     log although it fails; and up to RetryPolicy.DelayMax of idle time after a release. No wake-ups.
//   - Watch: one release wakes all waiters, and each sends two requests, of which one gets the lock: with n waiters
//     in turn that is n² requests, where [Lock] needs 2n. The herd.
//
// # Errors
//
// As for [Lock].
//
// # Wrong versions that tempt
//
//   - A create that fails because the znode exists, after one whose reply was lost: waiting for one's own znode for
//     ever.
//   - Deleting path with version -1 or 0: see above. A comparison of the data before the delete does not help, since
//     it is another request.
//   - Taking any event of the watch, such as a disconnection, for the release.
//   - Taking the release for the lock: all others were woken too.
//
// A SimpleLock belongs to one user at a time, although its methods may be called from any goroutine. Several may
// share a connection and a path.
type SimpleLock struct {
	holder
	wait func(*spot, context.Context) error
}

// NewSimpleRetryLock returns a lock on the znode path, whose waiters try again after pauses, see [WithRetry].
func NewSimpleRetryLock(conn Conn, path string, opts ...Option) *SimpleLock {
	return newSimpleLock(conn, path, (*spot).sleep, opts)
}

// NewSimpleWatchLock returns a lock on the znode path, whose waiters watch it.
func NewSimpleWatchLock(conn Conn, path string, opts ...Option) *SimpleLock {
	return newSimpleLock(conn, path, (*spot).watch, opts)
}

func newSimpleLock(conn Conn, path string, wait func(*spot, context.Context) error, opts []Option) *SimpleLock {
	return &SimpleLock{newHolder(conn, "lock", path, opts...), wait}
}

// Lock waits until the lock is held. It returns nil if so, else see [Lock] for the errors; a context that ends in the
// same moment as the lock is granted may give either result.
func (l *SimpleLock) Lock(ctx context.Context) error {
	_, err := l.take(ctx, false)
	return err
}

// TryLock takes the lock if nobody holds it, and says whether it did.
func (l *SimpleLock) TryLock(ctx context.Context) (bool, error) { return l.take(ctx, true) }

func (l *SimpleLock) take(ctx context.Context, try bool) (bool, error) {
	return l.acquire(ctx, &spot{link: &l.retryConn, path: l.path, wait: l.wait}, exclusive, try)
}

// Unlock releases the lock and returns when its znode is gone, see [Lock.Unlock].
func (l *SimpleLock) Unlock(ctx context.Context) error { return l.unlock(ctx, exclusive) }

// Token returns the fencing token of the current hold, positive and greater than that of every hold before it; 0
// without a hold. It is the zxid that created the znode, and each hold has one of its own.
func (l *SimpleLock) Token() int64 { return l.token() }

// spot acquires for a contender for one znode.
type spot struct {
	link  *retryConn
	path  string
	wait  func(*spot, context.Context) error
	guid  string // "" until a znode may exist
	tries int
}

// errTaken: another user has the znode.
var errTaken = errors.New("taken")

func (s *spot) contend(ctx context.Context, try bool) (ticket, error) {
	for {
		held, err := s.take(ctx)
		switch {
		case err == errTaken && try:
			return ticket{}, errBusy
		case err == errTaken:
			err = s.wait(s, ctx)
		case err == errDisplaced: // the session was replaced at this moment
			err = s.clear(ctx)
		default:
			return held, err
		}
		if err != nil {
			return ticket{}, err
		}
	}
}

// take creates the znode and its proof, or finds that it did so before, by a request whose reply was lost.
func (s *spot) take(ctx context.Context) (ticket, error) {
	s.guid = NewGUID(s.link.conn)
	failed := -1
	err := s.link.persistBelow(ctx, parent(s.path), func() (err error) { failed, err = s.create(); return })
	switch {
	case err == nil, errors.Is(err, zk.ErrNodeExists) && failed == 0:
		return s.verify(ctx)
	case errors.Is(err, zk.ErrNodeExists):
		return ticket{}, errTaken
	}
	return ticket{}, err
}

func (s *spot) proof() string { return s.path + "-" + s.guid }

// create sends the multi and returns which of its operations failed, -1 for none.
func (s *spot) create() (failed int, err error) {
	return failure(s.link.conn.Multi(
		&zk.CreateRequest{Path: s.proof(), Acl: s.link.settings.ACL, Flags: zk.FlagEphemeral},
		&zk.CreateRequest{Path: s.path, Data: []byte(s.guid), Acl: s.link.settings.ACL, Flags: zk.FlagEphemeral}))
}

func (s *spot) delete() (failed int, err error) {
	return failure(s.link.conn.Multi(
		&zk.DeleteRequest{Path: s.proof(), Version: -1},
		&zk.DeleteRequest{Path: s.path, Version: -1}))
}

// failure returns which operation of a multi failed: the first with an error, as those before it have none.
func failure(results []zk.MultiResponse, err error) (int, error) {
	if err != nil {
		for i, r := range results {
			if r.Error != nil {
				return i, err
			}
		}
	}
	return -1, err
}

// verify reads the znode, which must be the own one: of this acquisition and of the session of this moment.
func (s *spot) verify(ctx context.Context) (ticket, error) {
	held, err := s.link.own(ctx, s.path)
	if err == nil && string(held.data) != s.guid {
		return ticket{}, errDisplaced
	}
	return held, err
}

// leave deletes the znode together with its proof. If only the proof is there, the znode was deleted by hand.
func (s *spot) leave(ctx context.Context) (unsure bool, err error) {
	failed := -1
	unsure, err = s.link.persist(ctx, func() (err error) { failed, err = s.delete(); return })
	if errors.Is(err, zk.ErrNoNode) && failed == 1 {
		s.link.remove(ctx, s.proof())
		return false, err
	}
	return unsure, err
}

func (s *spot) withdraw(ctx context.Context) error {
	if s.guid == "" {
		return nil
	}
	_, err := s.leave(ctx)
	return err
}

// clear removes what an acquisition has made that was displaced.
func (s *spot) clear(ctx context.Context) error {
	if _, err := s.leave(ctx); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}

// sleep pauses, longer from time to time.
func (s *spot) sleep(ctx context.Context) error {
	s.tries++
	return call.Pause(ctx, s.link.conn, s.link.settings.Retry.Delay(s.link.conn, s.tries-1))
}

// watch waits until something happens to the znode.
func (s *spot) watch(ctx context.Context) error {
	taken, err := s.link.look(ctx, lookout{}, s.path)
	if err != nil || taken.missing() {
		return err
	}
	return awaitAny(ctx, &taken)
}
