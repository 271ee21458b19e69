package conformance_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
)

// Both sides are set up alike. Sessions may last from 2 ticks to 40 s, which a busy machine does not break.
const (
	tick         = 250 * time.Millisecond
	reapInterval = 100 * time.Millisecond // how often containers and TTL znodes are looked at
	patience     = testkit.Hang
	lasting      = 40 * time.Second
)

// conn is the part of *zk.Conn that transcripts use.
type conn interface {
	recipes.Conn
	AddAuth(scheme string, auth []byte) error
	Reconfig(members []string, version int64) (*zk.Stat, error)
	Close()
}

// client is a connection of one of the sides, with what can be done to it from outside.
type client struct {
	conn
	events <-chan zk.Event
	cut    func() error
	heal   func(watches int) error // returns when the client has re-armed its watches
}

// side is a server to play with: the fake or the real one.
type side struct {
	connect func(timeout time.Duration) (*client, error)
	wait    func(done func() bool) error // lets time pass until done
}

func newFake(with setup) *side {
	local := goclient.NewLocal(with.fake())
	return &side{
		connect: func(timeout time.Duration) (*client, error) {
			c, events, err := local.Connect(timeout)
			return &client{
				conn: c, events: events,
				cut:  func() error { local.Disconnect(c); return nil },
				heal: func(int) error { local.Reconnect(c); return nil },
			}, err
		},
		wait: func(done func() bool) error {
			for passed := time.Duration(0); passed < patience; passed += reapInterval {
				if done() {
					return nil
				}
				local.Advance(reapInterval)
			}
			return errors.New("it did not happen")
		},
	}
}

// newServed is the fake behind a port, with the real client.
func newServed(t testing.TB, with setup) *side {
	t.Helper()
	s := fakezktest.Start(t, server.Config{Ensemble: with.fake()})
	return &side{
		connect: func(timeout time.Duration) (*client, error) { return connectReal(t, s.Addr(0), timeout) },
		wait: func(done func() bool) error {
			return eventually(func() bool { s.Advance(0); return done() }) // looks at containers as often as the real one
		},
	}
}

// newReal starts a server of its own, which ends with the test.
func newReal(t testing.TB, with setup) *side {
	t.Helper()
	e := startReal(t, with)
	return &side{
		connect: func(timeout time.Duration) (*client, error) { return connectReal(t, e.ConnectString(), timeout) },
		wait:    eventually,
	}
}

func connectReal(t testing.TB, servers string, timeout time.Duration) (*client, error) {
	l := &link{}
	c, err := zkclient.Config{Servers: servers, SessionTimeout: timeout, Dial: l.dial}.Connect()
	if err != nil {
		return nil, err
	}
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return &client{
		conn: c, events: c.Events(),
		cut: func() error {
			l.cut()
			return eventually(func() bool { return c.State() == zk.StateConnecting }) // after Disconnected was told
		},
		heal: func(watches int) error {
			session := c.SessionID()
			l.heal()
			return eventually(func() bool {
				rearmed := watches == 0 || c.SessionID() != session || l.hasRearmed()
				return c.State() == zk.StateHasSession && rearmed
			})
		},
	}, c.WaitSession(ctx)
}

// eventually looks again and again until done, in real time.
func eventually(done func() bool) error {
	deadline := time.After(patience)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-deadline:
			return errors.New("it did not happen")
		}
	}
	return nil
}

// link is a client's way to the server, which can be cut.
type link struct {
	mu      sync.Mutex
	broken  bool
	conn    net.Conn
	rearmed bool // setWatches was sent since the link was healed
}

func (l *link) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return nil, errors.New("the link is cut")
	}
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	l.conn = &linkConn{Conn: conn, link: l}
	return l.conn, nil
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = true
	l.conn.Close()
}

func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken, l.rearmed = false, false
}

func (l *link) hasRearmed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rearmed
}

// linkConn watches for setWatches, which go-zookeeper sends some time after it has its session
// back. What is asked after that is answered after the events that were missed.
type linkConn struct {
	net.Conn
	link   *link
	frames atomic.Int32 // that were written
}

// SetReadDeadline sets none before the session: a client that does not wait for a slow server asks again, and the
// server makes two sessions, which are two transactions.
func (c *linkConn) SetReadDeadline(at time.Time) error {
	if c.frames.Load() <= 1 {
		return nil
	}
	return c.Conn.SetReadDeadline(at)
}

const opSetWatches = 101

// Write gets one frame at a time: length, xid, operation. The first is the connect request, which
// is made otherwise.
func (c *linkConn) Write(frame []byte) (int, error) {
	n, err := c.Conn.Write(frame)
	if c.frames.Add(1) > 1 && len(frame) >= 12 && binary.BigEndian.Uint32(frame[8:]) == opSetWatches {
		c.link.mu.Lock()
		defer c.link.mu.Unlock()
		c.link.rearmed = true
	}
	return n, err
}
