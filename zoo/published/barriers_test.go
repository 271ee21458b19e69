package published

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

type doubleBarrier interface {
	Enter(context.Context) error
	Leave(context.Context) error
}

// fixed makes members of barriers for two.
var fixed = map[string]func(recipes.Conn) doubleBarrier{
	"tutorial": func(c recipes.Conn) doubleBarrier {
		return NewTutorialBarrier(c, "/a/barrier", 2, NoBugs())
	},
	"SyncPrimitive": func(c recipes.Conn) doubleBarrier {
		return NewSyncPrimitiveBarrier(NewSyncPrimitive(), c, "/a/barrier", 2, NoBugs())
	},
	"Curator": func(c recipes.Conn) doubleBarrier {
		return NewCuratorDoubleBarrier(c, "/a/barrier", 2, NoBugs())
	},
	"kazoo": func(c recipes.Conn) doubleBarrier {
		return NewKazooDoubleBarrier(c, "/a/barrier", 2, NoBugs())
	},
}

// reborn has its session replaced when its first ephemeral znode has been made, before who has made it goes on.
type reborn struct {
	*goclient.Conn
	expire func(*goclient.Conn)
}

func (c *reborn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	path, err := c.Conn.Create(path, data, flags, acl)
	if err == nil && flags&zk.FlagEphemeral != 0 && c.expire != nil {
		c.expire(c.Conn)
		c.expire = nil
	}
	return path, err
}

func TestFixedBarriersWhoseSessionIsReplaced(t *testing.T) {
	for name, member := range fixed {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
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
	world(t, func(t *testing.T, servers *goclient.Local) {
		static := NewSyncPrimitive()
		c := connect(t, servers)
		a := NewSyncPrimitiveBarrier(static, c, "/b1", 2, AllBugs())
		b := NewSyncPrimitiveBarrier(static, c, "/b1", 2, AllBugs())
		together(t, a.Enter, b.Enter)
		must(t, a.Leave(t.Context()))
		must(t, a.Enter(t.Context()))
	})
}
