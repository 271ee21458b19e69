package recipes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func claim(t *testing.T, q *recipes.LockingQueue, want string) *recipes.Claim {
	t.Helper()
	c, err := q.TryClaim(t.Context())
	if err != nil || string(c.Data()) != want {
		t.Fatalf("TryClaim = %+v, %v, want item %s", c, err, want)
	}
	return c
}

func noneFree(t *testing.T, q *recipes.LockingQueue) {
	t.Helper()
	if c, err := q.TryClaim(t.Context()); err != recipes.ErrEmpty {
		t.Fatalf("TryClaim = %+v, %v, want ErrEmpty", c, err)
	}
}

func TestLockingQueueRequests(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		q := recipes.NewLockingQueue(c, "/q")
		must(t, q.Offer(t.Context(), []byte("1")))
		expect(t, c, `create /q/qn-A-: node does not exist
			create /q: ok
			create /q/qn-A-: ok`)
		one := claim(t, q, "1")
		expect(t, c, `multi 1: ok
			children /q: ok
			get /q/qn-A-0000000000: ok
			multi 2: ok
			getW /q/taken-A: ok`)
		must(t, one.Done(t.Context()))
		expect(t, c, `multi 2: ok`)
		noneFree(t, q)
		expect(t, c, `multi 1: ok
			children /q: ok`)
	})
}

func TestLockingQueueGivesEachItemToOne(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := recipes.NewLockingQueue(connect(t, servers), "/q"), recipes.NewLockingQueue(connect(t, servers), "/q")
		noneFree(t, a)
		for _, item := range []string{"1", "2", "3"} {
			must(t, a.Offer(t.Context(), []byte(item)))
		}
		one, two, three := claim(t, a, "1"), claim(t, b, "2"), claim(t, a, "3")
		noneFree(t, b)
		must(t, one.Done(t.Context()))
		must(t, two.Release(t.Context()))
		again := claim(t, a, "2")
		if again.Token() != two.Token() || again.Token() == three.Token() ||
			two.Attempt() != 1 || again.Attempt() != 2 {
			t.Errorf("tokens %s, %s, %s; attempts %d, %d",
				two.Token(), again.Token(), three.Token(), two.Attempt(), again.Attempt())
		}
		must(t, again.Done(t.Context()))
		must(t, three.Done(t.Context()))
		noneFree(t, b)
		if err := three.Done(t.Context()); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("the second Done: %v", err)
		}
	})
}

func TestLockingQueueClaimWaits(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := recipes.NewLockingQueue(connect(t, servers), "/q"), recipes.NewLockingQueue(connect(t, servers), "/q")
		must(t, a.Offer(t.Context(), []byte("x")))
		held := claim(t, a, "x")
		got := make(chan *recipes.Claim, 1)
		go func() {
			c, err := b.Claim(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- c
		}()
		synctest.Wait()
		if len(got) != 0 {
			t.Fatal("an item that is held was claimed")
		}
		must(t, held.Release(t.Context()))
		if c := <-got; string(c.Data()) != "x" || c.Attempt() != 2 {
			t.Errorf("Claim = %s, attempt %d", c.Data(), c.Attempt())
		}
	})
}

// A dead consumer's item comes back; what it does afterwards does not hurt its successor.
func TestLockingQueueAfterExpiry(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, other := connect(t, servers), recipes.NewLockingQueue(connect(t, servers), "/q")
		q := recipes.NewLockingQueue(c, "/q")
		must(t, q.Offer(t.Context(), []byte("x")))
		first := claim(t, q, "x")
		servers.Expire(c.Conn)
		<-first.Lost()
		second := claim(t, other, "x")
		if err := first.Done(t.Context()); !errors.Is(err, recipes.ErrLost) {
			t.Errorf("Done of a lost claim: %v", err)
		}
		noneFree(t, q)
		must(t, second.Done(t.Context()))
		noneFree(t, q)
	})
}

// The finish of a claim that ended without its holder's knowledge is refused by the servers.
func TestLockingQueueOldFinishIsRefused(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, other := connect(t, servers), recipes.NewLockingQueue(connect(t, servers), "/q")
		q := recipes.NewLockingQueue(c, "/q")
		must(t, q.Offer(t.Context(), []byte("x")))
		first := claim(t, q, "x")
		var second *recipes.Claim
		c.plan("multi", after(func() { // the Done is on its way
			servers.Expire(c.Conn)
			second = claim(t, other, "x")
		}))
		if err := first.Done(t.Context()); !errors.Is(err, recipes.ErrLost) {
			t.Errorf("Done: %v", err)
		}
		must(t, second.Done(t.Context()))
	})
}

// Lost requests and replies leave nothing open.
func TestLockingQueueLosses(t *testing.T) {
	for _, op := range []string{"multi", "sync", "children", "get", "getW"} {
		for name, f := range map[string]fault{
			"request": loseRequest, "reply": loseReply, "no server": refuse(zk.ErrNoServer),
		} {
			t.Run(op+" "+name, func(t *testing.T) {
				world(t, func(t *testing.T, servers *goclient.Local) {
					c := connect(t, servers)
					q := recipes.NewLockingQueue(c, "/q")
					must(t, q.Offer(t.Context(), []byte("x")))
					c.plan(op, f)
					held := claim(t, q, "x")
					if held.Attempt() != 1 {
						t.Errorf("attempt %d, want 1", held.Attempt())
					}
					c.plan(op, f)
					must(t, held.Release(t.Context()))
					held = claim(t, q, "x")
					c.plan(op, f)
					must(t, held.Done(t.Context()))
					noneFree(t, q)
				})
			})
		}
	}
}

// Whoever gives up leaves no claim behind, even if the request hung and was carried out later.
func TestLockingQueueCancelled(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, other := connect(t, servers), recipes.NewLockingQueue(connect(t, servers), "/q")
		q := recipes.NewLockingQueue(c, "/q")
		must(t, q.Offer(t.Context(), []byte("x")))
		letGo := make(chan struct{})
		c.plan("multi", hang(letGo))
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error)
		go func() {
			_, err := q.Claim(ctx)
			got <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("Claim: %v", err)
		}
		close(letGo)
		synctest.Wait()
		must(t, claim(t, other, "x").Done(t.Context()))
	})
}
