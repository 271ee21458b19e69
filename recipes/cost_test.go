package recipes_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// What locks cost: how many waiters a release wakes, and how many requests a grant takes. A waiter
// that makes a request after a release was woken.

// call is a call under way.
type call struct {
	result chan error
	cancel context.CancelFunc
}

func begin(t *testing.T, f func(context.Context) error) *call {
	ctx, cancel := context.WithCancel(t.Context())
	c := &call{make(chan error, 1), cancel}
	go func() { c.result <- f(ctx) }()
	synctest.Wait()
	return c
}

// returned reports whether the call has returned nil by now.
func (c *call) returned(t *testing.T) bool {
	t.Helper()
	select {
	case err := <-c.result:
		must(t, err)
		return true
	default:
		return false
	}
}

// user is a lock's user.
type user struct {
	conn *faulty
	lock interface {
		Lock(context.Context) error
		Unlock(context.Context) error
	}
	call *call
}

// kinds are the locks that are compared.
var kinds = []struct {
	name   string
	queued bool // its waiters are woken one at a time
	open   func(*faulty) *user
}{
	{"fair", true, func(c *faulty) *user { return &user{conn: c, lock: recipes.NewLock(c, "/lock")} }},
	{"write", true, func(c *faulty) *user { return &user{conn: c, lock: recipes.NewRWLock(c, "/lock")} }},
	{"watch", false, func(c *faulty) *user { return &user{conn: c, lock: recipes.NewSimpleWatchLock(c, "/lock/it")} }},
	{"retry", false, func(c *faulty) *user { return &user{conn: c, lock: recipes.NewSimpleRetryLock(c, "/lock/it")} }},
}

// cost is what one release costs.
type cost struct{ woken, requests, acquire int }

// crowd has a lock held and so many wait, and measures one release. The next holder is the one that
// has returned by then; pause is for those that sleep.
func crowd(t *testing.T, servers *goclient.Local, open func(*faulty) *user, waiters int, pause time.Duration) cost {
	holder := open(connect(t, servers))
	must(t, holder.lock.Lock(t.Context()))
	var line []*user
	for range waiters {
		u := open(connect(t, servers))
		u.call = begin(t, u.lock.Lock)
		line = append(line, u)
	}
	own := 0
	for _, u := range line {
		own = max(own, u.conn.requests())
		u.conn.transcript()
	}
	must(t, holder.lock.Unlock(t.Context()))
	time.Sleep(pause) // of the bubble
	synctest.Wait()
	c, granted := cost{}, 0
	for _, u := range line {
		n := u.conn.requests()
		c.requests += n
		if n > 0 {
			c.woken++
		}
		if u.call.returned(t) {
			granted++
			c.acquire = own + n
		}
	}
	if granted != 1 {
		t.Errorf("%d of %d waiters were granted the lock", granted, waiters)
	}
	for _, u := range line {
		u.call.cancel()
	}
	synctest.Wait()
	return c
}

// One release of a fair lock wakes one waiter, and a grant takes as many requests, with 2 waiters and
// with 200. The simple locks wake all, and pay for each.
func TestCostOfOneRelease(t *testing.T) {
	for _, kind := range kinds {
		var small, large cost
		measure := func(waiters int, into *cost) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				pauses := map[string]time.Duration{"retry": 4 * time.Second}
				*into = crowd(t, servers, kind.open, waiters, pauses[kind.name])
			})
		}
		measure(2, &small)
		measure(200, &large)
		t.Logf("%s: %+v with 2 waiters, %+v with 200", kind.name, small, large)
		switch {
		case kind.queued && (small.woken != 1 || large.woken != 1 || small.requests != large.requests):
			t.Errorf("%s: one release costs %+v with 2 waiters and %+v with 200", kind.name, small, large)
		case kind.queued && small.acquire != large.acquire:
			t.Errorf("%s: an acquisition takes %d requests behind 1 other and %d behind 199",
				kind.name, small.acquire, large.acquire)
		case !kind.queued && large.woken != 200:
			t.Errorf("%s: wakes %d of 200: its documentation says all", kind.name, large.woken)
		}
	}
}

