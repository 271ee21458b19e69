package recipes_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// An item that comes after the queue was found empty and before the watch is set is seen at once,
// not when somebody looks again after a while.
func TestTakeSeesWhatCameBeforeItsWatch(t *testing.T) {
	ledgers(t, func(t *testing.T, servers *goclient.Local, opts ...recipes.QueueOption) {
		c := connect(t, servers)
		q, other := recipes.NewQueue(c, "/q", opts...), recipes.NewQueue(connect(t, servers), "/q")
		offer(t, other, "first")
		drain(t, q)
		begun := time.Now()
		c.plan("childrenW", after(func() { offer(t, other, "1") }))
		k := take(t, q)
		if got := <-k.data; got != "1" || time.Since(begun) > time.Second {
			t.Errorf("took %s after %v", got, time.Since(begun))
		}
	})
}

// One sync a session is enough to wait at a barrier.
func TestBarrierSyncsOnce(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, other := connect(t, servers), connect(t, servers)
		b := recipes.NewBarrier(c, "/gate")
		must(t, recipes.NewBarrier(other, "/gate").Shut(t.Context()))
		waiting := begin(t, b.Wait)
		data, _, err := other.Conn.Get("/gate")
		must(t, err)
		for range 3 {
			_, err := other.Conn.Set("/gate", data, -1)
			must(t, err)
			waiting.waits(t)
		}
		if got := attempts(c, "multi"); got != 1 {
			t.Errorf("%d syncs", got)
		}
		must(t, recipes.NewBarrier(other, "/gate").Open(t.Context()))
		waiting.returns(t, nil)
	})
}

// What ZooKeeper refuses is said with what was asked for, and what the context ended is not.
func TestRefusalsSayWhatWasAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		op  string
		use func(ctx context.Context, c recipes.Conn) error
	}{
		"barrier": {"getW", func(ctx context.Context, c recipes.Conn) error {
			return recipes.NewBarrier(c, "/x").Wait(ctx)
		}},
		"revoke": {"children", func(ctx context.Context, c recipes.Conn) error {
			return recipes.NewRWLock(c, "/x").Revoke(ctx)
		}},
		"counter": {"get", func(ctx context.Context, c recipes.Conn) error {
			_, err := recipes.NewCounter(c, "/x").Get(ctx)
			return err
		}},
	} {
		world(t, func(t *testing.T, servers *goclient.Local) {
			conn := connect(t, servers)
			must(t, recipes.NewLock(conn, "/x").Lock(t.Context()))
			conn.plan(c.op, refuse(zk.ErrNoAuth))
			err := c.use(t.Context(), conn)
			if !errors.Is(err, zk.ErrNoAuth) || err == zk.ErrNoAuth {
				t.Errorf("%s refused: %v", name, err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := c.use(ended, conn); err != context.Canceled {
				t.Errorf("%s given up: %v", name, err)
			}
		})
	}
}
