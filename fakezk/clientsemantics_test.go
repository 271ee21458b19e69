package fakezk_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
)

// TestClientSemantics: what a watch hears when its connection breaks, comes back, and the znode changes then.
func TestClientSemantics(t *testing.T) {
	for _, test := range []struct {
		name      string
		semantics fakezk.ClientSemantics
		want      []string
	}{
		{"go", fakezk.SemanticsGo, []string{"EventNodeCreated StateSyncConnected /x", "closed"}},
		{"java", fakezk.SemanticsJava, []string{
			"EventSession StateDisconnected", "EventSession StateHasSession",
			"EventNodeCreated StateSyncConnected /x", "closed",
		}},
		{"kazoo", fakezk.SemanticsKazoo, []string{"EventSession StateDisconnected", "closed"}},
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
			w.admin(t, fakezk.OpCreate)
			for range 3 {
				c.Deliver()
			}
			wantEvents(t, watch, test.want...)
		})
	}
}

func (w *wire) watcher(t *testing.T, f fakezk.ClientSemantics) (*fakezk.Client, *fakezk.Conn) {
	c := w.client()
	c.Semantics = f
	if err := c.Dial(w.now, 0); err != nil {
		t.Fatal(err)
	}
	return c, c.Handle(0)
}
