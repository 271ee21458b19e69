package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

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
	synctest.Wait()
	select {
	case err := <-c.result:
		must(t, err)
		return true
	default:
		return false
	}
}

func wants(t *testing.T, what string, got, want bool) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v", what, got)
	}
}

func TestReentrantLockCounts(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := connect(t, servers), connect(t, servers)
		owner, other := recipes.NewReentrantLock(a, "/lock"), recipes.NewLock(b, "/lock")
		must(t, owner.Lock(t.Context()))
		before := a.requests()
		must(t, owner.Lock(t.Context()))
		got, err := owner.TryLock(t.Context())
		must(t, err)
		wants(t, "TryLock inside", got, true)
		w := wait(t, other)
		for holds := 3; holds > 1; holds-- {
			if owner.Holds() != holds || w.granted(t) || a.requests() != before {
				t.Fatalf("%d holds of %d, %d requests", owner.Holds(), holds, a.requests()-before)
			}
			must(t, owner.Unlock(t.Context()))
		}
		must(t, owner.Unlock(t.Context()))
		wants(t, "granted after the outer release", w.granted(t), true)
		if err := owner.Unlock(t.Context()); err != recipes.ErrNotHeld {
			t.Errorf("a fourth Unlock: %v", err)
		}
		must(t, other.Unlock(t.Context()))
		empty(t, servers)
	})
}

// Whoever finds the hold lost does not get in, and gets out of everything with ErrLost.
func TestReentrantLockLost(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a := connect(t, servers)
		owner := recipes.NewReentrantLock(a, "/lock")
		must(t, owner.Lock(t.Context()))
		must(t, owner.Lock(t.Context()))
		servers.Expire(a.Conn)
		wants(t, "lost", closed(owner.Lost()), true)
		for _, err := range []error{owner.Lock(t.Context()), owner.Unlock(t.Context()), owner.Unlock(t.Context())} {
			if !errors.Is(err, recipes.ErrLost) {
				t.Errorf("of a lost lock: %v", err)
			}
		}
		must(t, owner.Lock(t.Context()))
		must(t, owner.Unlock(t.Context()))
		empty(t, servers)
	})
}

// Two goroutines of one owner wait for one acquisition.
func TestReentrantLockOfTwoGoroutines(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		holder := recipes.NewLock(connect(t, servers), "/lock")
		owner := recipes.NewReentrantLock(connect(t, servers), "/lock")
		must(t, holder.Lock(t.Context()))
		first, second, third := begin(t, owner.Lock), begin(t, owner.Lock), begin(t, owner.Lock)
		third.cancel()
		if err := <-third.result; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		must(t, holder.Unlock(t.Context()))
		if !first.returned(t) || !second.returned(t) || owner.Holds() != 2 {
			t.Errorf("%d holds", owner.Holds())
		}
		must(t, owner.Unlock(t.Context()))
		must(t, owner.Unlock(t.Context()))
		empty(t, servers)
	})
}

// All or none: what a call got before it failed is given back, also if that takes longer.
func TestMultiLockAllOrNone(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := connect(t, servers), connect(t, servers)
		m := recipes.NewMultiLock(a, []string{"/l/c", "/l/a", "/l/b", "/l/a"})
		last, first := recipes.NewLock(b, "/l/c"), recipes.NewLock(b, "/l/a")
		must(t, last.Lock(t.Context()))
		got, err := m.TryLock(t.Context())
		must(t, err)
		wants(t, "TryLock with one taken", got, false)
		wants(t, "Lost without a hold", closed(m.Lost()), true)
		w := begin(t, m.Lock)
		if err := m.Lock(t.Context()); err != recipes.ErrHeld {
			t.Errorf("Lock during Lock: %v", err)
		}
		wf := wait(t, first)
		wants(t, "the first is free while the last is waited for", wf.granted(t), false)
		a.plan("delete", loseRequest, loseReply)
		w.cancel()
		if err := <-w.result; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		time.Sleep(time.Second) // of the bubble: the pauses between the attempts
		wants(t, "the first is free", wf.granted(t), true)
		must(t, first.Unlock(t.Context()))
		must(t, last.Unlock(t.Context()))
		must(t, m.Lock(t.Context()))
		x, y, z := m.Token("/l/a"), m.Token("/l/b"), m.Token("/l/c")
		if x == 0 || x >= y || y >= z || m.Token("/l/d") != 0 {
			t.Errorf("tokens %d %d %d: not acquired in order", m.Token("/l/a"), m.Token("/l/b"), m.Token("/l/c"))
		}
		must(t, m.Unlock(t.Context()))
		if err := m.Unlock(t.Context()); err != recipes.ErrNotHeld {
			t.Errorf("Unlock without a hold: %v", err)
		}
		if dump := servers.Dump("/l"); dump != "/l \"\"\n/l/a \"\"\n/l/b \"\"\n/l/c \"\"\n" {
			t.Errorf("left behind:\n%s", dump)
		}
	})
}

