package recipes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// world runs a test in a bubble: timers take no time, and a goroutine that is left at the end,
// after every connection was closed, fails it.
func world(t *testing.T, body func(t *testing.T, servers *goclient.Local)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { body(t, goclient.NewLocal(fakezk.Config{})) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waiter is a call of Lock under way.
type waiter struct {
	*recipes.Lock
	result chan error
	cancel context.CancelFunc
}

func wait(t *testing.T, l *recipes.Lock) *waiter {
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiter{l, make(chan error, 1), cancel}
	go func() { w.result <- l.Lock(ctx) }()
	synctest.Wait()
	return w
}

// granted reports whether Lock has returned nil by now.
func (w *waiter) granted(t *testing.T) bool {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-w.result:
		must(t, err)
		return true
	default:
		return false
	}
}

func closed(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func empty(t *testing.T, servers *goclient.Local) {
	t.Helper()
	synctest.Wait()
	if dump := servers.Dump("/lock"); dump != "/lock \"\"\n" {
		t.Errorf("left behind:\n%s", dump)
	}
}

func TestLockRequests(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := connect(t, servers), connect(t, servers)
		la, lb := recipes.NewLock(a, "/lock"), recipes.NewLock(b, "/lock")
		must(t, la.Lock(t.Context()))
		expect(t, a, `create /lock/lock-A-: node does not exist
			create /lock: ok
			create /lock/lock-A-: ok
			children /lock: ok
			getW /lock/lock-A-0000000000: ok`)
		w := wait(t, lb)
		expect(t, b, `create /lock/lock-A-: ok
			children /lock: ok
			getW /lock/lock-B-0000000000: ok`)
		must(t, la.Unlock(t.Context()))
		expect(t, a, `delete /lock/lock-A-0000000000: ok`)
		if !w.granted(t) {
			t.Fatal("the next in line does not get the lock")
		}
		expect(t, b, `children /lock: ok
			getW /lock/lock-A-0000000001: ok`)
		must(t, lb.Unlock(t.Context()))
		empty(t, servers)
	})
}

// One at a time, in order, waking one at a time, with growing tokens.
func TestLockPassesInOrder(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		var conns []*faulty
		var line []*waiter
		for range 5 {
			conns = append(conns, connect(t, servers))
			line = append(line, wait(t, recipes.NewLock(conns[len(conns)-1], "/lock")))
		}
		token := int64(0)
		for i, w := range line {
			if !w.granted(t) {
				t.Fatalf("%d is first and does not hold the lock", i)
			}
			if w.Token() <= token || !w.Held() {
				t.Errorf("token %d after %d, held %v", w.Token(), token, w.Held())
			}
			token = w.Token()
			for j := i + 1; j < len(line); j++ {
				conns[j].transcript()
				if line[j].granted(t) || line[j].Held() || line[j].Token() != 0 {
					t.Fatalf("%d and %d hold the lock", i, j)
				}
			}
			must(t, w.Unlock(t.Context()))
			synctest.Wait()
			for j := i + 2; j < len(line); j++ {
				if n := conns[j].requests(); n > 0 {
					t.Errorf("the release of %d woke %d, which made %d requests", i, j, n)
				}
			}
		}
		empty(t, servers)
	})
}

// A waiter that gives up leaves nothing, and the one behind it does not take the lock for free
// (bug W18).
func TestLockCancelledWaiter(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := recipes.NewLock(connect(t, servers), "/lock"), recipes.NewLock(connect(t, servers), "/lock")
		c := recipes.NewLock(connect(t, servers), "/lock")
		must(t, a.Lock(t.Context()))
		wb, wc := wait(t, b), wait(t, c)
		wb.cancel()
		if err := <-wb.result; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled Lock: %v", err)
		}
		if wc.granted(t) {
			t.Fatal("two hold the lock")
		}
		must(t, a.Unlock(t.Context()))
		if !wc.granted(t) {
			t.Fatal("the lock is free and its only waiter does not get it")
		}
		if err := b.Unlock(t.Context()); err != recipes.ErrNotHeld {
			t.Errorf("Unlock without a hold: %v", err)
		}
		must(t, c.Unlock(t.Context()))
		empty(t, servers)
	})
}

