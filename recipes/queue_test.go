package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// ledgers runs a test without and with receipts.
func ledgers(t *testing.T, body func(t *testing.T, servers *goclient.Local, opts ...recipes.QueueOption)) {
	t.Run("plain", func(t *testing.T) {
		world(t, func(t *testing.T, servers *goclient.Local) { body(t, servers) })
	})
	t.Run("receipts", func(t *testing.T) {
		world(t, func(t *testing.T, servers *goclient.Local) { body(t, servers, recipes.WithReceipts()) })
	})
}

func offer(t *testing.T, q *recipes.Queue, items ...string) {
	t.Helper()
	for _, item := range items {
		must(t, q.Offer(t.Context(), []byte(item)))
	}
}

// drain polls until the queue is empty.
func drain(t *testing.T, q *recipes.Queue) string {
	t.Helper()
	var items []string
	for {
		data, err := q.Poll(t.Context())
		if err == recipes.ErrEmpty {
			return strings.Join(items, " ")
		}
		must(t, err)
		items = append(items, string(data))
	}
}

func TestQueueRequests(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		q := recipes.NewQueue(c, "/q")
		offer(t, q, "1")
		expect(t, c, `create /q/qn-A-: node does not exist
			create /q: ok
			create /q/qn-A-: ok`)
		if data, err := q.Peek(t.Context()); string(data) != "1" || err != nil {
			t.Errorf("Peek = %q, %v", data, err)
		}
		expect(t, c, `multi 1: ok
			children /q: ok
			get /q/qn-A-0000000000: ok`)
		if data, err := q.Poll(t.Context()); string(data) != "1" || err != nil {
			t.Errorf("Poll = %q, %v", data, err)
		}
		expect(t, c, `children /q: ok
			get /q/qn-A-0000000000: ok
			delete /q/qn-A-0000000000: ok`)
		if _, err := q.Poll(t.Context()); err != recipes.ErrEmpty {
			t.Errorf("Poll: %v", err)
		}
		expect(t, c, `children /q: ok
			multi 1: ok
			children /q: ok`)
	})
}

func TestQueueReceiptRequests(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		q := recipes.NewQueue(c, "/q", recipes.WithReceipts())
		offer(t, q, "1", "2")
		expect(t, c, `create /q/claim-A: node does not exist
			create /q: ok
			create /q/claim-A: ok
			multi 2: ok
			multi 2: ok`)
		c.plan("multi", loseReply)
		offer(t, q, "3")
		expect(t, c, `multi 2: EOF
			multi 1: ok
			get /q/claim-A: ok`)
		if got := drain(t, q); got != "1 2 3" {
			t.Errorf("got %s", got)
		}
	})
}

func TestQueueIsFIFO(t *testing.T) {
	ledgers(t, func(t *testing.T, servers *goclient.Local, opts ...recipes.QueueOption) {
		a := recipes.NewQueue(connect(t, servers), "/q", opts...)
		b := recipes.NewQueue(connect(t, servers), "/q", opts...)
		if got := drain(t, a); got != "" {
			t.Errorf("a missing queue has items %s", got)
		}
		if _, err := b.Peek(t.Context()); err != recipes.ErrEmpty {
			t.Errorf("Peek: %v", err)
		}
		var want []string
		for i := range 20 {
			item := fmt.Sprint(i)
			offer(t, []*recipes.Queue{a, b}[i%2], item)
			want = append(want, item)
		}
		head, err := a.Peek(t.Context())
		must(t, err)
		removed, err := b.Poll(t.Context())
		must(t, err)
		if string(head) != "0" || string(removed) != "0" {
			t.Errorf("head %s, removed %s", head, removed)
		}
		if got := drain(t, a); got != strings.Join(want[1:], " ") {
			t.Errorf("got %s", got)
		}
	})
}

