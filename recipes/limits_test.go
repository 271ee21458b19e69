package recipes_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// vanishMax is how often recipes put up with a directory that is gone again.
const vanishMax = 32

// vanishing plans that the znode in the directory can never be created, and the directory always.
func vanishing(c *faulty) {
	var plan []fault
	for range 2 * vanishMax {
		plan = append(plan, refuse(zk.ErrNoNode), healthy)
	}
	c.plan("create", plan...)
}

// attempts counts the requests that begin so.
func attempts(c *faulty, request string) int { return strings.Count("\n"+c.transcript(), "\n"+request) }

func TestDirectoryVanishesAlways(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, c recipes.Conn) error{
		"lock":  func(t *testing.T, c recipes.Conn) error { return recipes.NewLock(c, "/d").Lock(t.Context()) },
		"queue": func(t *testing.T, c recipes.Conn) error { return recipes.NewQueue(c, "/d").Offer(t.Context(), nil) },
		"priorityqueue": func(t *testing.T, c recipes.Conn) error {
			return recipes.NewPriorityQueue(c, "/d").Offer(t.Context(), 1, nil)
		},
	} {
		world(t, func(t *testing.T, servers *goclient.Local) {
			c := connect(t, servers)
			vanishing(c)
			if err := use(t, c); !errors.Is(err, zk.ErrNoNode) {
				t.Errorf("%s: %v", name, err)
			}
			if got := attempts(c, "create /d/"); got != vanishMax {
				t.Errorf("%s: %d attempts", name, got)
			}
		})
	}
}

// The note of a queue with receipts may vanish as often.
func TestNoteVanishesAlways(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		q := recipes.NewQueue(c, "/q", recipes.WithReceipts())
		offer(t, q, "1")
		c.transcript()
		var plan []fault
		for range 2 * vanishMax {
			plan = append(plan, after(func() {
				names, _, err := c.Conn.Children("/q")
				must(t, err)
				for _, name := range names {
					if !strings.HasPrefix(name, "qn-") {
						must(t, c.Conn.Delete("/q/"+name, -1))
					}
				}
			}))
		}
		c.plan("multi", plan...)
		if err := q.Offer(t.Context(), []byte("2")); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("%v", err)
		}
		if got := attempts(c, "multi"); got != vanishMax {
			t.Errorf("%d attempts", got)
		}
	})
}

// An item that somebody else has taken is not a note that is gone: the note stays.
func TestReceiptsOfAnItemThatIsGone(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		q := recipes.NewQueue(c, "/q", recipes.WithReceipts())
		offer(t, q, "1", "2")
		c.transcript()
		c.plan("multi", after(func() {
			_, err := recipes.NewQueue(connect(t, servers), "/q").Poll(t.Context())
			must(t, err)
		}))
		data, err := q.Poll(t.Context())
		must(t, err)
		if string(data) != "2" {
			t.Errorf("got %s", data)
		}
		if got := attempts(c, "create"); got != 0 {
			t.Errorf("%d new notes", got)
		}
	})
}

func TestSemaphoreOfOne(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		s := recipes.NewSemaphore(connect(t, servers), "/s", 1)
		must(t, s.Acquire(t.Context()))
		must(t, s.Release(t.Context()))
	})
}

// Of no locks one holds all at once, and gives them back.
func TestMultiLockOfNone(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		m := recipes.NewMultiLock(connect(t, servers), nil)
		must(t, m.Lock(t.Context()))
		must(t, m.Unlock(t.Context()))
	})
}

// A lock that was released was not lost.
func TestMultiLockReleasedIsNotLost(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		m := recipes.NewMultiLock(connect(t, servers), []string{"/l/a"})
		must(t, m.Lock(t.Context()))
		lost := m.Lost()
		must(t, m.Unlock(t.Context()))
		if closed(lost) {
			t.Error("released, and said to be lost")
		}
	})
}

// A name that is as long as a priority and no longer is no item.
func TestPriorityQueueShortestName(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		q := recipes.NewPriorityQueue(c, "/q")
		must(t, q.Offer(t.Context(), 7, []byte("mine")))
		_, err := c.Conn.Create("/q/pq-00000000", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		must(t, err)
		if got := drainPriorities(t, q); got != "mine" {
			t.Errorf("got %s", got)
		}
	})
}

// Whoever tries again and again does so less and less often.
func TestSimpleRetryLockPauses(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		must(t, recipes.NewSimpleRetryLock(connect(t, servers), "/l").Lock(t.Context()))
		c := connect(t, servers)
		policy := recipes.RetryPolicy{DelayMin: 100 * time.Millisecond, DelayMax: 400 * time.Millisecond}
		w := begin(t, recipes.NewSimpleRetryLock(c, "/l", recipes.WithRetry(policy)).Lock)
		for _, step := range []struct {
			after time.Duration
			tries int
		}{{50, 1}, {100, 1}, {200, 1}, {400, 1}, {400, 1}, {400, 1}} {
			time.Sleep(step.after * time.Millisecond)
			if got := attempts(c, "multi"); got != step.tries {
				t.Errorf("%d attempts in %d ms, want %d", got, step.after, step.tries)
			}
		}
		w.cancel()
		<-w.result
		time.Sleep(time.Second) // of the bubble: to withdraw
	})
}
