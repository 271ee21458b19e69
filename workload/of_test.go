package workload

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// around is a connection around another, as worlds have them.
type around struct {
	recipes.Conn
	inner recipes.Conn
}

func (a around) Unwrap() recipes.Conn { return a.inner }

type clientOf struct {
	recipes.Conn
	own *zk.Conn
}

func (o clientOf) ZK() *zk.Conn { return o.own }

// Code that takes a *zk.Conn gets it from within whatever a world has put around it.
func TestReach(t *testing.T) {
	own := &zk.Conn{}
	for name, c := range map[string]recipes.Conn{
		"itself": own, "within": around{inner: around{inner: own}}, "of a client": around{inner: clientOf{own: own}},
	} {
		if got := reach[*zk.Conn](c); got != own {
			t.Errorf("%s: %p, want %p", name, got, own)
		}
	}
}
