package goclient_test

import (
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// An event of a connection names its server.
func TestEventsNameTheServer(t *testing.T) {
	w := newWire(fakezk.Config{Replicas: 2})
	c := w.client()
	events := c.Handle(0).SessionEvents()
	c.Dial(w.now, 1)
	if e := <-events; e.Server != "fake-1:2181" {
		t.Errorf("it connects to %q", e.Server)
	}
}

// TestSessionEventsAreThoseOfTheAdapter: whatever happens and whoever reads when, the fake's channels hold what those
// of recipes.WithEvents do, which reads go-zookeeper's channel in time.
func TestSessionEventsAreThoseOfTheAdapter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		actions := rapid.SliceOfN(rapid.SampledFrom([]string{"listen", "read", "dial", "break", "expire", "watch"}),
			1, 40).Draw(r, "actions")
		synctest.Test(t, func(t *testing.T) {
			w := newWire(fakezk.Config{})
			c := goclient.NewClient(w, w.servers, 4000, synctest.Wait)
			both := listeners{fake: c.Handle(0), adapter: recipes.WithEvents(c.Handle(0), c.Events())}
			synctest.Wait()
			for _, action := range actions {
				_, connected := c.Connected()
				switch {
				case action == "listen":
					both.listen()
				case action == "read":
					both.compare(t)
				case action == "expire":
					w.servers.Expire(w.now, c.Session())
				case action == "dial" && !connected:
					c.Dial(w.now, 0)
				case action == "break":
					c.Break(zk.ErrConnectionClosed)
				case action == "watch" && connected && w.servers.Alive(c.Session()):
					w.do(c, func() error { _, _, _, err := both.fake.ExistsW("/a"); return err })
					w.do(c, create(both.fake, "/a", 0))
					w.do(c, func() error { return both.fake.Delete("/a", -1) })
				}
			}
			c.Finish()
			synctest.Wait()
			both.listen()
			both.compare(t)
		})
	})
}

// listeners read the events of one client in two ways.
type listeners struct {
	fake          *goclient.Conn
	adapter       recipes.Conn
	faked, adapts []<-chan zk.Event
}

func (l *listeners) listen() {
	l.faked = append(l.faked, recipes.SessionEvents(l.fake))
	l.adapts = append(l.adapts, recipes.SessionEvents(l.adapter))
}

func (l *listeners) compare(t *testing.T) {
	t.Helper()
	for i := range l.faked {
		if diff := cmp.Diff(drain(l.adapts[i]), drain(l.faked[i])); diff != "" {
			t.Errorf("events (-adapter +fake):\n%s", diff)
		}
	}
}
