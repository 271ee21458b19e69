package goclient_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// What looks like a bug of ZooKeeper or of its client and is none, and what looks possible and is
// not. The section Traps of docs/explanation/fidelity.md lists the tests.

// TestOnlyRepliesAreSeen: a server that lags turns away whoever has had a reply from a later state,
// also a reply about something else. A lost reply and a watch event do not count, so that such a
// client may read the past.
func TestOnlyRepliesAreSeen(t *testing.T) {
	for _, test := range []struct {
		name    string
		learn   func(t *testing.T, w *cable, c *goclient.Client)
		refused bool
	}{
		{"reply to a write", func(t *testing.T, w *cable, c *goclient.Client) { w.do(c, create(c.Handle(0), "/x", 0)) },
			true},
		{"reply to a read of another znode", func(t *testing.T, w *cable, c *goclient.Client) {
			w.admin(t, wire.OpCreate)
			w.do(c, func() error { _, _, err := c.Handle(0).Get("/"); return err })
		}, true},
		{"lost reply", func(t *testing.T, w *cable, c *goclient.Client) {
			w.begin(c, create(c.Handle(0), "/x", 0))
			c.Arrive(w.now)
		}, false},
		{"watch event", func(t *testing.T, w *cable, c *goclient.Client) {
			var watch <-chan zk.Event
			w.do(c, func() (err error) { _, _, watch, err = c.Handle(0).ExistsW("/x"); return err })
			w.admin(t, wire.OpCreate)
			c.Deliver()
			wantEvents(t, watch, "EventNodeCreated StateSyncConnected /x", "closed")
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWire(fakezk.Config{Replicas: 2})
			c := w.client()
			c.Dial(w.now, 0)
			w.servers.SetLag(1, true)
			test.learn(t, w, c)
			c.Break(zk.ErrConnectionClosed)
			if err := c.Dial(w.now, 1); (err == goclient.ErrRefused) != test.refused {
				t.Fatalf("the lagging server says %v, refused should be %v", err, test.refused)
			}
			if !test.refused {
				w.wantThere(t, c, "/x", false)
			}
		})
	}
}

// wantThere reads whether a znode exists at the client's server.
func (w *cable) wantThere(t *testing.T, c *goclient.Client, path string, want bool) {
	t.Helper()
	var there bool
	if err := w.do(c, func() (err error) { there, _, err = c.Handle(0).Exists(path); return err }); err != nil ||
		there != want {
		t.Errorf("exists(%s): %v %v, want %v", path, there, err, want)
	}
}

// TestRequestsDoNotOutliveTheirConnection: a request that had not arrived when its connection broke is
// not carried out later, when the session goes on over another one.
func TestRequestsDoNotOutliveTheirConnection(t *testing.T) {
	w := newWire(fakezk.Config{Replicas: 2})
	c := w.client()
	c.Dial(w.now, 0)
	session := c.Session()
	late := w.begin(c, create(c.Handle(0), "/late", zk.FlagEphemeral))
	c.Break(zk.ErrConnectionClosed)
	if err := <-late; err != zk.ErrConnectionClosed {
		t.Errorf("the caller is told %v", err)
	}
	c.Dial(w.now, 1)
	if c.Session() != session || c.Sent() != nil {
		t.Fatalf("session 0x%x, was 0x%x; on the wire is %v", c.Session(), session, c.Sent())
	}
	w.wantThere(t, c, "/late", false)
	if err := w.do(c, create(c.Handle(0), "/late", zk.FlagEphemeral)); err != nil {
		t.Errorf("the name is taken: %v", err)
	}
}

// TestEphemeralOfTheSessionBefore: a client in its new session may still see the ephemeral of the old
// one, at a server that has not applied its end. A server through which the new session was opened
// has applied it.
func TestEphemeralOfTheSessionBefore(t *testing.T) {
	w := newWire(fakezk.Config{Replicas: 3})
	c := w.client()
	c.Dial(w.now, 0)
	if err := w.do(c, create(c.Handle(0), "/mine", zk.FlagEphemeral)); err != nil {
		t.Fatal(err)
	}
	old := c.Session()
	w.servers.SetLag(1, true)
	w.servers.SetLag(2, true)
	w.servers.Expire(w.now, old)
	c.Break(zk.ErrConnectionClosed)
	c.Dial(w.now, 2) // learns
	c.Dial(w.now, 2) // the new session, which makes this server apply all before it
	if c.Session() == old || c.Session() == 0 {
		t.Fatalf("the session is 0x%x, was 0x%x", c.Session(), old)
	}
	c.Break(zk.ErrConnectionClosed) // before any reply
	c.Dial(w.now, 1)
	var stat *zk.Stat
	w.do(c, func() (err error) { _, stat, err = c.Handle(0).Exists("/mine"); return err })
	if stat.EphemeralOwner != old {
		t.Errorf("at the lagging server the owner is 0x%x, want 0x%x", stat.EphemeralOwner, old)
	}
	c.Break(zk.ErrConnectionClosed)
	c.Dial(w.now, 2)
	w.wantThere(t, c, "/mine", false)
}

