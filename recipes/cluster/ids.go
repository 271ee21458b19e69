package cluster

import (
	"context"
	"path"
	"strconv"
	"time"

	"github.com/zktorture/zktorture/internal/call"
	"github.com/zktorture/zktorture/recipes"
)

// IDs leases numbers, such as the worker ids of generators of unique ids: each of the numbers from 0 to n-1 to one
// user at a time.
//
// # Znodes
//
// A user first gets one of n permits, by a [recipes.Semaphore] on dir/users, and then a number of which nobody holds
// the [recipes.Lock] on dir/<number>. There are as many permits as numbers, so one is free.
//
// # Promises
//
// No number is leased to two users at the same time whose sessions are alive. A lease ends when it is given back or
// when its user's session ends. So up to n users do not wait for each other; if there are more they wait in line. A
// user whose session has ended may not know it yet: [IDs.Lost] tells as soon as the client learns of it. What is made
// of the number until then may come twice, unless [IDs.Token] is in it.
//
// # Cost
//
// Lease takes three requests for the permit, and as many for each number that it tries. It begins at a number that the
// permit says, so it tries few as long as most are free. Free takes two.
//
// # Errors
//
// As for [recipes.Semaphore].
//
// # Wrong versions that tempt
//
//   - The sequence number of a znode modulo n: after n more users the first one's number comes again.
//   - Persistent znodes, of which nobody can tell whether their owner is dead.
//   - The smallest number that is in no list: others have the same list.
//   - Going on after the session has expired: the number is the next user's.
//
// An IDs belongs to one user at a time.
type IDs struct {
	conn    recipes.Conn
	dir     string
	n       int
	opts    []recipes.LockOption
	permits *recipes.Semaphore
	number  *recipes.Lock // of the last lease
}

// NewIDs returns leases of the numbers from 0 to n-1 on the directory dir. All users have to name the same n.
func NewIDs(conn recipes.Conn, dir string, n int, opts ...recipes.Option) *IDs {
	d := &IDs{conn: conn, dir: dir, n: n, permits: recipes.NewSemaphore(conn, path.Join(dir, "users"), n, opts...)}
	for _, opt := range opts {
		d.opts = append(d.opts, opt)
	}
	d.number = d.lock(0)
	return d
}

func (d *IDs) lock(number int) *recipes.Lock {
	return recipes.NewLock(d.conn, path.Join(d.dir, strconv.Itoa(number)), d.opts...)
}

// Lease waits until a number is leased, and returns it. After an error there is no lease.
func (d *IDs) Lease(ctx context.Context) (int64, error) {
	for {
		if err := d.permits.Acquire(ctx); err != nil {
			return 0, err
		}
		number, err := d.free(ctx)
		if err == nil && !call.IsClosed(d.permits.Lost()) {
			return number, nil
		}
		if d.Free(ctx); err != nil {
			return 0, err
		}
	}
}

// free takes the lock of a number that is free. That all are taken is rare: one was got by a user whose permit was lost
// meanwhile, and who does not know that yet.
func (d *IDs) free(ctx context.Context) (int64, error) {
	first := int(d.permits.Token() % int64(d.n))
	for {
		for i := range d.n {
			number := (first + i) % d.n
			d.number = d.lock(number)
			if got, err := d.number.TryLock(ctx); got || err != nil {
				return int64(number), err
			}
		}
		if err := call.Pause(ctx, d.conn, again); err != nil {
			return 0, err
		}
	}
}

// again is the pause before all numbers are tried again.
const again = 200 * time.Millisecond

// Free gives the number back and returns when it is free, see [recipes.Lock.Unlock].
func (d *IDs) Free(ctx context.Context) error {
	err := d.number.Unlock(ctx)
	if permit := d.permits.Release(ctx); err == nil {
		return permit
	}
	return err
}

// Lost returns a channel that is closed when the lease is known to be lost, see [recipes.Lock.Lost].
func (d *IDs) Lost() <-chan struct{} { return d.number.Lost() }

// Token returns the fencing token of the lease, greater than that of every lease of its number before it; 0 without
// one.
func (d *IDs) Token() int64 { return d.number.Token() }
