package workload_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// uncounted can be locked again, but does not count.
type uncounted struct{ lock *recipes.Lock }

func (u uncounted) Holds() int { return 1 }

func (u uncounted) Lock(ctx context.Context) error {
	if u.lock.Held() {
		return nil
	}
	return u.lock.Lock(ctx)
}

func (u uncounted) Unlock(ctx context.Context) error { return u.lock.Unlock(ctx) }

func TestReentranceWithoutACount(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return uncounted{recipes.NewLock(c, path)} })
	wantBroken(t, w, world.NoFaults, "exclusion", "holds the lock from")
}

// pair is two locks, taken in an order of each user's own.
type pair struct {
	first, second *recipes.Lock
	forgets       bool // the first when it cannot have the second
}

func newPair(c recipes.Conn, turned, forgets bool) workload.Locker {
	p := pair{recipes.NewLock(c, "/t/lock"), recipes.NewLock(c, "/t/other"), forgets}
	if turned && recipes.NewGUID(c)[0]%2 == 0 {
		p.first, p.second = p.second, p.first
	}
	return p
}

func (p pair) Lock(ctx context.Context) error {
	if err := p.first.Lock(ctx); err != nil {
		return err
	}
	err := p.second.Lock(ctx)
	if err != nil && !p.forgets {
		p.first.Unlock(ctx)
	}
	return err
}

func (p pair) Unlock(ctx context.Context) error {
	err := p.second.Unlock(ctx)
	return cmp.Or(p.first.Unlock(ctx), err)
}

func TestLocksTakenInDifferentOrders(t *testing.T) {
	pairs := func(turned, forgets bool) sim.Workload {
		return workload.Lock(func(c recipes.Conn, _ string) workload.Locker { return newPair(c, turned, forgets) })
	}
	wantClean(t, pairs(false, false), world.NoFaults)
	wantBroken(t, pairs(true, false), world.NoFaults, "deadlock", "behind each other")
	wantBroken(t, pairs(false, true), world.Cancel, "orphan", "session 0x")
}

// fixed is create-and-watch as everybody writes it first: it does not know its own znode again, and
// deletes whatever is there.
type fixed struct{ conn recipes.Conn }

const fixedPath = "/t/lock/holder"

func (f fixed) Lock(ctx context.Context) error {
	for {
		_, err := f.conn.Create(fixedPath, nil, zk.FlagEphemeral, openACL)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			f.conn.Create("/t/lock", nil, zk.FlagPersistent, openACL)
			continue
		case !errors.Is(err, zk.ErrNodeExists):
			continue
		}
		if err := gone(ctx, f.conn, fixedPath); err != nil {
			return err
		}
	}
}

func (f fixed) Unlock(context.Context) error {
	f.conn.Delete(fixedPath, -1)
	return nil
}

// gone waits for the next event of a znode if it exists.
func gone(ctx context.Context, conn recipes.Conn, path string) error {
	_, _, event, err := conn.GetW(path)
	if err != nil {
		return nil
	}
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestFixedZnodeDoneNaively(t *testing.T) {
	newFixed := func(c recipes.Conn, _ string) workload.Locker { return fixed{c} }
	wantClean(t, workload.Lock(newFixed, workload.Unfair()), world.NoFaults)
	wantBroken(t, workload.Lock(newFixed, workload.Unfair()), world.Expiry|world.Pause, "exclusion", "holds the lock from")
	wantBroken(t, workload.Lock(newFixed, workload.Unfair()), world.Loss, "lost-wakeup", "nothing will ever wake it")
}

// queued is a line of contenders without any care for faults; blocker says what a contender waits
// for, given all names in order.
type queued struct {
	conn    recipes.Conn
	dir     string
	order   func(a, b string) int
	blocker func(names []string, own int) int // -1: nobody
	trusts  bool                              // takes the end of the blocker for its own turn
	litters bool                              // leaves its znode when it gives up
	own     string
}

func bySequence(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) }

func (q *queued) enter(ctx context.Context, prefix string) error {
	q.conn.Create(q.dir, nil, zk.FlagPersistent, openACL)
	path, err := q.conn.Create(q.dir+"/"+prefix, nil, zk.FlagEphemeralSequential, openACL)
	if err != nil {
		return err
	}
	q.own = path
	for {
		names, _, err := q.conn.Children(q.dir)
		if err != nil {
			return err
		}
		slices.SortFunc(names, q.order)
		blocker := q.blocker(names, slices.Index(names, path[len(q.dir)+1:]))
		if blocker < 0 {
			return nil
		}
		if err := gone(ctx, q.conn, q.dir+"/"+names[blocker]); err != nil {
			return q.giveUp(err)
		}
		if q.trusts {
			return nil
		}
	}
}

func (q *queued) giveUp(err error) error {
	if !q.litters {
		q.leave()
	}
	return err
}

func (q *queued) leave() error { return q.conn.Delete(q.own, -1) }

// readWrite is a read/write lock on such a line.
type readWrite struct{ queued }

func (l *readWrite) Lock(ctx context.Context) error  { return l.enter(ctx, "write-") }
func (l *readWrite) RLock(ctx context.Context) error { return l.enter(ctx, "read-") }
func (l *readWrite) Unlock(context.Context) error    { return l.leave() }
func (l *readWrite) RUnlock(context.Context) error   { return l.leave() }
func writer(name string) bool                        { return strings.HasPrefix(name, "write-") }
func newReadWrite(change func(*readWrite)) sim.Workload {
	return workload.RWLock(func(c recipes.Conn, _ string) workload.RWLocker {
		l := &readWrite{queued{conn: c, dir: "/t/rwlock", order: bySequence, blocker: lastInTheWay}}
		change(l)
		return l
	})
}