// Lost requests and replies: what can be known is known.
func TestQueueLosses(t *testing.T) {
	for _, op := range []string{"create", "delete", "multi", "children", "get", "sync"} {
		for name, faults := range map[string][]fault{
			"request": {loseRequest}, "reply": {loseReply}, "no server": {refuse(zk.ErrNoServer)},
		} {
			t.Run(op+" "+name, func(t *testing.T) {
				ledgers(t, func(t *testing.T, servers *goclient.Local, opts ...recipes.QueueOption) {
					c := connect(t, servers)
					q := recipes.NewQueue(c, "/q", opts...)
					offer(t, q, "1", "2")
					c.plan(op, faults...)
					var unknown *recipes.UnknownOutcomeError
					if err := q.Offer(t.Context(), []byte("3")); errors.As(err, &unknown) {
						if op != "create" || name != "request" {
							t.Errorf("Offer: %v", err)
						}
						offer(t, q, "3")
					}
					c.plan(op, faults...)
					data, err := q.Poll(t.Context())
					if errors.As(err, &unknown) {
						data = unknown.Data
						if op != "delete" || name != "reply" || unknown.Op != "poll" {
							t.Errorf("Poll: %v", err)
						}
					} else {
						must(t, err)
					}
					if got := string(data) + " " + drain(t, q); got != "1 2 3" {
						t.Errorf("got %s", got)
					}
				})
			})
		}
	}
}

// An offer that was lost and whose item another has taken is unknown, with receipts it is not.
func TestQueueOfferLostAndTaken(t *testing.T) {
	ledgers(t, func(t *testing.T, servers *goclient.Local, opts ...recipes.QueueOption) {
		c, other := connect(t, servers), recipes.NewQueue(connect(t, servers), "/q")
		q := recipes.NewQueue(c, "/q", opts...)
		offer(t, q, "1")
		takeAll := then(loseReply, func() { drain(t, other) })
		c.plan("create", takeAll)
		c.plan("multi", takeAll)
		err := q.Offer(t.Context(), []byte("2"))
		if opts != nil {
			must(t, err)
			return
		}
		var unknown *recipes.UnknownOutcomeError
		if !errors.As(err, &unknown) || unknown.Op != "offer" || string(unknown.Data) != "2" ||
			!errors.Is(err, recipes.ErrUnknownOutcome) {
			t.Errorf("Offer: %v", err)
		}
	})
}

// The session takes the receipt along.
func TestQueueExpiryDuringChange(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		q := recipes.NewQueue(c, "/q", recipes.WithReceipts())
		offer(t, q, "1")
		c.plan("multi", then(loseReply, func() { servers.Expire(c.Conn) }))
		if err := q.Offer(t.Context(), []byte("2")); !errors.Is(err, recipes.ErrUnknownOutcome) {
			t.Errorf("Offer: %v", err)
		}
		servers.Expire(c.Conn)
		offer(t, q, "3")
		c.plan("multi", after(func() { servers.Expire(c.Conn) })) // surely not made: there is no claim
		offer(t, q, "4")
		if got := drain(t, q); got != "1 2 3 4" {
			t.Errorf("got %s", got)
		}
	})
}

// Another consumer is faster at every item of the list.
func TestQueueRaces(t *testing.T) {
	ledgers(t, func(t *testing.T, servers *goclient.Local, opts ...recipes.QueueOption) {
		c, other := connect(t, servers), recipes.NewQueue(connect(t, servers), "/q")
		q := recipes.NewQueue(c, "/q", opts...)
		offer(t, q, "1", "2")
		steal := after(func() { drain(t, other); offer(t, other, "3") })
		c.plan("get", steal)
		if data, err := q.Peek(t.Context()); string(data) != "3" || err != nil {
			t.Errorf("Peek = %q, %v", data, err)
		}
		c.plan("delete", after(func() { drain(t, other) }))
		c.plan("multi", after(func() { drain(t, other) }))
		if _, err := q.Poll(t.Context()); err != recipes.ErrEmpty {
			t.Errorf("Poll: %v", err)
		}
	})
}

// The directory is removed and made anew while a consumer remembers a name (bug DQ5).
func TestQueueDirectoryRemoved(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := connect(t, servers), connect(t, servers)
		qa, qb := recipes.NewQueue(a, "/q"), recipes.NewQueue(b, "/q")
		offer(t, qb, "old")
		a.plan("delete", after(func() {
			drain(t, qb)
			must(t, b.Conn.Delete("/q", -1))
			offer(t, qb, "new")
		}))
		if got := drain(t, qa); got != "new" {
			t.Errorf("got %s", got)
		}
	})
}

type taker struct {
	data   chan string
	err    chan error
	cancel context.CancelFunc
}

