package goclient_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// TestClientSemantics: what a watch hears when its connection breaks, comes back, and the znode changes then.
func TestClientSemantics(t *testing.T) {
	for _, test := range []struct {
		name      string
		semantics goclient.ClientSemantics
		want      []string
	}{
		{"go", goclient.SemanticsGo, []string{"EventNodeCreated StateSyncConnected /x", "closed"}},
		{"java", goclient.SemanticsJava, []string{
			"EventSession StateDisconnected", "EventSession StateHasSession",
			"EventNodeCreated StateSyncConnected /x", "closed",
		}},
		{"kazoo", goclient.SemanticsKazoo, []string{"EventSession StateDisconnected", "closed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWire(fakezk.Config{})
			c, conn := w.watcher(t, test.semantics)
			var watch <-chan zk.Event
			w.do(c, func() (err error) { _, _, watch, err = conn.ExistsW("/x"); return err })
			c.Break(zk.ErrConnectionClosed)
			c.Dial(w.now, 0)
			for c.Sent() != nil {
				c.Arrive(w.now)
			}
			w.admin(t, wire.OpCreate)
			for range 3 {
				c.Deliver()
			}
			wantEvents(t, watch, test.want...)
		})
	}
}

func (w *cable) watcher(t *testing.T, f goclient.ClientSemantics) (*goclient.Client, *goclient.Conn) {
	c := w.client()
	c.Semantics = f
	if err := c.Dial(w.now, 0); err != nil {
		t.Fatal(err)
	}
	return c, c.Handle(0)
}