func lastInTheWay(names []string, own int) int {
	for i := own - 1; i >= 0; i-- {
		if writer(names[own]) || writer(names[i]) {
			return i
		}
	}
	return -1
}

// anyWriter waits also for writers that came later (kazoo#649).
func anyWriter(names []string, own int) int {
	for i, name := range names {
		if i != own && writer(name) && !writer(names[own]) {
			return i
		}
	}
	return lastInTheWay(names, own)
}

// firstInTheWay waits for the first of those in the way; with trust in its end that is the recipe's
// text read literally.
func firstInTheWay(names []string, own int) int {
	for i := range own {
		if writer(names[own]) || writer(names[i]) {
			return i
		}
	}
	return -1
}

func TestBrokenReadWriteLocks(t *testing.T) {
	wantClean(t, newReadWrite(func(*readWrite) {}), world.NoFaults)
	wantBroken(t, newReadWrite(func(l *readWrite) { l.trusts, l.blocker = true, firstInTheWay }), world.NoFaults,
		"exclusion", "holds the lock from")
	wantBroken(t, newReadWrite(func(l *readWrite) { l.order = strings.Compare }), world.NoFaults, "exclusion",
		"holds the lock from")
	wantBroken(t, newReadWrite(func(l *readWrite) { l.blocker = anyWriter }), world.NoFaults, "lost-wakeup",
		"nothing will ever wake it")
	wantBroken(t, newReadWrite(func(l *readWrite) { l.litters = true }), world.Cancel, "orphan", "session 0x")
}

// permits is a semaphore on a line of contenders.
type permits struct{ queued }

func (p *permits) Acquire(ctx context.Context) error { return p.enter(ctx, "permit-") }
func (p *permits) Release(context.Context) error     { return p.leave() }

// newPermits is a semaphore of n permits where the workload expects two. A waiter watches one of those that have a permit,
// which may keep its own for long.
func newPermits(n int, change func(*permits), opts ...workload.Option) sim.Workload {
	return workload.Semaphore(2, func(c recipes.Conn, _ string) workload.Permitter {
		p := &permits{queued{conn: c, dir: "/t/semaphore", order: bySequence, blocker: func(_ []string, own int) int {
			return max(own-n, -1)
		}}}
		change(p)
		return p
	}, opts...)
}

func TestBrokenSemaphores(t *testing.T) {
	wantBroken(t, newPermits(2, func(*permits) {}), world.NoFaults, "idle", "although fewer than 2 hold")
	wantClean(t, newPermits(2, func(*permits) {}, workload.Waive("idle")), world.NoFaults)
	wantBroken(t, newPermits(3, func(*permits) {}), world.NoFaults, "exclusion", "while all permits (2) are held")
	wantBroken(t, newPermits(2, func(p *permits) { p.litters = true }), world.Cancel, "orphan", "session 0x")
	wantBroken(t, newPermits(2, func(p *permits) { p.order = func(a, b string) int { return bySequence(b, a) } }),
		world.NoFaults, "order", "was waiting")
}

// A directory that a recipe has just made has not used up any counter, unless the recipe numbers what is below. Then it
// counts on, however often it was made before.
func TestCountersOfANewDirectory(t *testing.T) {
	for _, flags := range []int32{zk.FlagEphemeral, zk.FlagEphemeralSequential} {
		var old, again atomic.Bool
		w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return &cabin{conn: c, dir: path, flags: flags, old: &old, again: &again}
		}, workload.Waive("exclusion", "exclusion-in-session"))
		campaign(t, w, sim.Config{Episodes: 300, Seed: 1, Faults: world.Wrap, NoFaultsAtAll: true, NoShrink: true})
		if old.Load() != (flags == zk.FlagEphemeralSequential) {
			t.Errorf("flags %d: much had been created in a new directory: %v", flags, old.Load())
		}
		if again.Load() {
			t.Errorf("flags %d: a directory has given out a number twice", flags)
		}
	}
}

// cabin makes a directory, and a znode in it for each hold; it excludes nobody.
type cabin struct {
	conn  recipes.Conn
	dir   string
	flags int32
	own   string
	old   *atomic.Bool // whether ever so much had been created in the directory
	again *atomic.Bool // whether ever two znodes of one directory had the same number, not the last one, which stays
}

func (c *cabin) Lock(context.Context) (err error) {
	c.conn.Create(c.dir, nil, 0, openACL)
	c.conn.Delete(c.dir, -1) // if it is empty
	c.conn.Create(c.dir, nil, 0, openACL)
	var names, numbers [2]string
	for i := range names {
		name := c.dir + "/" + recipes.NewGUID(c.conn)
		if names[i], err = c.conn.Create(name, nil, c.flags, openACL); err != nil {
			return err
		}
		numbers[i] = names[i][len(name):]
	}
	c.own = names[1]
	if numbers[0] == numbers[1] && numbers[0] != "" && numbers[0] != "2147483647" {
		c.again.Store(true)
	}
	if _, stat, failed := c.conn.Exists(c.dir); failed == nil && (stat.Cversion < 0 || stat.Cversion > 1000) {
		c.old.Store(true)
	}
	return c.conn.Delete(names[0], -1)
}

func (c *cabin) Unlock(context.Context) error { return c.conn.Delete(c.own, -1) }