// BenchmarkRelease passes a lock on through all its waiters: time, and requests, for each grant.
func BenchmarkRelease(b *testing.B) {
	for _, kind := range kinds {
		for _, waiters := range []int{2, 200} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, waiters), func(b *testing.B) {
				requests, grants := 0, 0
				for b.Loop() {
					synctest.Test(&testing.T{}, func(*testing.T) { requests += passOn(b, kind.open, waiters) })
					grants += waiters + 1
				}
				b.ReportMetric(float64(requests)/float64(grants), "requests/grant")
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(grants), "µs/grant")
			})
		}
	}
}

// passOn has one hold the lock until all others wait, lets everybody have it for a second and returns
// how many requests they all made.
func passOn(b *testing.B, open func(*faulty) *user, waiters int) (requests int) {
	servers, ctx := goclient.NewLocal(fakezk.Config{}), context.Background()
	var users []*user
	done := make(chan error, waiters+1)
	for range waiters + 1 {
		c, _, err := servers.Connect(time.Hour)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		users = append(users, open(&faulty{Conn: c, plans: map[string][]fault{}}))
	}
	done <- users[0].lock.Lock(ctx)
	for _, u := range users[1:] {
		go func() {
			err := u.lock.Lock(ctx)
			time.Sleep(time.Second) // of the bubble: the work
			done <- cmp.Or(err, u.lock.Unlock(ctx))
		}()
	}
	synctest.Wait()
	if err := users[0].lock.Unlock(ctx); err != nil {
		b.Fatal(err)
	}
	for range users {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	for _, u := range users {
		requests += u.conn.requests()
	}
	return requests
}

// Reads that are to be current cost a transaction, and with WithSync none; what is looked for after a lost reply does.
func TestWithSync(t *testing.T) {
	lost := func(carryOut func() error) error { carryOut(); return io.EOF }
	world(t, func(t *testing.T, servers *goclient.Local) {
		for _, opts := range [][]recipes.Option{nil, {recipes.WithSync()}} {
			c, ctx := connect(t, servers), t.Context()
			queues, locks := []recipes.QueueOption{}, []recipes.LockOption{}
			for _, o := range opts {
				queues, locks = append(queues, o), append(locks, o)
			}
			group := recipes.NewGroup(c, "/group", "one", locks...)
			for name, read := range map[string]func() error{
				"get":     func() error { _, err := recipes.NewCounter(c, "/counter", opts...).Get(ctx); return err },
				"members": func() error { _, err := group.Members(ctx); return err },
				"leader":  func() error { _, _, err := recipes.NewCandidate(c, "/office", locks...).Leader(ctx); return err },
				"wait":    func() error { return recipes.NewBarrier(c, "/barrier", opts...).Wait(ctx) },
				"peek":    func() error { _, err := recipes.NewQueue(c, "/queue", queues...).Peek(ctx); return err },
				"best":    func() error { _, err := recipes.NewPriorityQueue(c, "/best", queues...).Poll(ctx); return err },
				"claim":   func() error { _, err := recipes.NewLockingQueue(c, "/claims", queues...).TryClaim(ctx); return err },
			} {
				c.transcript()
				if err := read(); err != nil && err != recipes.ErrEmpty && err != recipes.ErrNoLeader {
					t.Errorf("%s: %v", name, err)
				}
				if text := c.transcript(); strings.Contains(text, "multi ") != (opts == nil) || strings.Contains(text, "sync ") == (opts == nil) {
					t.Errorf("%s with %d options asks for\n%s", name, len(opts), text)
				}
			}
			c.plan("create", lost)
			must(t, group.Join(ctx))
			if n := attempts(c, "multi 1"); n != 1 {
				t.Errorf("with %d options a lost znode is looked for after %d transactions", len(opts), n)
			}
			must(t, group.Leave(ctx))
		}
	})
}
