package fakezk_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
)

// TestFlavours: what a watch hears when its connection breaks, comes back, and the znode changes then.
func TestFlavours(t *testing.T) {
	for _, test := range []struct {
		name    string
		flavour fakezk.Flavour
		want    []string
	}{
		{"go", fakezk.FlavourGo, []string{"EventNodeCreated StateSyncConnected /x", "closed"}},
		{"java", fakezk.FlavourJava, []string{
			"EventSession StateDisconnected", "EventSession StateHasSession", "EventNodeCreated StateSyncConnected /x", "closed",
		}},
		{"kazoo", fakezk.FlavourKazoo, []string{"EventSession StateDisconnected", "closed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWire(fakezk.Config{})
			c, conn := w.watcher(t, test.flavour)
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

func (w *wire) watcher(t *testing.T, f fakezk.Flavour) (*fakezk.Client, *fakezk.Conn) {
	c := w.client()
	c.Flavour = f
	if err := c.Dial(w.now, 0); err != nil {
		t.Fatal(err)
	}
	return c, c.Handle(0)
}
