package server_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// connect returns a client of a server, with its session.
func connect(t testing.TB, addresses string, timeout time.Duration) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	c, events, err := zk.Connect(strings.Split(addresses, ","), timeout, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	c.SetLogger(log.New(io.Discard, "", 0))
	t.Cleanup(c.Close)
	awaitState(t, events, zk.StateHasSession)
	return c, events
}

func awaitState(t testing.TB, events <-chan zk.Event, want zk.State) {
	t.Helper()
	for e := (zk.Event{}); e.Type != zk.EventSession || e.State != want; {
		e = testkit.From(t, fmt.Sprint("the client is in state ", want), events)
	}
}

// lasting is the timeout of sessions that a busy machine does not break.
const lasting = 40 * time.Second

// untimed are servers whose sessions end only when a test ends them: their tick lasts for years.
func untimed(replicas int) fakezk.Config {
	return fakezk.Config{
		Replicas: replicas, Tick: tick, MinSession: lasting.Milliseconds(), MaxSession: lasting.Milliseconds(),
	}
}

const tick = 1 << 41 // ms

var open = zk.WorldACL(zk.PermAll)

// A request whose connection is cut was carried out or not, as the test says; its session lives on.
func TestCut(t *testing.T) {
	t.Parallel()
	s := fakezktest.Start(t, server.Config{})
	c, events := connect(t, s.Addr(0), lasting)
	session := c.SessionID()
	for when, there := range map[string]bool{"before": false, "after": true} {
		if err := s.Cut(session, when); err != nil {
			t.Fatal(err)
		}
		path := "/" + string(when)
		if _, err := c.Create(path, nil, 0, open); err == nil {
			t.Errorf("cut %s: no error", when)
		}
		awaitState(t, events, zk.StateHasSession)
		if got, _, err := c.Exists(path); got != there || err != nil {
			t.Errorf("cut %s: there %v, %v", when, got, err)
		}
	}
	if c.SessionID() != session {
		t.Error("another session")
	}
}

// tree lists the znodes, each with its data.
func tree(s *server.Server) (paths []string) {
	s.Inspect(func(e *fakezk.Ensemble) {
		e.Walk("/", func(path string, n fakezk.NodeInfo) { paths = append(paths, path+" "+string(n.Data)) })
	})
	return paths
}

// What is held comes later, in order.
func TestHold(t *testing.T) {
	t.Parallel()
	s := fakezktest.Start(t, server.Config{})
	c, _ := connect(t, s.Addr(0), lasting)
	if err := s.Hold(c.SessionID()); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error)
	go func() {
		_, err := c.Create("/h", nil, 0, open)
		answered <- err
	}()
	testkit.Until(t, "it is carried out", func() bool { return slices.Contains(tree(s), "/h ") })
	select {
	case err := <-answered:
		t.Fatalf("answered though held: %v", err)
	default:
	}
	if err := s.Release(c.SessionID()); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// Advance expires the sessions that are not heard from.
func TestAdvance(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	away, _ := connect(t, s.Addr(0), lasting)
	here, _ := connect(t, s.Addr(0), lasting)
	lost, kept := away.SessionID(), here.SessionID()
	s.Stop(0) // so that it does not come back by itself
	s.Advance(lasting / 2)
	alive := func(session int64) (is bool) {
		s.Inspect(func(e *fakezk.Ensemble) { is = e.Alive(session) })
		return is
	}
	if !alive(lost) || !alive(kept) {
		t.Fatal("a session has ended before its timeout")
	}
	s.Inspect(func(e *fakezk.Ensemble) { e.Touch(time.Now().Add(lasting/2).UnixMilli(), kept) })
	s.Advance(lasting * 3 / 4)
	if alive(lost) || !alive(kept) {
		t.Errorf("alive: %v, which has not been heard of for %v, and %v, which has been", alive(lost), lasting*5/4, alive(kept))
	}
	s.Resume(0)
}