// TestAnyVersion: −1 stands for any version. A version that has wrapped to −1 cannot be asked for,
// as far as it gets there.
func TestAnyVersion(t *testing.T) {
	for _, test := range []struct {
		has, expected int32
		skips         bool
		becomes       int32 // if it is written
		err           error
	}{
		{has: 7, expected: 7, becomes: 8},
		{has: 7, expected: -1, becomes: 8},
		{has: 7, expected: 6, becomes: 7, err: zk.ErrBadVersion},
		{has: 7, expected: -2, becomes: 7, err: zk.ErrBadVersion},
		{has: -2, expected: -2, becomes: -1},
		{has: -2, expected: -2, becomes: 0, skips: true},
		{has: -1, expected: -1, becomes: 0},
		{has: -1, expected: 0, becomes: -1, err: zk.ErrBadVersion},
	} {
		w := newWire(fakezk.Config{Compat: fakezk.Compat{VersionSkipsMinusOne: test.skips}})
		c := w.client()
		c.Dial(w.now, 0)
		w.admin(t, wire.OpCreate)
		w.servers.SetVersions("/x", test.has)
		err := w.do(c, func() error { _, err := c.Handle(0).Set("/x", nil, test.expected); return err })
		if n, _ := w.servers.Node("/x"); err != test.err || n.Stat.Version != test.becomes {
			t.Errorf("%+v: %v, version %d", test, err, n.Stat.Version)
		}
	}
}

// TestClientSemanticsWhileAway: what watches of each kind hear when their znodes change while the client is away.
// What came and went is not seen; kazoo sets no watch again.
func TestClientSemanticsWhileAway(t *testing.T) {
	const missed = "EventNodeCreated StateSyncConnected /x"
	for _, test := range []struct {
		name      string
		semantics goclient.ClientSemantics
		changes   []wire.Op
		want      []string
	}{
		{"go", goclient.SemanticsGo, []wire.Op{wire.OpCreate}, []string{missed, "closed"}},
		{"go, undone", goclient.SemanticsGo, []wire.Op{wire.OpCreate, wire.OpDelete}, nil},
		{"java", goclient.SemanticsJava, []wire.Op{wire.OpCreate},
			[]string{"EventSession StateDisconnected", "EventSession StateHasSession", missed, "closed"}},
		{"java, undone", goclient.SemanticsJava, []wire.Op{wire.OpCreate, wire.OpDelete},
			[]string{"EventSession StateDisconnected", "EventSession StateHasSession"}},
		{"kazoo", goclient.SemanticsKazoo, []wire.Op{wire.OpCreate},
			[]string{"EventSession StateDisconnected", "closed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWire(fakezk.Config{})
			c, conn := w.watcher(t, test.semantics)
			var watch <-chan zk.Event
			w.do(c, func() (err error) { _, _, watch, err = conn.ExistsW("/x"); return err })
			c.Break(zk.ErrConnectionClosed)
			for _, op := range test.changes {
				w.admin(t, op)
			}
			w.resume(c, 0)
			wantEvents(t, watch, test.want...)
		})
	}
}

// resume connects and carries out all that the client sends by itself.
func (w *cable) resume(c *goclient.Client, replica int) {
	c.Dial(w.now, replica)
	for c.Sent() != nil {
		c.Arrive(w.now)
	}
	for w.servers.Pending(c.Connection()) > 0 {
		c.Deliver()
	}
}

// TestNoWatchOutlivesItsSession: whatever the client library, a change in the new session reaches no watch
// of the old one.
func TestNoWatchOutlivesItsSession(t *testing.T) {
	for name, semantics := range map[string]goclient.ClientSemantics{"go": goclient.SemanticsGo,
		"java": goclient.SemanticsJava, "kazoo": goclient.SemanticsKazoo} {
		t.Run(name, func(t *testing.T) {
			w := newWire(fakezk.Config{})
			c, conn := w.watcher(t, semantics)
			var watch <-chan zk.Event
			w.do(c, func() (err error) { _, _, watch, err = conn.ExistsW("/x"); return err })
			c.Break(zk.ErrConnectionClosed)
			w.servers.Expire(w.now, c.Session())
			w.resume(c, 0) // learns
			w.resume(c, 0) // a new session
			w.admin(t, wire.OpCreate)
			if n := len(w.servers.Watches()); n != 0 || w.servers.Pending(c.Connection()) != 0 {
				t.Errorf("%d watches at the servers, %d messages on the way", n, w.servers.Pending(c.Connection()))
			}
			if all := drain(watch); len(all) < 2 || all[len(all)-1] != "closed" {
				t.Errorf("the watch heard %q, want its end", all)
			}
		})
	}
}