func TestMultiLockLost(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a := connect(t, servers)
		m := recipes.NewMultiLock(a, []string{"/l/a", "/l/b"})
		must(t, m.Lock(t.Context()))
		lost := m.Lost()
		wants(t, "lost", closed(lost), false)
		names, _, err := a.Conn.Children("/l/b")
		must(t, err)
		must(t, a.Conn.Delete("/l/b/"+names[0], -1))
		wants(t, "lost", closed(lost), true)
		if err := m.Unlock(t.Context()); !errors.Is(err, recipes.ErrLost) {
			t.Errorf("Unlock: %v", err)
		}
	})
}

// script plays read/write locks: each user has a letter; "a:W" calls Lock, "a:R" RLock, "a:w" Unlock,
// "a:r" RUnlock, "a:D" Downgrade, "a:x" gives up. It returns after each the users that hold it.
func rwScript(t *testing.T, servers *goclient.Local, script string) string {
	locks, calls := map[string]*recipes.RWLock{}, map[string]*call{}
	held, out := map[string]bool{}, []string{}
	for _, word := range strings.Fields(script) {
		who, what, _ := strings.Cut(word, ":")
		if locks[who] == nil {
			locks[who] = recipes.NewRWLock(connect(t, servers), "/lock")
		}
		l := locks[who]
		switch what {
		case "W":
			calls[who] = begin(t, l.Lock)
		case "R":
			calls[who] = begin(t, l.RLock)
		case "x":
			calls[who].cancel()
			<-calls[who].result
			delete(calls, who)
		case "D":
			must(t, l.Downgrade(t.Context()))
		case "w", "r":
			must(t, map[string]func(context.Context) error{"w": l.Unlock, "r": l.RUnlock}[what](t.Context()))
			delete(held, who)
		}
		var now string
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if c := calls[name]; c != nil && c.returned(t) {
				held[name] = true
				delete(calls, name)
			}
			if held[name] {
				now += name
			}
		}
		out = append(out, word+"="+now)
	}
	return strings.Join(out, " ")
}

func TestRWLockOrder(t *testing.T) {
	for name, want := range map[string]string{
		"readers together":                  "a:R=a b:R=ab a:r=b b:r=",
		"a writer alone":                    "a:W=a b:R=a c:R=a d:W=a a:w=bc b:r=c c:r=d d:w=",
		"a reader does not pass a writer":   "a:R=a b:W=a c:R=a a:r=b b:w=c c:r=",
		"a writer gives up":                 "a:R=a b:W=a c:R=a b:x=ac a:r=c c:r=",
		"between two writers (LK10)":        "a:W=a b:W=a c:R=a a:w=b b:w=c c:r=",
		"a downgrade lets readers in":       "a:W=a b:R=a c:W=a d:R=a a:D=ab a:r=b b:r=c c:w=d d:r=",
		"a downgrade lets late readers in":  "a:W=a a:D=a b:R=ab c:W=ab a:r=b b:r=c c:w=",
		"a downgrade keeps writers waiting": "a:W=a b:W=a a:D=a a:r=b b:w=",
	} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				var script []string
				for _, step := range strings.Fields(want) {
					word, _, _ := strings.Cut(step, "=")
					script = append(script, word)
				}
				if got := rwScript(t, servers, strings.Join(script, " ")); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
				empty(t, servers)
			})
		})
	}
}

