package published_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/zoo/published"
)

type doubleBarrier interface {
	Enter(context.Context) error
	Leave(context.Context) error
}

// mended makes members of barriers for two.
var mended = map[string]func(recipes.Conn) doubleBarrier{
	"tutorial": func(c recipes.Conn) doubleBarrier {
		return published.NewTutorialBarrier(c, "/a/barrier", 2, published.NoBugs())
	},
	"SyncPrimitive": func(c recipes.Conn) doubleBarrier {
		return published.NewSyncPrimitiveBarrier(published.NewSyncPrimitive(), c, "/a/barrier", 2, published.NoBugs())
	},
	"official": func(c recipes.Conn) doubleBarrier {
		return published.NewOfficialDoubleBarrier(c, "/a/barrier", 2, published.NoBugs())
	},
	"Curator": func(c recipes.Conn) doubleBarrier {
		return published.NewCuratorDoubleBarrier(c, "/a/barrier", 2, published.NoBugs())
	},
	"kazoo": func(c recipes.Conn) doubleBarrier {
		return published.NewKazooDoubleBarrier(c, "/a/barrier", 2, published.NoBugs())
	},
}

func TestMendedBarriersOnAGoodDay(t *testing.T) {
	for name, member := range mended {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *fakezk.Local) {
				c := connect(t, servers)
				a, b := member(c), member(connect(t, servers))
				for range 3 {
					together(t, a.Enter, b.Enter)
					together(t, a.Leave, b.Leave)
				}
				if names, _, err := c.Children("/a/barrier"); err != nil || len(names) > 0 {
					t.Errorf("left are %v, %v", names, err)
				}
			})
		})
	}
}

// reborn has its session replaced when its first ephemeral znode has been made, before who has made it goes on.
type reborn struct {
	*fakezk.Conn
	expire func(*fakezk.Conn)
}

func (c *reborn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	path, err := c.Conn.Create(path, data, flags, acl)
	if err == nil && flags&zk.FlagEphemeral != 0 && c.expire != nil {
		c.expire(c.Conn)
		c.expire = nil
	}
	return path, err
}

func TestMendedBarriersWhoseSessionIsReplaced(t *testing.T) {
	for name, member := range mended {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *fakezk.Local) {
				c := connect(t, servers)
				a, b := member(&reborn{c, servers.Expire}), member(connect(t, servers))
				together(t, a.Enter, b.Enter)
				together(t, a.Leave, b.Leave)
			})
		})
	}
}

// together wants the first call to wait for the second.
func together(t *testing.T, first, second func(context.Context) error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- first(t.Context()) }()
	synctest.Wait()
	if len(done) > 0 {
		t.Error("the first has not waited for the second")
	}
	must(t, second(t.Context()))
	must(t, <-done)
}

// As it was published nobody waits for anybody when leaving, and the next round begins with one.
func TestSyncPrimitiveBarrierAsPublished(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		static := published.NewSyncPrimitive()
		c := connect(t, servers)
		a := published.NewSyncPrimitiveBarrier(static, c, "/b1", 2, published.AllBugs())
		b := published.NewSyncPrimitiveBarrier(static, c, "/b1", 2, published.AllBugs())
		together(t, a.Enter, b.Enter)
		must(t, a.Leave(t.Context()))
		must(t, a.Enter(t.Context()))
	})
}
