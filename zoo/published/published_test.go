package published_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/zoo/published"
)

// world runs a test in a bubble, which fails it if a goroutine outlives the connections.
func world(t *testing.T, body func(t *testing.T, servers *fakezk.Local)) {
	synctest.Test(t, func(t *testing.T) { body(t, fakezk.NewLocal(fakezk.Config{})) })
}

func connect(t *testing.T, servers *fakezk.Local) *fakezk.Conn {
	c, _, err := servers.Connect(10 * time.Second)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// deaf loses the replies to deletes, or to everything sent while cut is set.
type deaf struct {
	*fakezk.Conn
	loseDelete, cut bool
}

func (c *deaf) Delete(path string, version int32) error {
	if c.cut {
		return zk.ErrConnectionClosed
	}
	err := c.Conn.Delete(path, version)
	if c.loseDelete {
		return zk.ErrConnectionClosed
	}
	return err
}

// writeLock is a lock as it was published.
func writeLock(conn recipes.Conn) *published.WriteLock {
	return published.NewWriteLock(conn, "/lock", nil, nil, published.AllBugs())
}

func lock(t *testing.T, l *published.WriteLock, want bool) {
	t.Helper()
	if got, err := l.Lock(); got != want || err != nil {
		t.Errorf("Lock = %v, %v, want %v", got, err, want)
	}
}

func TestLockerOnAGoodDay(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		a := published.NewLocker(connect(t, servers), "/lock", published.AllBugs())
		b := published.NewLocker(connect(t, servers), "/lock", published.AllBugs())
		must(t, a.Lock(t.Context()))
		got := make(chan error, 1)
		go func() { got <- b.Lock(t.Context()) }()
		synctest.Wait()
		if len(got) != 0 || !a.IsOwner() || b.IsOwner() {
			t.Error("the second waits for the first")
		}
		must(t, a.Unlock(t.Context()))
		must(t, <-got)
		if a.IsOwner() || !b.IsOwner() {
			t.Error("the lock did not pass on")
		}
		must(t, b.Unlock(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		must(t, a.Lock(t.Context()))
		go func() { got <- b.Lock(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled Lock: %v", err)
		}
	})
}

func TestW3OneSessionTwoOwners(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		c := connect(t, servers)
		lock(t, writeLock(c), true)
		lock(t, writeLock(c), true)
	})
}

func TestW4CancelledWaiterComesBack(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		a := writeLock(connect(t, servers))
		b := writeLock(connect(t, servers))
		lock(t, a, true)
		lock(t, b, false)
		must(t, b.Unlock())
		must(t, a.Unlock())
		synctest.Wait()
		if !b.IsOwner() {
			t.Error("the waiter that gave up has not come back")
		}
	})
}

func TestW5ForgottenDelete(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		c := &deaf{Conn: connect(t, servers), cut: true}
		a := writeLock(c)
		lock(t, a, true)
		if err := a.Unlock(); !errors.Is(err, zk.ErrConnectionClosed) {
			t.Errorf("Unlock: %v", err)
		}
		c.cut = false
		must(t, a.Unlock())
		b := writeLock(connect(t, servers))
		lock(t, b, false)
	})
}

func TestW7OwnerAfterExpiry(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		c := connect(t, servers)
		a, b := writeLock(c), writeLock(connect(t, servers))
		lock(t, a, true)
		servers.Expire(c)
		lock(t, b, true)
		if !a.IsOwner() {
			t.Error("isOwner was cleared")
		}
	})
}

func TestW10CloseForgetsTheZnode(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		a, b := writeLock(connect(t, servers)), writeLock(connect(t, servers))
		lock(t, a, true)
		a.Close()
		must(t, a.Unlock())
		lock(t, b, false)
	})
}

func TestQueueOnAGoodDay(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		q := published.NewQueue(connect(t, servers), "/q", published.AllBugs())
		if _, err := q.Poll(t.Context()); err != recipes.ErrEmpty {
			t.Errorf("Poll: %v", err)
		}
		for _, item := range []string{"1", "2", "3"} {
			must(t, q.Offer(t.Context(), []byte(item)))
		}
		peeked, err := q.Peek(t.Context())
		must(t, err)
		polled, err := q.Poll(t.Context())
		must(t, err)
		taken, err := q.Take(t.Context())
		must(t, err)
		if got := string(peeked) + string(polled) + string(taken); got != "112" {
			t.Errorf("peeked, polled and took %s", got)
		}
		got := make(chan string, 2)
		for range 2 {
			go func() {
				data, _ := q.Take(t.Context())
				got <- string(data)
			}()
		}
		synctest.Wait()
		must(t, q.Offer(t.Context(), []byte("4")))
		if a, b := <-got, <-got; a+b != "34" {
			t.Errorf("took %s and %s", a, b)
		}
	})
}

func TestDQ2LostItem(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		c := &deaf{Conn: connect(t, servers), loseDelete: true}
		q := published.NewQueue(c, "/q", published.AllBugs())
		must(t, q.Offer(t.Context(), []byte("1")))
		if _, err := q.Poll(t.Context()); !errors.Is(err, zk.ErrConnectionClosed) {
			t.Errorf("Poll: %v", err)
		}
		if _, err := q.Poll(t.Context()); err != recipes.ErrEmpty {
			t.Errorf("the item was not lost: %v", err)
		}
	})
}

func TestDQ9ConstructorWithoutACL(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		c := connect(t, servers)
		published.NewDistributedQueue(c, "/bad", nil, published.AllBugs())
		published.NewDistributedQueue(c, "/good", zk.WorldACL(zk.PermAll), published.AllBugs())
		for path, want := range map[string]bool{"/bad": false, "/good": true} {
			if got, _, err := c.Exists(path); got != want || err != nil {
				t.Errorf("%s exists: %v, %v", path, got, err)
			}
		}
	})
}

// late deletes the znode that is asked for just before it is asked for.
type late struct {
	*fakezk.Conn
	before func()
}

func (c *late) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	c.before()
	return c.Conn.ExistsW(path)
}

func TestW1LostWakeUp(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		a := writeLock(connect(t, servers))
		lock(t, a, true)
		b := writeLock(&late{connect(t, servers), func() { must(t, a.Unlock()) }})
		lock(t, b, false)
		synctest.Wait()
		if b.IsOwner() {
			t.Error("the free lock was granted after all")
		}
	})
}

func TestW2SmallerSessionGoesFirst(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		small, great := connect(t, servers), connect(t, servers) // their ids follow each other
		a, b := writeLock(great), writeLock(small)
		lock(t, a, true)
		lock(t, b, true)
		if !a.IsOwner() || !b.IsOwner() {
			t.Error("there is one owner")
		}
	})
}
