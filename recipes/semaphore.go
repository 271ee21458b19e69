package recipes

import (
	"context"
	"errors"
)

// permitPrefix begins the names of a semaphore's znodes.
const permitPrefix = "permit-"

// ErrPermits is returned by Acquire and TryAcquire of a semaphore that was made with less than one permit.
var ErrPermits = errors.New("recipes: a semaphore needs at least one permit; pass a positive number to NewSemaphore")

// Semaphore is a fair counting semaphore: at most n of its users hold a permit at the same time, in the order in which
// they came. It is the line of [Lock] with the first n served instead of one; ZooKeeper's own recipes have none.
//
// # Znodes
//
// A contender is an ephemeral sequential znode dir/permit-<guid>-<sequence>, with a fresh guid for each acquisition.
// The first n in line have the n permits. Everybody else watches the n right before it: of these one has left when
// its turn has come, since n that are still there take all permits. All clients have to name the same n.
//
// # Promises
//
// Exclusion: at most n users hold a permit whose sessions are alive. Fairness: permits are granted in the order in
// which the contenders' znodes were created; that two which are granted at the same time return in either order is in
// the nature of things. Progress and cleanliness are as for [Lock]. A user whose session has ended may not know yet,
// see [Lock]; [Semaphore.Token] grows in the order of the grants.
//
// # Cost
//
// With a free permit Acquire takes three requests (create, list, read with watch) and Release one. A waiter adds n for
// its watches, which it keeps, and one list for each time that it wakes, and one watch more if it goes on waiting. A
// release wakes those for whom it is one of the n right before: at most n waiters, however many there are. A line of
// watchers of one predecessor each, as the lock has, would not do: the next in line must wake whichever of the n
// holders releases first. For large n a lock in front of a list of permits wakes fewer and costs twice the requests.
//
// # Errors
//
// As for [Lock], with the names changed; [ErrPermits] for a number of permits below 1.
//
// # Wrong versions that tempt
//
//   - Watching the holder that is n places before, and nobody else: it sleeps on when another of the holders
//     releases, and permits stay unused.
//   - Counting the children and then creating one: between the two somebody else does the same.
//   - A number in a znode that is counted down and up: nobody counts it up for a process that died.
//   - Returning from an error between the creation of the znode and the list: the permit is taken for as long as the
//     session lives (CURATOR-335).
//
// A Semaphore belongs to one user at a time and holds one permit at most, although its methods may be called from any
// goroutine. Several may share a connection and a directory.
type Semaphore struct {
	holder
	permits int
}

// NewSemaphore returns a semaphore with that number of permits on the directory dir.
func NewSemaphore(conn Conn, dir string, permits int, opts ...Option) *Semaphore {
	return &Semaphore{newHolder(conn, "semaphore", dir, opts...), permits}
}

// Acquire waits until a permit is held. It returns nil if so, else see [Lock] for the errors; a context that ends in
// the same moment as the permit is granted may give either result.
func (s *Semaphore) Acquire(ctx context.Context) error {
	_, err := s.take(ctx, false)
	return err
}

// TryAcquire takes a permit if one is free and nobody waits for it, and says whether it did. It never waits for other
// users, but it waits for ZooKeeper.
func (s *Semaphore) TryAcquire(ctx context.Context) (bool, error) {
	return s.take(ctx, true)
}

func (s *Semaphore) take(ctx context.Context, try bool) (bool, error) {
	if s.permits < 1 {
		return false, ErrPermits
	}
	return s.queue(ctx, rule{prefix: permitPrefix, before: s.before}, nil, exclusive, try)
}

// before: the first n have their permits, everybody else waits for the n right before it.
func (s *Semaphore) before(line []member, i int) []member {
	if i < s.permits {
		return nil
	}
	return line[i-s.permits : i]
}

// Release gives the permit back and returns when its znode is gone, see [Lock.Unlock].
func (s *Semaphore) Release(ctx context.Context) error { return s.unlock(ctx, exclusive) }

// Token returns the number of the current grant, positive and greater than that of every contender before it in line;
// 0 without a permit. It is the zxid that created the holder's znode, as [Lock.Token] explains.
func (s *Semaphore) Token() int64 { return s.token() }
