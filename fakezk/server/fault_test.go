package server_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// A cut loses no reply to an earlier request that came with the one it strikes.
func TestCutAfterPipelinedReply(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		s := fakezktest.Start(t, server.Config{})
		c := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
		if err := s.Cut(c.granted.Session, when); err != nil {
			t.Fatal(err)
		}
		both := wire.AppendFrame(nil, &wire.RequestHeader{Xid: wire.XidPing, Op: wire.OpPing})
		both = wire.AppendFrame(both, &wire.RequestHeader{Xid: 1, Op: wire.OpExists}, &wire.WatchRequest{Path: "/"})
		if _, err := c.net.Write(both); err != nil {
			t.Fatal(err)
		}
		c.wantHeader(wire.XidPing, 0)
		c.wantEnd()
	}
}

// Cut strikes the connection that the session has now, though an older one has not ended.
func TestCutStrikesTheNewest(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	first := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	last := first
	for range 8 {
		if err := s.Hold(last.granted.Session); err != nil { // so that it does not end
			t.Fatal(err)
		}
		last = dialRaw(t, s.Addr(0), first.granted)
	}
	if err := s.Cut(first.granted.Session, "before"); err != nil {
		t.Fatal(err)
	}
	last.send(&wire.RequestHeader{Xid: 1, Op: wire.OpExists}, &wire.WatchRequest{Path: "/"})
	last.wantEnd()
}

// LoseQuorum lasts until RegainQuorum, and a dead majority until enough members are back.
func TestQuorumHasTwoCauses(t *testing.T) {
	s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{Replicas: 3}})
	want := func(access, after string) {
		t.Helper()
		if got := ask(t, s.Addr(0), "isro"); got != access {
			t.Errorf("%s after %s, want %s", got, after, access)
		}
	}
	s.LoseQuorum()
	s.Kill(2)
	want("null", "LoseQuorum, Kill")
	s.Restart(2)
	want("null", "LoseQuorum, Kill, Restart")
	s.RegainQuorum()
	want("rw", "RegainQuorum")
	s.Kill(1)
	s.Kill(2)
	s.RegainQuorum()
	want("null", "two deaths, RegainQuorum")
	s.Restart(1)
	want("rw", "two deaths, RegainQuorum, Restart")
}

// A member that hung when it was killed does not hang when it is back.
func TestRestartEndsStop(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	s.Stop(0)
	s.Kill(0)
	s.Restart(0)
	dialRaw(t, s.Addr(0), wire.ConnectResponse{})
}

// What waits at a hanging member is not carried out when the server is closed.
func TestCloseWhileAMemberHangs(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	c, served := pipe(s, 0)
	if err := c.exchange(&c.granted, &wire.ConnectRequest{Timeout: 10_000}); err != nil {
		t.Fatal(err)
	}
	s.Stop(0)
	create := &wire.CreateRequest{Path: "/late", ACL: open}
	frame := wire.AppendFrame(nil, &wire.RequestHeader{Xid: 1, Op: wire.OpCreate}, create)
	if _, err := c.net.Write(frame); err != nil {
		t.Fatal(err)
	}
	s.Close()
	<-served
	s.Inspect(func(e *fakezk.Ensemble) {
		if _, there := e.Node("/late"); there {
			t.Error("the request was carried out")
		}
	})
}

// A connection that a death has cut opens no session when the member is back.
func TestKillWhileAClientConnects(t *testing.T) {
	s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{Replicas: 3}})
	s.Stop(2)
	c, served := pipe(s, 2)
	if _, err := c.net.Write(wire.AppendFrame(nil, &wire.ConnectRequest{Timeout: 10_000})); err != nil {
		t.Fatal(err)
	}
	s.Kill(2)
	s.Restart(2)
	s.Resume(2)
	<-served
	s.Inspect(func(e *fakezk.Ensemble) {
		if n := len(e.Sessions()); n != 0 {
			t.Errorf("%d sessions", n)
		}
	})
}

