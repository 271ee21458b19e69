package published

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// world runs a test in a bubble, which fails it if a goroutine outlives the connections.
func world(t *testing.T, body func(t *testing.T, servers *goclient.Local)) {
	synctest.Test(t, func(t *testing.T) { body(t, goclient.NewLocal(fakezk.Config{})) })
}

func connect(t *testing.T, servers *goclient.Local) *goclient.Conn {
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

func TestLockerOnAGoodDay(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a := NewLocker(connect(t, servers), "/lock", AllBugs())
		b := NewLocker(connect(t, servers), "/lock", AllBugs())
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

func TestQueueOnAGoodDay(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		q := NewQueue(connect(t, servers), "/q", AllBugs())
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
