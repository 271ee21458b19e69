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

const (
	connecting   = "EventSession StateConnecting"
	connected    = "EventSession StateConnected"
	hasSession   = "EventSession StateHasSession"
	disconnected = "EventSession StateDisconnected"
	expired      = "EventSession StateExpired"
)

// TestSessionEvents: each reader has a channel of its own, which begins with how the connection came about.
func TestSessionEvents(t *testing.T) {
	w := newWire(fakezk.Config{Replicas: 2})
	c := w.client()
	conn := c.Handle(0)
	before := conn.SessionEvents()
	wantEvents(t, before)
	if server := conn.Server(); server != "" {
		t.Errorf("before it connects the server is %q", server)
	}
	c.Dial(w.now, 1)
	first := conn.SessionEvents()
	if e := <-first; e.Server != "fake-1:2181" || conn.Server() != e.Server {
		t.Errorf("it connects to %q, and the server is %q", e.Server, conn.Server())
	}
	wantEvents(t, before, connecting, connected, hasSession)
	wantEvents(t, first, connected, hasSession)
	c.Break(zk.ErrConnectionClosed)
	second := conn.SessionEvents()
	wantEvents(t, first, disconnected)
	wantEvents(t, second, connecting, connected, hasSession, disconnected)
	w.servers.Expire(w.now, c.Session())
	c.Dial(w.now, 0)
	c.Dial(w.now, 0)
	wantEvents(t, first, connecting, connected, expired, disconnected, connecting, connected)
	c.Finish()
	wantEvents(t, first, disconnected, "closed")
	wantEvents(t, conn.SessionEvents(), connecting, connected, hasSession, disconnected, "closed")
}

// TestEventsOfARefusal: a server that is behind the client accepts the connection and closes it.
func TestEventsOfARefusal(t *testing.T) {
	w := newWire(fakezk.Config{Replicas: 2})
	w.servers.SetLag(1, true)
	c := w.client()
	conn := c.Handle(0)
	c.Dial(w.now, 0)
	if err := w.do(c, create(conn, "/a", 0)); err != nil {
		t.Fatal(err)
	}
	c.Break(zk.ErrConnectionClosed)
	drain(c.Events())
	if err := c.Dial(w.now, 1); err != goclient.ErrRefused {
		t.Fatal(err)
	}
	wantEvents(t, c.Events(), connecting, connected, disconnected)
}

// TestHeldEvents: what is held back comes when Tell says so, and no more of it than go-zookeeper's channel and a
// reader who waits have room for.
func TestHeldEvents(t *testing.T) {
	w := newWire(fakezk.Config{})
	c := w.client()
	c.HoldEvents = true
	events := c.Handle(0).SessionEvents()
	for range 2 {
		c.Dial(w.now, 0)
		c.Break(zk.ErrConnectionClosed)
	}
	wantEvents(t, events)
	if held := c.Held(0); held != 7 {
		t.Errorf("%d events are held, want 7 of 8", held)
	}
	c.Tell(0)
	wantEvents(t, events, connecting)
	for range 6 {
		c.Tell(0)
	}
	c.Dial(w.now, 0) // there is no room
	if held := c.Held(0); held != 0 {
		t.Errorf("%d events are held for a full channel", held)
	}
	wantEvents(t, events, connected, hasSession, disconnected, connecting, connected, hasSession)
	c.Break(zk.ErrConnectionClosed)
	c.Finish()
	wantEvents(t, events, disconnected, disconnected, "closed")
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
