package recipes_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// settling are the recipes of which a call can be given up. wait waits for what another one has.
var settling = map[string]func(c recipes.Conn) (wait func(context.Context) error, settle func(context.Context) error){
	"lock": func(c recipes.Conn) (wait, settle func(context.Context) error) {
		l := recipes.NewLock(c, "/x")
		return l.Lock, l.Settle
	},
	"reentrant": func(c recipes.Conn) (wait, settle func(context.Context) error) {
		l := recipes.NewReentrantLock(c, "/x")
		return l.Lock, l.Settle
	},
	"multi": func(c recipes.Conn) (wait, settle func(context.Context) error) {
		l := recipes.NewMultiLock(c, []string{"/x"})
		return l.Lock, l.Settle
	},
	"candidate": func(c recipes.Conn) (wait, settle func(context.Context) error) {
		l := recipes.NewCandidate(c, "/x")
		return l.Campaign, l.Settle
	},
	"group": func(c recipes.Conn) (wait, settle func(context.Context) error) {
		l := recipes.NewGroup(c, "/x", "one")
		return l.Join, l.Settle
	},
	"barrier": func(c recipes.Conn) (wait, settle func(context.Context) error) {
		l := recipes.NewDoubleBarrier(c, "/x", 2)
		return l.Enter, l.Settle
	},
}

// A call whose context ends returns while its znode is still there. After Settle it is gone.
func TestSettle(t *testing.T) {
	for name, open := range settling {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				c := connect(t, servers)
				wait, settle := open(c)
				must(t, settle(t.Context())) // there is nothing to wait for
				letGo := make(chan struct{})
				c.plan("children", hang(letGo))
				call := begin(t, wait)
				call.cancel()
				if err := <-call.result; !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if left(servers) == 0 {
					t.Fatal("its znode is gone before the request that hangs has returned")
				}
				settled := begin(t, settle)
				hurried := begin(t, settle)
				hurried.cancel()
				if err := <-hurried.result; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "in the background") {
					t.Errorf("Settle of a caller that leaves: %v", err)
				}
				again := begin(t, wait) // gives up while it waits for the clean-up
				again.cancel()
				<-again.result
				early := begin(t, settle)
				if settled.returned(t) || early.returned(t) {
					t.Error("Settle returned before the clean-up was done")
				}
				close(letGo)
				must(t, <-early.result)
				if n := left(servers); n > 0 {
					t.Errorf("%d znodes are left after Settle", n)
				}
			})
		})
	}
}

// left counts what is below /x.
func left(servers *goclient.Local) int { return max(strings.Count(servers.Dump("/x"), "\n")-1, 0) }

// Settle says when nothing more can be done about a znode that stays.
func TestSettleSaysWhatStays(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		l, refused := recipes.NewLock(c, "/x"), func(func() error) error { return zk.ErrNoAuth }
		c.plan("children", refused)
		c.plan("delete", refused)
		if err := l.Lock(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
			t.Fatal(err)
		}
		if err := l.Settle(t.Context()); !errors.Is(err, zk.ErrNoAuth) || left(servers) != 1 {
			t.Errorf("Settle with a znode that stays: %v", err)
		}
	})
}

// deaf is a connection that breaks before each answer as often as is said.
type deaf struct {
	*faulty
	lost int
}

func (d *deaf) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if d.lost > 0 {
		d.lost--
		return "", zk.ErrConnectionClosed
	}
	return d.faulty.Create(path, data, flags, acl)
}

func (d *deaf) State() zk.State {
	if d.lost > 0 {
		return zk.StateDisconnected
	}
	return d.faulty.State()
}

// Ten lost requests in a row may be those of a connection that is open: what ends then is told so, and works later.
func TestNoAnswerIsNotTheEnd(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := &deaf{connect(t, servers), 1000}
		n := recipes.NewCounter(c, "/x/n")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := n.Add(ctx, 1); !errors.Is(err, recipes.ErrNoAnswer) || errors.Is(err, recipes.ErrClosed) {
			t.Errorf("after ten lost requests: %v", err)
		}
		c.lost = 0
		if sum, err := n.Add(ctx, 1); sum != 1 || err != nil {
			t.Errorf("when the connection has healed: %d, %v", sum, err)
		}
		synctest.Wait()
	})
}