// Lost requests and replies at every step leave one znode at most and no doubt.
func TestLockLosses(t *testing.T) {
	for _, test := range []struct {
		name, op string
		faults   []fault
	}{
		{"create not carried out", "create", []fault{loseRequest}},
		{"create carried out", "create", []fault{loseReply}},
		{"create twice", "create", []fault{loseRequest, loseReply}},
		{"search for the znode", "sync", []fault{loseReply, loseRequest}},
		{"list", "children", []fault{loseReply, loseRequest, loseReply}},
		{"watch", "getW", []fault{loseReply, loseRequest}},
		{"delete not carried out", "delete", []fault{loseRequest}},
		{"delete carried out", "delete", []fault{loseReply}},
		{"no server", "create", []fault{refuse(zk.ErrNoServer)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				other := recipes.NewLock(connect(t, servers), "/lock")
				must(t, other.Lock(t.Context()))
				conn := connect(t, servers)
				if test.op == "sync" {
					conn.plan("create", loseReply)
				}
				conn.plan(test.op, test.faults...)
				l := recipes.NewLock(conn, "/lock")
				w := wait(t, l)
				must(t, other.Unlock(t.Context()))
				must(t, <-w.result)
				must(t, l.Unlock(t.Context()))
				empty(t, servers)
			})
		})
	}
}

func TestLockExpiryOfHolder(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := connect(t, servers), connect(t, servers)
		la, lb := recipes.NewLock(a, "/lock"), recipes.NewLock(b, "/lock")
		must(t, la.Lock(t.Context()))
		lost, token := la.Lost(), la.Token()
		w := wait(t, lb)
		servers.Disconnect(a.Conn)
		servers.Expire(a.Conn)
		if !w.granted(t) || lb.Token() <= token {
			t.Fatal("the waiter does not get the lock with a greater token")
		}
		if closed(lost) || !la.Held() {
			t.Error("the holder knows what nobody has told it")
		}
		servers.Reconnect(a.Conn)
		if !closed(lost) || la.Held() || !closed(la.Lost()) {
			t.Error("the holder goes on believing after it was told")
		}
		if err := la.Unlock(t.Context()); !errors.Is(err, recipes.ErrLost) {
			t.Errorf("Unlock of a lost lock: %v", err)
		}
		if closed(lb.Lost()) || !lb.Held() {
			t.Error("the second holder lost the lock too")
		}
		again := wait(t, la)
		if again.granted(t) {
			t.Error("two hold the lock")
		}
		must(t, lb.Unlock(t.Context()))
		if !again.granted(t) {
			t.Error("who has lost a lock cannot get it again")
		}
		must(t, la.Unlock(t.Context()))
		empty(t, servers)
	})
}

// A waiter whose session is replaced queues again, at the end.
func TestLockExpiryOfWaiter(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b, c := connect(t, servers), connect(t, servers), connect(t, servers)
		la := recipes.NewLock(a, "/lock")
		must(t, la.Lock(t.Context()))
		wb, wc := wait(t, recipes.NewLock(b, "/lock")), wait(t, recipes.NewLock(c, "/lock"))
		servers.Expire(b.Conn)
		synctest.Wait()
		must(t, la.Unlock(t.Context()))
		if wb.granted(t) || !wc.granted(t) {
			t.Fatal("the waiter with the new session did not go to the end")
		}
		must(t, wc.Unlock(t.Context()))
		if !wb.granted(t) {
			t.Fatal("the waiter with the new session is never granted the lock")
		}
		must(t, wb.Unlock(t.Context()))
		empty(t, servers)
	})
}

// The session is replaced between the create and whatever follows.
func TestLockExpiryDuringLock(t *testing.T) {
	for _, op := range []string{"create", "children", "getW"} {
		t.Run(op, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				c := connect(t, servers)
				l := recipes.NewLock(c, "/lock")
				c.plan(op, then(healthy, func() { servers.Expire(c.Conn) }))
				must(t, l.Lock(t.Context()))
				_, stat, err := c.Conn.Get(only(t, c, "/lock"))
				must(t, err)
				if stat.EphemeralOwner != c.SessionID() || closed(l.Lost()) && l.Held() {
					t.Errorf("held by session 0x%x, which is not 0x%x", stat.EphemeralOwner, c.SessionID())
				}
				must(t, l.Unlock(t.Context()))
				empty(t, servers)
			})
		})
	}
}