// A long way is short, however short a tick is: the clock leaps to what is due. Without a quorum nothing is.
func TestAdvanceFar(t *testing.T) {
	cfg := fakezk.Config{Tick: 1, TTL: true, MinSession: 1000, MaxSession: 40_000}
	s := fakezktest.Start(t, server.Config{Ensemble: cfg})
	away, _ := connect(t, s.Addr(0), lasting)
	for _, path := range []string{"/ttl", "/ttl/child"} { // one look removes the child, the next one its parent
		if _, err := away.CreateTTL(path, nil, zk.FlagTTL, open, 30*24*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	s.Stop(0)
	s.LoseQuorum()
	sessions := func() (n int) {
		s.Inspect(func(e *fakezk.Ensemble) { n = len(e.Sessions()) })
		return n
	}
	if s.Advance(time.Hour); sessions() != 1 {
		t.Error("a session has expired without a quorum")
	}
	s.RegainQuorum()
	for _, test := range []struct {
		days  time.Duration
		there bool
	}{{29, true}, {2, false}} {
		s.Advance(test.days * 24 * time.Hour)
		if there := slices.Contains(tree(s), "/ttl "); there != test.there || sessions() != 0 {
			t.Errorf("%d days on: there %v, %d sessions", test.days, there, sessions())
		}
	}
}

// faulty is a listener that cannot accept at first.
type faulty struct {
	net.Listener
	fails int
}

func (l *faulty) Accept() (net.Conn, error) {
	if l.fails--; l.fails >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// A port stays open though a client could not be accepted.
func TestServeGoesOn(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		s.Serve(0, &faulty{l, 2})
		close(ended)
	}()
	connect(t, l.Addr().String(), lasting)
	l.Close()
	<-ended
}

// What the ensemble limits, the server does: the longest frame is its BufferMax, and there are no more members than
// replicas.
func TestLimitsAreTheEnsembles(t *testing.T) {
	cfg := untimed(-1)
	cfg.BufferMax = 100
	s := fakezktest.Start(t, server.Config{Ensemble: cfg})
	if s.Members() != 1 {
		t.Errorf("%d members", s.Members())
	}
	c := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	c.send(&wire.RequestHeader{Xid: 1, Op: wire.OpExists}, &wire.WatchRequest{Path: "/" + strings.Repeat("x", 86)})
	c.wantHeader(1, wire.CodeNoNode)
	if _, err := c.net.Write([]byte{0, 0, 0, 101}); err != nil {
		t.Fatal(err)
	}
	c.wantEnd()
}

// A killed member refuses clients and comes back on its port with the tree. Without a majority no member serves and no
// session expires.
func TestMembersDie(t *testing.T) {
	t.Parallel()
	s := fakezktest.Start(t, server.Config{Ensemble: untimed(3)})
	c, events := connect(t, s.Addr(2), lasting)
	if _, err := c.Create("/e", nil, zk.FlagEphemeral, open); err != nil {
		t.Fatal(err)
	}
	s.Kill(2)
	awaitState(t, events, zk.StateDisconnected)
	s.Kill(1)
	if word := ask(t, s.Addr(0), "srvr"); word != "This ZooKeeper instance is not currently serving requests\n" {
		t.Errorf("%q", word)
	}
	s.Advance(time.Minute)
	s.Restart(1)
	s.Restart(2)
	awaitState(t, events, zk.StateHasSession)
	if there, stat, err := c.Exists("/e"); !there || stat.EphemeralOwner != c.SessionID() {
		t.Errorf("%v %v", there, err)
	}
}

// A member hangs and goes on: nothing is lost.
func TestStop(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	c, _ := connect(t, s.Addr(0), lasting)
	s.Stop(0)
	answered := make(chan error)
	go func() {
		_, err := c.Create("/x", nil, 0, open)
		answered <- err
	}()
	s.Stop(0)
	s.Resume(0)
	s.Resume(0)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func ask(t testing.TB, address, word string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, word)
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	return string(answer)
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := server.New(server.Config{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Listen(0, "127.0.0.1:0"); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