// pipe connects to a member; what was written has been read. served is closed when the server has left the connection.
func pipe(s *server.Server, member int) (c *rawClient, served chan struct{}) {
	here, there := net.Pipe()
	served = make(chan struct{})
	go func() {
		s.ServeConn(member, there)
		close(served)
	}()
	return &rawClient{net: here}, served
}

// After Close there is no new port.
func TestListenAfterClose(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	s.Close()
	if err := s.Listen(0, "127.0.0.1:0"); !errors.Is(err, server.ErrClosed) {
		t.Error(err)
	}
}

// A deposed leader answers reads, and syncs, as of the election; its clients see the present when it has noticed.
func TestDepose(t *testing.T) {
	t.Parallel()
	s := fakezktest.Start(t, server.Config{Ensemble: untimed(3)})
	a, atOld := connect(t, s.Addr(0), lasting)
	b, atNew := connect(t, s.Addr(1), lasting)
	if _, err := a.Create("/x", []byte("old"), 0, open); err != nil {
		t.Fatal(err)
	}
	if err := s.Depose(1); err != nil {
		t.Fatal(err)
	}
	awaitState(t, atNew, zk.StateDisconnected)
	awaitState(t, atNew, zk.StateHasSession)
	if _, err := b.Set("/x", []byte("new"), -1); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		if _, err := a.Sync("/x"); err != nil {
			t.Error(err)
		}
		data, _, err := a.Get("/x")
		return fmt.Sprint(string(data), err)
	}
	if got := read(); got != "old<nil>" {
		t.Errorf("the old leader says %s", got)
	}
	for member, mode := range []string{"leader", "leader", "follower"} {
		if got := ask(t, s.Addr(member), "srvr"); !strings.Contains(got, "\nMode: "+mode+"\n") {
			t.Errorf("server %d, want a %s: %s", member+1, mode, got)
		}
	}
	s.Notice()
	awaitState(t, atOld, zk.StateDisconnected)
	awaitState(t, atOld, zk.StateHasSession)
	if got := read(); got != "new<nil>" {
		t.Errorf("the old leader, which follows, says %s", got)
	}
}

// Who can be elected, and who not.
func TestCannotDepose(t *testing.T) {
	s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{Replicas: 3}})
	for _, step := range []struct {
		do        func()
		successor int
		says      string
	}{
		{func() {}, 0, "server 1 leads already"},
		{func() {}, 1, ""},
		{func() {}, 2, "server 1 is deposed, and has not noticed it yet"},
		{s.Notice, 1, "server 2 leads already"},
		{func() { s.Kill(2) }, 0, "without server 2, which leads, there is no majority"},
		{func() { s.Restart(2); s.LoseQuorum() }, 0, "there is no majority"},
		{s.RegainQuorum, 0, ""},
		{func() { s.Kill(1) }, 2, "without server 1, which leads"}, // it notices as it dies
	} {
		step.do()
		err := s.Depose(step.successor)
		if (err != nil) != (step.says != "") || err != nil && !strings.Contains(err.Error(), step.says) {
			t.Errorf("server %d: %v, want %q", step.successor+1, err, step.says)
		}
	}
}

// The others elect a leader in place of a dead one, at once or as soon as they are a majority.
func TestDeadLeaderIsReplaced(t *testing.T) {
	s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{Replicas: 3}})
	mode := func(member int) string {
		_, after, _ := strings.Cut(ask(t, s.Addr(member), "srvr"), "Mode: ")
		mode, _, _ := strings.Cut(after, "\n")
		return mode
	}
	s.Kill(0)
	if mode(1) != "leader" || mode(2) != "follower" {
		t.Errorf("the second server is a %q, the third a %q", mode(1), mode(2))
	}
	s.Kill(2)
	s.Kill(1)
	s.Restart(0)
	s.Restart(2)
	if mode(0) != "leader" || mode(2) != "follower" {
		t.Errorf("the first server is a %q, the third a %q", mode(0), mode(2))
	}
}