func only(t *testing.T, c *faulty, dir string) string {
	t.Helper()
	names, _, err := c.Conn.Children(dir)
	if err != nil || len(names) != 1 {
		t.Fatalf("children of %s: %q, %v; want one", dir, names, err)
	}
	return dir + "/" + names[0]
}

func TestTryLock(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := recipes.NewLock(connect(t, servers), "/lock"), recipes.NewLock(connect(t, servers), "/lock")
		try := func(l *recipes.Lock, want bool) {
			t.Helper()
			if ok, err := l.TryLock(t.Context()); ok != want || err != nil {
				t.Errorf("TryLock = %v, %v, want %v", ok, err, want)
			}
		}
		try(a, true)
		try(b, false)
		must(t, a.Unlock(t.Context()))
		empty(t, servers)
		try(b, true)
		if _, err := b.TryLock(t.Context()); err != recipes.ErrHeld {
			t.Errorf("TryLock of the holder: %v", err)
		}
		must(t, b.Unlock(t.Context()))
		empty(t, servers)
	})
}

// Two locks of one session exclude each other (bug W3).
func TestLockOfOneSession(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		a, b := recipes.NewLock(c, "/lock"), recipes.NewLock(c, "/lock")
		must(t, a.Lock(t.Context()))
		w := wait(t, b)
		if w.granted(t) {
			t.Fatal("two hold the lock")
		}
		if err := b.Lock(t.Context()); err != recipes.ErrHeld {
			t.Errorf("Lock during Lock: %v", err)
		}
		must(t, a.Unlock(t.Context()))
		must(t, <-w.result)
		must(t, b.Unlock(t.Context()))
		empty(t, servers)
	})
}

// A caller is let go although its call hangs, and what the call does later is undone.
func TestLockHangs(t *testing.T) {
	for _, op := range []string{"create", "children", "getW"} {
		t.Run(op, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				c, letGo := connect(t, servers), make(chan struct{})
				l := recipes.NewLock(c, "/lock")
				must(t, l.Lock(t.Context()))
				must(t, l.Unlock(t.Context()))
				c.plan(op, hang(letGo))
				w := wait(t, l)
				w.cancel()
				if err := <-w.result; !errors.Is(err, context.Canceled) {
					t.Errorf("Lock: %v", err)
				}
				before := c.requests()
				again := wait(t, l)
				if c.requests() != before {
					t.Error("two acquisitions of one lock make requests")
				}
				close(letGo)
				must(t, <-again.result)
				only(t, c, "/lock")
				must(t, l.Unlock(t.Context()))
				empty(t, servers)
			})
		})
	}
}

// A release whose caller gives up goes on, and can be waited for.
func TestUnlockHangs(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, letGo := connect(t, servers), make(chan struct{})
		acquired, released := 0, 0
		l := recipes.NewLock(c, "/lock", recipes.WithListener(recipes.LockListener{
			Acquired: func() { acquired++ }, Released: func() { released++ },
		}))
		must(t, l.Lock(t.Context()))
		c.plan("delete", hang(letGo), loseReply)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Unlock(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Unlock: %v", err)
		}
		synctest.Wait()
		if acquired != 1 || released != 0 || l.Held() || l.Token() != 0 {
			t.Errorf("acquired %d, released %d, held %v, token %d during the release",
				acquired, released, l.Held(), l.Token())
		}
		close(letGo)
		must(t, l.Unlock(t.Context()))
		if released != 1 {
			t.Errorf("the listener was told of %d releases", released)
		}
		if err := l.Unlock(t.Context()); err != recipes.ErrNotHeld {
			t.Errorf("third Unlock: %v", err)
		}
		empty(t, servers)
	})
}

func TestLockDirectoryRemoved(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		l := recipes.NewLock(c, "/a/b/lock")
		must(t, l.Lock(t.Context()))
		token, lost := l.Token(), l.Lost()
		must(t, c.Conn.Delete(only(t, c, "/a/b/lock"), -1))
		must(t, c.Conn.Delete("/a/b/lock", -1))
		must(t, c.Conn.Delete("/a/b", -1))
		if !closed(lost) {
			t.Error("somebody deleted the znode and the holder does not know")
		}
		must(t, l.Lock(t.Context()))
		if l.Token() <= token {
			t.Errorf("token %d after %d", l.Token(), token)
		}
		must(t, l.Unlock(t.Context()))
	})
}