func TestRWLockTries(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := recipes.NewRWLock(connect(t, servers), "/lock"), recipes.NewRWLock(connect(t, servers), "/lock")
		try := func(f func(context.Context) (bool, error), want bool) {
			t.Helper()
			got, err := f(t.Context())
			must(t, err)
			wants(t, "granted", got, want)
		}
		try(a.TryLock, true)
		try(b.TryLock, false)
		try(b.TryRLock, false)
		must(t, a.Downgrade(t.Context()))
		try(b.TryLock, false)
		try(b.TryRLock, true)
		for _, err := range []error{a.Unlock(t.Context()), a.Downgrade(t.Context()), b.Downgrade(t.Context())} {
			if err != recipes.ErrNotHeld {
				t.Errorf("of a reader: %v", err)
			}
		}
		must(t, a.RUnlock(t.Context()))
		must(t, b.RUnlock(t.Context()))
		empty(t, servers)
	})
}

// A downgrade survives lost requests and replies; one that its caller leaves may be released either way.
func TestRWLockDowngradeLosses(t *testing.T) {
	for _, losses := range [][]fault{{loseRequest}, {loseReply}, {loseReply, loseRequest, loseReply}} {
		world(t, func(t *testing.T, servers *goclient.Local) {
			c := connect(t, servers)
			l, reader := recipes.NewRWLock(c, "/lock"), recipes.NewRWLock(connect(t, servers), "/lock")
			must(t, l.Lock(t.Context()))
			token := l.Token()
			c.plan("set", losses...)
			must(t, l.Downgrade(t.Context()))
			must(t, reader.RLock(t.Context()))
			if l.Token() != token || reader.Token() <= token {
				t.Errorf("tokens %d, %d after %d", l.Token(), reader.Token(), token)
			}
			must(t, l.RUnlock(t.Context()))
			must(t, reader.RUnlock(t.Context()))
			empty(t, servers)
		})
	}
	for _, unlock := range []func(*recipes.RWLock, context.Context) error{
		(*recipes.RWLock).Unlock, (*recipes.RWLock).RUnlock,
	} {
		world(t, func(t *testing.T, servers *goclient.Local) {
			c, letGo := connect(t, servers), make(chan struct{})
			l := recipes.NewRWLock(c, "/lock")
			must(t, l.Lock(t.Context()))
			c.plan("set", hang(letGo))
			d := begin(t, l.Downgrade)
			d.cancel()
			if err := <-d.result; !errors.Is(err, context.Canceled) {
				t.Errorf("Downgrade: %v", err)
			}
			close(letGo)
			synctest.Wait()
			must(t, unlock(l, t.Context()))
			empty(t, servers)
		})
	}
}

// After a downgrade and a release whose callers gave up, the other release is a retry: it succeeds although the
// first has taken effect, and somebody else writes by now. Model linearizability.RWLock excuses that.
func TestRWLockRetriesTheOtherRelease(t *testing.T) {
	unlocks := []func(*recipes.RWLock, context.Context) error{(*recipes.RWLock).Unlock, (*recipes.RWLock).RUnlock}
	for i := range unlocks {
		world(t, func(t *testing.T, servers *goclient.Local) {
			c, letGo := connect(t, servers), make(chan struct{})
			l, other := recipes.NewRWLock(c, "/lock"), recipes.NewRWLock(connect(t, servers), "/lock")
			must(t, l.Lock(t.Context()))
			c.plan("set", hang(letGo))
			for _, f := range []func(context.Context) error{
				l.Downgrade, func(ctx context.Context) error { return unlocks[i](l, ctx) },
			} {
				waits := begin(t, f)
				waits.cancel()
				if err := <-waits.result; !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
			}
			close(letGo)
			synctest.Wait()
			must(t, other.Lock(t.Context()))
			must(t, unlocks[1-i](l, t.Context()))
			must(t, other.Unlock(t.Context()))
			empty(t, servers)
		})
	}
}

