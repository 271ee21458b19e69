package turnstile_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/ensemble"
	"github.com/zktorture/zktorture/ensemble/turnstile"
	"github.com/zktorture/zktorture/internal/ensembletest"
)

// fixture is a client behind a turnstile, and another that sees the truth.
type fixture struct {
	*testing.T
	ctx             context.Context
	turnstile       *turnstile.Turnstile
	client, witness *ensemble.Client
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	e := ensembletest.Start(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	f := &fixture{T: t, ctx: ctx}
	var err error
	if f.turnstile, err = turnstile.New(e.Servers()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.turnstile.Close() })
	connect := func(servers string) *ensemble.Client {
		return ensembletest.Connect(t, ensemble.ClientConfig{Servers: servers, SessionTimeout: 2 * time.Second})
	}
	f.client, f.witness = connect(f.turnstile.Addr()), connect(e.ConnectString())
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

// A request is applied when it is let through, and answered when its reply is; an event comes in its turn.
func TestOneByOne(t *testing.T) {
	f := newFixture(t)
	_, _, event, err := f.client.ExistsW("/a")
	f.must(err)
	f.turnstile.Shut()
	done := f.created("/b")
	f.must(f.turnstile.Request(f.ctx))
	if f.exists("/b") {
		t.Fatal("the request was applied before its turn")
	}
	f.must(f.turnstile.PassRequest(f.ctx))
	select {
	case err := <-done:
		t.Fatalf("the reply came before its turn: %v", err)
	default:
	}
	if !f.exists("/b") {
		t.Fatal("the request was not applied in its turn")
	}
	if code, err := f.turnstile.PassReply(f.ctx); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	f.must(<-done)

	_, err = f.witness.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
	f.must(err)
	if path, err := f.turnstile.PassEvent(f.ctx); path != "/a" || err != nil {
		t.Fatal(path, err)
	}
	if e := <-event; e.Type != zk.EventNodeCreated {
		t.Error(e)
	}

	again := f.created("/b")
	f.must(f.turnstile.PassRequest(f.ctx))
	if code, err := f.turnstile.PassReply(f.ctx); code != -110 || err != nil { // NodeExists
		t.Error(code, err)
	}
	if err := <-again; err != zk.ErrNodeExists {
		t.Error(err)
	}
	f.turnstile.Open()
	f.must(<-f.created("/c"))
}

// What is lost with the connection has been applied or not, and the client comes back in its turn.
func TestCutAndConnect(t *testing.T) {
	f := newFixture(t)
	session := f.client.SessionID()
	f.turnstile.Shut()
	done := f.created("/a")
	f.must(f.turnstile.PassRequest(f.ctx))
	f.turnstile.Cut()
	if err := <-done; err == nil {
		t.Error("the reply was not lost")
	}
	f.must(f.turnstile.Connect(f.ctx))
	done = f.created("/b")
	f.must(f.turnstile.PassRequest(f.ctx))
	_, err := f.turnstile.PassReply(f.ctx)
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
	f.turnstile.Shut()
	began := time.Now()
	f.must(f.turnstile.Expire(f.ctx))
	if f.exists("/own") {
		t.Error("the session's znode is there")
	}
	if f.client.State() != zk.StateHasSession {
		t.Errorf("the client has learned of it: %v", f.client.State())
	}
	end, over := f.turnstile.SessionEnd(session)
	since, known := f.turnstile.SessionGone(session)
	if !over || !known || end.Before(began) || since.Before(end) {
		t.Errorf("alive until %v, %v; gone since %v, %v", end, over, since, known)
	}
	f.turnstile.Closed()
	f.must(f.turnstile.Connect(f.ctx)) // it is told
	f.must(f.turnstile.Connect(f.ctx)) // and gets another
	if err := f.client.WaitSession(f.ctx); err != nil || f.client.SessionID() == session {
		t.Error(err)
	}
}
