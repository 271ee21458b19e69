package stepper_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/ensemble/stepper"
	"github.com/zktorture/zktorture/recipes/zkclient"
)

// fixture is a client behind a stepper, and another that sees the truth.
type fixture struct {
	*testing.T
	ctx             context.Context
	ensemble        *ensemble.Ensemble
	stepper         *stepper.Stepper
	client, witness *zkclient.Client
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	e := ensembletest.Share(t, 3)
	f := &fixture{T: t, ctx: testkit.Context(t), ensemble: e}
	var err error
	if f.stepper, err = stepper.New(e.Servers()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.stepper.Close() })
	f.client, f.witness = ensembletest.Witness(t, f.stepper.Addr()), ensembletest.Witness(t, e.ConnectString())
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) exists(path string) bool {
	f.Helper()
	_, err := f.witness.Sync("/")
	f.must(err)
	there, _, err := f.witness.Exists(path)
	f.must(err)
	return there
}

// created lets the client create a znode; the channel has what comes of it.
func (f *fixture) created(path string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := f.client.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
		done <- err
	}()
	return done
}

// asks waits for the client's next request.
func (f *fixture) asks() {
	f.Helper()
	_, _, err := f.stepper.Request(f.ctx)
	f.must(err)
}

// A request is applied when it is let through, and answered when its reply is; an event comes in its turn.
func TestOneByOne(t *testing.T) {
	f := newFixture(t)
	_, _, event, err := f.client.ExistsW("/a")
	f.must(err)
	f.stepper.Shut()
	done := f.created("/b")
	f.asks()
	if f.exists("/b") {
		t.Fatal("the request was applied before its turn")
	}
	f.must(f.stepper.PassRequest(f.ctx))
	select {
	case err := <-done:
		t.Fatalf("the reply came before its turn: %v", err)
	default:
	}
	if !f.exists("/b") {
		t.Fatal("the request was not applied in its turn")
	}
	if code, err := f.stepper.PassReply(f.ctx); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	f.must(<-done)

	_, err = f.witness.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
	f.must(err)
	if path, err := f.stepper.PassEvent(f.ctx); path != "/a" || err != nil {
		t.Fatal(path, err)
	}
	if e := <-event; e.Type != zk.EventNodeCreated {
		t.Error(e)
	}

	again := f.created("/b")
	f.must(f.stepper.PassRequest(f.ctx))
	if code, err := f.stepper.PassReply(f.ctx); code != -110 || err != nil { // NodeExists
		t.Error(code, err)
	}
	if err := <-again; err != zk.ErrNodeExists {
		t.Error(err)
	}
	f.stepper.Open()
	f.must(<-f.created("/c"))
}

// What is lost with the connection has been applied or not, and the client comes back in its turn.
func TestCutAndConnect(t *testing.T) {
	f := newFixture(t)
	session := f.client.SessionID()
	f.stepper.Shut()
	done := f.created("/a")
	f.must(f.stepper.PassRequest(f.ctx))
	f.stepper.Cut()
	if err := <-done; err == nil {
		t.Error("the reply was not lost")
	}
	f.must(f.stepper.Connect(f.ctx, 0))
	done = f.created("/b")
	f.must(f.stepper.PassRequest(f.ctx))
	_, err := f.stepper.PassReply(f.ctx)
	f.must(err)
	f.must(<-done)
	if !f.exists("/a") || f.client.SessionID() != session {
		t.Error("the request that was let through is lost, or the session")
	}
}