// Revoke tells the holders, and not those who wait or come later.
func TestRWLockRevoke(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := recipes.NewRWLock(connect(t, servers), "/lock"), recipes.NewRWLock(connect(t, servers), "/lock")
		w, late := recipes.NewRWLock(connect(t, servers), "/lock"), recipes.NewRWLock(connect(t, servers), "/lock")
		must(t, w.Revoke(t.Context())) // nobody
		must(t, a.Lock(t.Context()))
		wants(t, "asked", closed(a.Revoked()), false)
		must(t, a.Downgrade(t.Context()))
		must(t, b.RLock(t.Context()))
		cw, cl := begin(t, w.Lock), begin(t, late.RLock)
		must(t, late.Revoke(t.Context()))
		must(t, late.Revoke(t.Context()))
		wants(t, "a is asked", closed(a.Revoked()), true)
		wants(t, "b is asked", closed(b.Revoked()), true)
		must(t, a.RUnlock(t.Context()))
		must(t, b.RUnlock(t.Context()))
		wants(t, "w is granted", cw.returned(t), true)
		wants(t, "w is asked", closed(w.Revoked()), false)
		must(t, w.Revoke(t.Context()))
		wants(t, "w is asked", closed(w.Revoked()), true)
		must(t, w.Unlock(t.Context()))
		wants(t, "late is granted", cl.returned(t), true)
		wants(t, "late is asked", closed(late.Revoked()), false)
		must(t, late.RUnlock(t.Context()))
		if late.Revoked() != nil {
			t.Error("a channel without a hold")
		}
		empty(t, servers)
	})
}

// A request to release spends a watch; the end of the session is noticed all the same, at once.
func TestRWLockLostAfterRevoke(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, other := connect(t, servers), recipes.NewRWLock(connect(t, servers), "/lock")
		l := recipes.NewRWLock(c, "/lock")
		must(t, l.Lock(t.Context()))
		c.plan("getW", loseRequest, loseRequest, loseRequest, loseRequest)
		must(t, other.Revoke(t.Context()))
		synctest.Wait()
		servers.Expire(c.Conn)
		wants(t, "lost", closed(l.Lost()), true)
		if err := l.Unlock(t.Context()); !errors.Is(err, recipes.ErrLost) {
			t.Errorf("Unlock: %v", err)
		}
		empty(t, servers)
	})
}

// Permits go in order, to whoever is next when any of the holders releases.
func TestSemaphoreOrder(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		var users []*recipes.Semaphore
		var calls []*call
		for range 6 {
			users = append(users, recipes.NewSemaphore(connect(t, servers), "/lock", 3))
			calls = append(calls, begin(t, users[len(users)-1].Acquire))
		}
		holders := func() (held []int) {
			for i, u := range users {
				if u.Held() {
					held = append(held, i)
				}
			}
			return held
		}
		for _, step := range []struct {
			release int
			held    []int
		}{{-1, []int{0, 1, 2}}, {1, []int{0, 2, 3}}, {2, []int{0, 3, 4}}, {0, []int{3, 4, 5}}, {5, []int{3, 4}}} {
			if step.release >= 0 {
				must(t, users[step.release].Release(t.Context()))
			}
			synctest.Wait()
			if got := holders(); !slices.Equal(got, step.held) {
				t.Fatalf("after the release of %d: %v hold a permit, want %v", step.release, got, step.held)
			}
		}
		for i, c := range calls {
			if !c.returned(t) {
				t.Errorf("%d still waits", i)
			}
		}
		must(t, users[3].Release(t.Context()))
		must(t, users[4].Release(t.Context()))
		if err := users[4].Release(t.Context()); err != recipes.ErrNotHeld {
			t.Errorf("Release without a permit: %v", err)
		}
		none := recipes.NewSemaphore(connect(t, servers), "/lock", 0)
		if err := none.Acquire(t.Context()); err != recipes.ErrPermits {
			t.Errorf("a semaphore without permits: %v", err)
		}
		empty(t, servers)
	})
}