// The end of the connection ends everything (the bubble sees to it that no goroutine is left).
func TestLockConnClosed(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := connect(t, servers), connect(t, servers)
		la, lb := recipes.NewLock(a, "/lock"), recipes.NewLock(b, "/lock")
		must(t, la.Lock(t.Context()))
		w := wait(t, lb)
		b.Close()
		if err := <-w.result; !errors.Is(err, recipes.ErrClosed) {
			t.Errorf("Lock when the connection is closed: %v", err)
		}
		if err := lb.Lock(t.Context()); !errors.Is(err, recipes.ErrClosed) {
			t.Errorf("Lock after the connection was closed: %v", err)
		}
		time.Sleep(time.Minute) // of the bubble: the clean-up gives up too
		a.Close()
		if !closed(la.Lost()) {
			t.Error("the holder closed its connection and goes on believing")
		}
		if err := la.Unlock(t.Context()); !errors.Is(err, recipes.ErrLost) {
			t.Errorf("Unlock after the connection was closed: %v", err)
		}
	})
}

func TestLockRefused(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		c.plan("create", refuse(zk.ErrNoAuth))
		l := recipes.NewLock(c, "/lock")
		if err := l.Lock(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("Lock: %v", err)
		}
		c.plan("getW", refuse(zk.ErrNoAuth))
		if err := l.Lock(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("Lock: %v", err)
		}
		empty(t, servers)
		must(t, l.Lock(t.Context()))
		c.plan("delete", refuse(zk.ErrNoAuth))
		if err := l.Unlock(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("Unlock: %v", err)
		}
	})
}

// After a lost create the znode is found, not made again; and it is found too by a caller that
// leaves before it was.
func TestLockFindsItsZnode(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, letGo := connect(t, servers), make(chan struct{})
		l := recipes.NewLock(c, "/lock")
		must(t, c.ensure("/lock"))
		c.plan("create", loseReply)
		must(t, l.Lock(t.Context()))
		expect(t, c, `create /lock/lock-A-: EOF
			multi 1: ok
			children /lock: ok
			exists /lock/lock-A-0000000000: ok
			children /lock: ok
			getW /lock/lock-A-0000000000: ok`)
		must(t, l.Unlock(t.Context()))
		c.plan("create", loseReply)
		c.plan("multi", hang(letGo))
		ctx, cancel := context.WithCancel(t.Context())
		w := &waiter{l, make(chan error, 1), cancel}
		go func() { w.result <- l.Lock(ctx) }()
		time.Sleep(time.Second) // of the bubble: the pause before the search
		cancel()
		if err := <-w.result; !errors.Is(err, context.Canceled) {
			t.Errorf("Lock: %v", err)
		}
		only(t, c, "/lock")
		close(letGo)
		empty(t, servers)
	})
}

func (c *faulty) ensure(path string) error {
	_, err := c.Conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
	return err
}

// A znode that somebody else deletes before the release is a lost lock; one that was deleted by
// the release whose reply was lost is not, unless the session ended meanwhile.
func TestUnlockDoubts(t *testing.T) {
	for _, test := range []struct {
		name string
		plan func(c *faulty, servers *goclient.Local) []fault
		want error
	}{
		{"reply lost", func(*faulty, *goclient.Local) []fault { return []fault{loseReply} }, nil},
		{"expired", func(c *faulty, servers *goclient.Local) []fault {
			return []fault{after(func() { servers.Expire(c.Conn) })}
		}, recipes.ErrLost},
		{"request lost, then expired", func(c *faulty, servers *goclient.Local) []fault {
			return []fault{then(loseRequest, func() { servers.Expire(c.Conn) })}
		}, recipes.ErrLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				c := connect(t, servers)
				l := recipes.NewLock(c, "/lock")
				must(t, l.Lock(t.Context()))
				c.plan("delete", test.plan(c, servers)...)
				if err := l.Unlock(t.Context()); err != test.want {
					t.Errorf("Unlock: %v, want %v", err, test.want)
				}
				empty(t, servers)
			})
		})
	}
}