// A session ends at the servers before its client learns of it.
func TestExpire(t *testing.T) {
	f := newFixture(t)
	session := f.client.SessionID()
	_, err := f.client.Create("/own", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	f.must(err)
	f.stepper.Shut()
	began := time.Now()
	f.must(f.stepper.Expire(f.ctx))
	if f.exists("/own") {
		t.Error("the session's znode is there")
	}
	if f.client.State() != zk.StateHasSession {
		t.Errorf("the client has learned of it: %v", f.client.State())
	}
	end, over := f.stepper.SessionEnd(session)
	since, known := f.stepper.SessionGone(session)
	if !over || !known || end.Before(began) || since.Before(end) {
		t.Errorf("alive until %v, %v; gone since %v, %v", end, over, since, known)
	}
	f.stepper.Closed()
	f.must(f.stepper.Connect(f.ctx, 0)) // it is told
	f.must(f.stepper.Connect(f.ctx, 0)) // and gets another
	if err := f.client.WaitSession(f.ctx); err != nil || f.client.SessionID() == session {
		t.Error(err)
	}
}

// A client connects in vain and does not know of the session that has begun, which is there until it is ended.
func TestConnectInVain(t *testing.T) {
	e := ensembletest.Share(t, 3)
	s, err := stepper.New(e.Servers())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Shut()
	client, err := zkclient.Config{Servers: s.Addr(), SessionTimeout: ensembletest.Lasting}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx := testkit.Context(t)
	end, err := s.ConnectInVain(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if id := client.SessionID(); id != 0 || client.State() == zk.StateHasSession {
		t.Errorf("the client has session 0x%x", id)
	}
	if alive, err := end(ctx, 2); err != nil || !alive {
		t.Errorf("no session was begun: %v, %v", alive, err)
	}
	if alive, err := end(ctx, 0); err != nil || alive {
		t.Errorf("it was not ended: %v, %v", alive, err)
	}
	if err := s.Connect(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if err := client.WaitSession(ctx); err != nil {
		t.Error(err)
	}
	s.Open()
}

// watchers are the servers that keep a watch on a path.
func (f *fixture) watchers(path string) (servers []int) {
	f.Helper()
	for i := range f.ensemble.Servers() {
		all, err := f.ensemble.Member(i).Watches(f.ctx)
		f.must(err)
		for _, w := range all {
			if w.Path == path && w.Session == f.client.SessionID() {
				servers = append(servers, i)
			}
		}
	}
	return servers
}

// exchange lets the next request and its reply through.
func (f *fixture) exchange() {
	f.Helper()
	f.must(f.stepper.PassRequest(f.ctx))
	_, err := f.stepper.PassReply(f.ctx)
	f.must(err)
}

// A client connects to the server chosen, and its watches are set there when they are let through.
func TestRoute(t *testing.T) {
	f := newFixture(t)
	_, _, event, err := f.client.ExistsW("/watched")
	f.must(err)
	if servers := f.watchers("/watched"); !slices.Equal(servers, []int{0}) {
		t.Errorf("servers %v have the watch, not the first", servers)
	}
	f.stepper.Shut()
	for _, server := range []int{2, 1} {
		f.stepper.Cut()
		f.must(f.stepper.Connect(f.ctx, server))
		f.asks()
		if servers := f.watchers("/watched"); slices.Contains(servers, server) {
			t.Errorf("servers %v have the watch before its turn", servers)
		}
		f.exchange()
		// The server before it may not yet know that the connection is cut.
		for servers := f.watchers("/watched"); !slices.Equal(servers, []int{server}); servers = f.watchers("/watched") {
			if !slices.Contains(servers, server) {
				t.Fatalf("servers %v have the watch, not %d", servers, server)
			}
		}
	}
	_, err = f.witness.Create("/watched", nil, 0, zk.WorldACL(zk.PermAll))
	f.must(err)
	if path, err := f.stepper.PassEvent(f.ctx); path != "/watched" || err != nil {
		t.Error(path, err)
	}
	if e := <-event; e.Type != zk.EventNodeCreated {
		t.Error(e)
	}
}

// A client that forgets its watches has none after it has connected again.
func TestForget(t *testing.T) {
	f := newFixture(t)
	_, _, _, err := f.client.ExistsW("/watched")
	f.must(err)
	f.stepper.Shut()
	f.stepper.Forget()
	f.stepper.Cut()
	f.must(f.stepper.Connect(f.ctx, 0))
	done := f.created("/a")
	f.exchange()
	f.must(<-done)
	if servers := f.watchers("/watched"); len(servers) > 0 {
		t.Errorf("servers %v have the watch", servers)
	}
}

// A client whose session has ended gets the events of its end before it loses its connection. A server that ends a
// session sends the events of its znodes' end and closes the connection in two threads, and what has not been sent by
// then is lost: mostly they come.
func TestEventsOfAnEnd(t *testing.T) {
	ensembletest.Need(t)
	patience := time.Duration(0) // with each try longer, as the machine may be busy
	testkit.Until(t, "a client hears of its znode's end before its own", func() (heard bool) {
		patience += 100 * time.Millisecond
		t.Run("", func(t *testing.T) { heard = eventOfAnEnd(t, newFixture(t), patience) })
		return heard
	})
}

// eventOfAnEnd reports whether a client hears that its znode has gone with its session, and of that not yet.
func eventOfAnEnd(t *testing.T, f *fixture, patience time.Duration) bool {
	_, err := f.client.Create("/own", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	f.must(err)
	_, _, event, err := f.client.GetW("/own")
	f.must(err)
	f.stepper.Shut()
	f.must(f.stepper.Expire(f.ctx))
	soon, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	path, err := f.stepper.PassEvent(soon)
	if err == nil {
		if e := <-event; path != "/own" || e.Type != zk.EventNodeDeleted {
			t.Error(path, e)
		}
		if f.client.State() != zk.StateHasSession {
			t.Errorf("the client has learned of its end: %v", f.client.State())
		}
	}
	f.stepper.Closed()
	f.must(f.stepper.Connect(f.ctx, 0))
	return err == nil
}

// A client that is killed leaves its session to the servers, which can be ended all the same.
func TestKill(t *testing.T) {
	f := newFixture(t)
	_, err := f.client.Create("/own", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	f.must(err)
	f.stepper.Shut()
	done := f.created("/a")
	f.asks()
	f.stepper.Kill()
	if err := <-done; err == nil {
		t.Error("the dead have been answered")
	}
	if f.exists("/a") || !f.exists("/own") {
		t.Error("what the dead had not sent was carried out, or their session has ended")
	}
	f.must(f.stepper.Expire(f.ctx))
	if f.exists("/own") {
		t.Error("the session's znode is there")
	}
}