func take(t *testing.T, q *recipes.Queue) *taker {
	ctx, cancel := context.WithCancel(t.Context())
	k := &taker{make(chan string, 1), make(chan error, 1), cancel}
	go func() {
		data, err := q.Take(ctx)
		if err != nil {
			k.err <- err
			return
		}
		k.data <- string(data)
	}()
	synctest.Wait()
	return k
}

func TestQueueTake(t *testing.T) {
	ledgers(t, func(t *testing.T, servers *goclient.Local, opts ...recipes.QueueOption) {
		c := connect(t, servers)
		q := recipes.NewQueue(c, "/q", opts...)
		for range 3 { // those who give up leave one watch at most
			k := take(t, q)
			k.cancel()
			if err := <-k.err; err != context.Canceled {
				t.Errorf("Take: %v", err)
			}
		}
		if n := c.Watches(); n > 1 {
			t.Errorf("%d watches left", n)
		}
		first, second := take(t, q), take(t, q)
		other := recipes.NewQueue(connect(t, servers), "/q")
		offer(t, other, "1")
		synctest.Wait()
		if len(first.data)+len(second.data) != 1 {
			t.Errorf("%d have taken one item", len(first.data)+len(second.data))
		}
		offer(t, other, "2")
		if a, b := <-first.data, <-second.data; a == b {
			t.Errorf("%s was taken twice", a)
		}
		must(t, q.Offer(t.Context(), []byte("3")))
		third := take(t, q)
		if got := <-third.data; got != "3" {
			t.Errorf("took %s", got)
		}
		waiting := take(t, q)
		servers.Expire(c.Conn)
		offer(t, other, "4")
		if got := <-waiting.data; got != "4" {
			t.Errorf("took %s", got)
		}
	})
}

// A caller that leaves during a change is told which; one that leaves before is told nothing of
// the kind, and no change is begun after it has left.
func TestQueueHangs(t *testing.T) {
	for _, test := range []struct {
		op      string
		unknown bool
	}{{"children", false}, {"get", false}, {"delete", true}} {
		t.Run(test.op, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				c, letGo := connect(t, servers), make(chan struct{})
				q := recipes.NewQueue(c, "/q")
				offer(t, q, "1", "2")
				c.plan(test.op, hang(letGo))
				k := take(t, q)
				k.cancel()
				err := <-k.err
				var unknown *recipes.UnknownOutcomeError
				if errors.As(err, &unknown) != test.unknown || !errors.Is(err, context.Canceled) {
					t.Errorf("Take: %v", err)
				}
				if test.unknown && string(unknown.Data) != "1" {
					t.Errorf("the error speaks of %q", unknown.Data)
				}
				close(letGo)
				synctest.Wait()
				want := "1 2"
				if test.unknown {
					want = "2"
				}
				if got := drain(t, q); got != want {
					t.Errorf("left in the queue: %s, want %s", got, want)
				}
			})
		})
	}
}

func TestQueueConnClosed(t *testing.T) {
	ledgers(t, func(t *testing.T, servers *goclient.Local, opts ...recipes.QueueOption) {
		c := connect(t, servers)
		q := recipes.NewQueue(c, "/q", opts...)
		k := take(t, q)
		c.Close()
		if err := <-k.err; !errors.Is(err, recipes.ErrClosed) {
			t.Errorf("Take: %v", err)
		}
		if _, err := q.Poll(t.Context()); !errors.Is(err, recipes.ErrClosed) {
			t.Errorf("Poll: %v", err)
		}
	})
}

func TestQueueRefused(t *testing.T) {
	ledgers(t, func(t *testing.T, servers *goclient.Local, opts ...recipes.QueueOption) {
		c := connect(t, servers)
		q := recipes.NewQueue(c, "/q", opts...)
		offer(t, q, "1")
		for _, op := range []string{"create", "delete", "multi"} {
			c.plan(op, refuse(zk.ErrNoAuth))
		}
		err := q.Offer(t.Context(), nil)
		if !errors.Is(err, zk.ErrNoAuth) || errors.Is(err, recipes.ErrUnknownOutcome) {
			t.Errorf("Offer: %v", err)
		}
		c.plan("multi", refuse(zk.ErrNoAuth))
		if _, err := q.Poll(t.Context()); !errors.Is(err, zk.ErrNoAuth) || errors.Is(err, recipes.ErrUnknownOutcome) {
			t.Errorf("Poll: %v", err)
		}
	})
}