// simple are the two kinds of simple lock.
var simple = map[string]func(recipes.Conn, string, ...recipes.Option) *recipes.SimpleLock{
	"retry": recipes.NewSimpleRetryLock, "watch": recipes.NewSimpleWatchLock,
}

func TestSimpleLockLosses(t *testing.T) {
	for kind, newLock := range simple {
		for _, losses := range [][]fault{
			{loseRequest}, {loseReply}, {loseReply, loseRequest}, {loseRequest, loseReply, loseReply},
		} {
			t.Run(fmt.Sprint(kind, len(losses)), func(t *testing.T) {
				world(t, func(t *testing.T, servers *goclient.Local) {
					c := connect(t, servers)
					l, other := newLock(c, "/lock/it"), newLock(connect(t, servers), "/lock/it")
					c.plan("multi", losses...)
					must(t, l.Lock(t.Context()))
					got, err := other.TryLock(t.Context())
					must(t, err)
					wants(t, "another gets it", got, false)
					w := begin(t, other.Lock)
					token := l.Token()
					c.plan("multi", losses...)
					must(t, l.Unlock(t.Context()))
					time.Sleep(time.Minute)
					wants(t, "the next gets it", w.returned(t), true)
					if other.Token() <= token || token == 0 {
						t.Errorf("token %d after %d", other.Token(), token)
					}
					must(t, other.Unlock(t.Context()))
					empty(t, servers)
				})
			})
		}
	}
}

// A holder that releases after its session has ended does not delete its successor's lock (bug ZL5).
func TestSimpleLockOfASuccessorStays(t *testing.T) {
	for kind, newLock := range simple {
		t.Run(kind, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				c := connect(t, servers)
				l, successor := newLock(c, "/lock/it"), newLock(connect(t, servers), "/lock/it")
				must(t, l.Lock(t.Context()))
				c.plan("multi", after(func() {
					servers.Expire(c.Conn)
					must(t, successor.Lock(t.Context()))
				}))
				if err := l.Unlock(t.Context()); !errors.Is(err, recipes.ErrLost) {
					t.Errorf("Unlock: %v", err)
				}
				wants(t, "the successor has lost it", closed(successor.Lost()), false)
				must(t, successor.Unlock(t.Context()))
				empty(t, servers)
			})
		})
	}
}

// Whoever gives up leaves nothing, even if its request is carried out afterwards.
func TestSimpleLockGivenUp(t *testing.T) {
	for kind, newLock := range simple {
		t.Run(kind, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				c, letGo := connect(t, servers), make(chan struct{})
				l := newLock(c, "/lock/it")
				must(t, l.Lock(t.Context()))
				must(t, l.Unlock(t.Context()))
				c.plan("multi", hang(letGo))
				w := begin(t, l.Lock)
				w.cancel()
				if err := <-w.result; !errors.Is(err, context.Canceled) {
					t.Errorf("Lock: %v", err)
				}
				close(letGo)
				synctest.Wait()
				empty(t, servers)
			})
		})
	}
}

// Flags are added to what is there, each once, and being asked is told once.
func TestRWLockWords(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		l := recipes.NewRWLock(c, "/lock")
		must(t, l.Lock(t.Context()))
		must(t, l.Revoke(t.Context()))
		must(t, l.Revoke(t.Context()))
		must(t, l.Downgrade(t.Context()))
		wants(t, "asked", closed(l.Revoked()), true)
		wants(t, "lost", closed(l.Lost()), false)
		names, _, err := c.Conn.Children("/lock")
		must(t, err)
		data, _, err := c.Conn.Get("/lock/" + names[0])
		must(t, err)
		if string(data) != "unlock shared" {
			t.Errorf("the znode says %q", data)
		}
		must(t, l.RUnlock(t.Context()))
		empty(t, servers)
	})
}
