package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// client speaks the protocol as a test likes.
type client struct {
	t    testing.TB
	conn net.Conn
}

func newProxy(t testing.TB, cfg proxy.Config) *proxy.Proxy {
	t.Helper()
	p, err := proxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func dial(t testing.TB, address string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{t, conn}
}

// connected is a client with a session.
func connected(t testing.TB, address string) *client {
	t.Helper()
	c := dial(t, address)
	c.send(&wire.ConnectRequest{Timeout: 4000, Password: make([]byte, 16)})
	var granted wire.ConnectResponse
	if _, err := wire.Parse(c.receive(), &granted); err != nil || granted.Session == 0 {
		t.Fatalf("session %d, %v", granted.Session, err)
	}
	return c
}

func (c *client) send(records ...wire.Record) {
	c.t.Helper()
	if _, err := c.conn.Write(wire.AppendFrame(nil, records...)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) request(xid int32, path string) {
	c.t.Helper()
	c.send(&wire.RequestHeader{Xid: xid, Op: wire.OpSync}, &wire.PathRequest{Path: path})
}

func (c *client) receive() []byte {
	c.t.Helper()
	frame, err := wire.ReadFrame(c.conn, nil, wire.FrameMax)
	if err != nil {
		c.t.Fatal(err)
	}
	return frame
}

// replied receives the reply with a number.
func (c *client) replied(xid int32) {
	c.t.Helper()
	var h wire.ReplyHeader
	if _, err := wire.Parse(c.receive(), &h); err != nil || h.Xid != xid {
		c.t.Errorf("the reply to %d, %v; want that to %d", h.Xid, err, xid)
	}
}

// ended waits for the end of the connection.
func (c *client) ended() {
	c.t.Helper()
	if frame, err := wire.ReadFrame(c.conn, nil, wire.FrameMax); err == nil {
		c.t.Errorf("% x came instead of the end", frame)
	}
}

// refused checks that no client is served at an address.
func refused(t testing.TB, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return // reset before it was known here
	}
	defer conn.Close()
	(&client{t, conn}).ended()
}

// silent is for what should not arrive: it gives it that long.
const silent = 50 * time.Millisecond

// nothing sees that nothing arrives and the connection stays.
func (c *client) nothing() {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(silent))
	if _, err := c.conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Errorf("something arrived, or the connection has ended: %v", err)
	}
	c.conn.SetReadDeadline(time.Time{})
}

// Frames pass unchanged in whatever pieces they come, and so do replies and events, in order.
func TestForwards(t *testing.T) {
	s := newServer(t)
	p := newProxy(t, proxy.Config{Servers: []string{s.addr()}})
	c := connected(t, p.Addr())
	s.await("connect")
	r := rand.New(rand.NewPCG(1, 1))
	var stream []byte
	const n = 300
	for i := range int32(n) {
		stream = wire.AppendFrame(stream, &wire.RequestHeader{Xid: i + 1, Op: wire.OpSync},
			&wire.PathRequest{Path: fmt.Sprintf("/%d%s", i, strings.Repeat("x", r.IntN(3000)))})
	}
	go func() {
		for len(stream) > 0 {
			piece := stream[:min(len(stream), 1+r.IntN(5000))]
			if _, err := c.conn.Write(piece); err != nil {
				return
			}
			stream = stream[len(piece):]
		}
	}()
	for i := range int32(n) {
		c.replied(i + 1)
	}
	s.tell("/watched")
	var h wire.ReplyHeader
	var event wire.WatcherEvent
	body, err := wire.Parse(c.receive(), &h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wire.Parse(body, &event); err != nil || event.Path != "/watched" || h.Xid != wire.XidWatch {
		t.Errorf("%+v, %+v, %v", h, event, err)
	}
}

// script decides by what a frame is, and notes what it has seen.
type script struct {
	mu   sync.Mutex
	seen []string
	cut  func(f *proxy.Frame) proxy.Action
}

func (s *script) direct(_ <-chan struct{}, f *proxy.Frame) proxy.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, fmt.Sprintf("%v %v %s", f.Kind, f.Op, f.Path))
	return s.cut(f)
}

// A director cuts before or after a request, a reply, or an event; what the server has seen says which.
func TestCuts(t *testing.T) {
	for _, test := range []struct {
		name    string
		kind    wire.Kind
		action  proxy.Action
		applied bool // the server has seen the request
		replied bool // and the client the reply
	}{
		{"before the request", wire.Request, proxy.CutBefore, false, false},
		{"after the request", wire.Request, proxy.CutAfter, true, false},
		{"before the reply", wire.Reply, proxy.CutBefore, true, false},
		{"after the reply", wire.Reply, proxy.CutAfter, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			d := &script{cut: func(f *proxy.Frame) proxy.Action {
				if f.Kind == test.kind && f.Path == "/b" {
					return test.action
				}
				return proxy.Forward
			}}
			p := newProxy(t, proxy.Config{Servers: []string{s.addr()}, Director: d.direct})
			c := connected(t, p.Addr())
			c.request(1, "/a")
			c.replied(1)
			c.request(2, "/b")
			if test.replied {
				c.replied(2)
			}
			c.ended()
			s.await("connect", "sync /a")
			if test.applied {
				s.await("sync /b")
			}
			s.await("closed")
		})
	}
}

// What a director sees says what the frames are.
func TestDirectorSees(t *testing.T) {
	s := newServer(t)
	d := &script{cut: func(*proxy.Frame) proxy.Action { return proxy.Forward }}
	p := newProxy(t, proxy.Config{Servers: []string{s.addr()}, Director: d.direct})
	c := connected(t, p.Addr())
	c.send(&wire.RequestHeader{Xid: wire.XidPing, Op: wire.OpPing})
	c.replied(wire.XidPing)
	c.request(1, "/a")
	c.replied(1)
	s.tell("/w")
	c.receive()
	d.mu.Lock()
	defer d.mu.Unlock()
	want := "connect op 0 |connected op 0 |request ping |reply ping |request sync /a|reply sync /a|event op 0 /w"
	if got := strings.Join(d.seen, "|"); got != want {
		t.Errorf("seen:\n%s\nwant:\n%s", got, want)
	}
}

// What is held comes later, in order; what was held at a cut is lost.
func TestHold(t *testing.T) {
	s := newServer(t)
	p := newProxy(t, proxy.Config{Servers: []string{s.addr()}})
	c := connected(t, p.Addr())
	s.await("connect")
	p.Hold(proxy.ToServer, true)
	c.request(1, "/a")
	c.request(2, "/b")
	c.nothing()
	p.Hold(proxy.ToServer, false)
	c.replied(1)
	c.replied(2)
	s.await("sync /a", "sync /b")

	p.Hold(proxy.ToClient, true)
	c.request(3, "/c")
	s.await("sync /c")
	c.nothing()
	p.Cut()
	c.ended()
	s.await("closed")
}

// Of a half-open connection the other end believes that it is connected.
func TestHalfOpen(t *testing.T) {
	s := newServer(t)
	p := newProxy(t, proxy.Config{Servers: []string{s.addr()}})
	c := connected(t, p.Addr())
	s.await("connect")
	p.CutOff(1, proxy.ToServer)
	c.ended()
	s.tell("/into the void")
	select {
	case e := <-s.events:
		t.Errorf("the server has seen %q", e)
	case <-time.After(silent):
	}
	stays := connected(t, p.Addr())
	s.await("connect")
	p.CutHalfOpen()
	s.await("closed")
	stays.request(1, "/a")
	stays.replied(1)
	s.await("sync /a")

	c = connected(t, p.Addr())
	s.await("connect")
	p.CutOff(3, proxy.ToClient)
	s.await("closed")
	c.request(1, "/into the void")
	stays.request(2, "/b")
	stays.replied(2)
	c.nothing()
}

// What is malformed, from either side, closes that connection with a sentence, and no other.
func TestMalformed(t *testing.T) {
	frame := func(s string) []byte { return append([]byte{0, 0, 0, byte(len(s))}, s...) }
	hello := wire.AppendFrame(nil, &wire.ConnectRequest{Timeout: 4000})
	for name, garbage := range map[string][]byte{
		"a length":            {0xff, 0xff, 0xff, 0xff},
		"a length of a web's": []byte("GET / HTTP/1.1\r\n\r\n"),
		"no connect request":  frame("short"),
		"no header":           append(bytes.Clone(hello), frame("xx")...),
		"no such create": append(bytes.Clone(hello),
			frame("\x00\x00\x00\x01\x00\x00\x00\x01\x7f\xff\xff\xff")...),
		"cut off in the middle": append(bytes.Clone(hello), 0, 0, 0, 9, 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			var log bytes.Buffer
			p := newProxy(t, proxy.Config{Servers: []string{s.addr()}, Log: slog.New(slog.NewTextHandler(&log, nil))})
			good, bad := connected(t, p.Addr()), dial(t, p.Addr())
			bad.conn.Write(garbage)
			bad.conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, bad.conn)
			good.request(1, "/a")
			good.replied(1)
			p.Close()
			if text := log.String(); strings.Count(text, "\n") != 1 ||
				!strings.Contains(text, "the connection is closed: ") ||
				!strings.Contains(text, `direction="to server"`) {
				t.Errorf("logged: %s", text)
			}
		})
	}
	for name, garbage := range map[string][]byte{
		"a length":                      {0x7f, 0xff, 0xff, 0xff},
		"a reply that nobody asked for": wire.AppendFrame(nil, &wire.ReplyHeader{Xid: 77}),
		"no event":                      frame("\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x01"),
	} {
		t.Run("from the server, "+name, func(t *testing.T) {
			s := newServer(t)
			var log bytes.Buffer
			p := newProxy(t, proxy.Config{Servers: []string{s.addr()}, Log: slog.New(slog.NewTextHandler(&log, nil))})
			c := connected(t, p.Addr())
			s.mu.Lock()
			s.conns[0].Write(garbage)
			s.mu.Unlock()
			c.ended()
			connected(t, p.Addr())
			p.Close()
			if text := log.String(); strings.Count(text, "\n") != 1 ||
				!strings.Contains(text, `direction="to client"`) {
				t.Errorf("logged: %s", text)
			}
		})
	}
}

// The proxy knows the session, with which another can end it.
func TestSessionAndExpire(t *testing.T) {
	s := newServer(t)
	p := newProxy(t, proxy.Config{Servers: []string{s.addr()}})
	connected(t, p.Addr())
	s.await("connect")
	session := p.Session()
	if session.ID != firstSession+1 || string(session.Password) != "secret of 16 byt" ||
		session.Timeout != 4*time.Second || session.Server != s.addr() {
		t.Fatalf("%+v", session)
	}
	other := newServer(t)
	if _, err := proxy.Expire(t.Context(), other.addr(), session); err != nil {
		t.Fatal(err)
	}
	other.await("connect", "closeSession ")
	ctx, cancel := context.WithTimeout(t.Context(), silent)
	defer cancel()
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	if _, err := proxy.Expire(ctx, deaf.Addr().String(), session); err == nil {
		t.Error("a server that never answers has expired a session")
	}
}

// A server may apply the end of a session while it resumes it, and hangs up then. It is asked again, once.
func TestExpireOfEnding(t *testing.T) {
	gone, resumed := &wire.ConnectResponse{}, &wire.ConnectResponse{Session: 7, Timeout: 4000}
	for name, test := range map[string]struct {
		answers []*wire.ConnectResponse // the server hangs up after each
		alive   bool
		err     error
	}{
		"gone":                  {answers: []*wire.ConnectResponse{gone}},
		"no answer, gone":       {answers: []*wire.ConnectResponse{nil, gone}},
		"ended meanwhile, gone": {answers: []*wire.ConnectResponse{resumed, gone}, alive: true},
		"never an answer":       {answers: []*wire.ConnectResponse{nil, nil}, err: io.EOF},
		"never closed":          {answers: []*wire.ConnectResponse{nil, resumed}, err: io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			served := make(chan error, 1)
			go func() { served <- answerAndHangUp(listener, test.answers) }()
			alive, err := proxy.Expire(t.Context(), listener.Addr().String(), proxy.Session{ID: 7})
			if alive != test.alive || !errors.Is(err, test.err) {
				t.Errorf("alive: %v, %v, want %v, %v", alive, err, test.alive, test.err)
			}
			listener.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

// answerAndHangUp is a server that answers one connect after the other, nil not at all, and hangs up.
func answerAndHangUp(listener net.Listener, answers []*wire.ConnectResponse) error {
	for _, answer := range answers {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		defer conn.Close()
		frame, err := wire.ReadFrame(conn, nil, wire.FrameMax)
		if err == nil && answer != nil {
			_, err = conn.Write(wire.AppendFrame(nil, answer))
		}
		if err == nil && answer != nil && answer.Session != 0 {
			_, err = wire.ReadFrame(conn, frame, wire.FrameMax) // closeSession
		}
		if err != nil {
			return err
		}
		conn.Close()
	}
	return nil
}

// If a server does not answer the next is tried; if none does the client's connection is closed.
func TestServersInTurn(t *testing.T) {
	gone := newServer(t)
	gone.listener.Close()
	s := newServer(t)
	p := newProxy(t, proxy.Config{Servers: []string{gone.addr(), s.addr()}})
	for range 4 {
		connected(t, p.Addr())
	}
	none := newProxy(t, proxy.Config{Servers: []string{gone.addr()}})
	refused(t, none.Addr())
	if _, err := proxy.New(proxy.Config{}); err == nil {
		t.Error("a proxy to nowhere")
	}
}

// A thousand connections are held at a time, each with requests.
func TestThousandConnections(t *testing.T) {
	s := newServer(t)
	p := newProxy(t, proxy.Config{Servers: []string{s.addr()}})
	var clients []*client
	const n = 1000
	for range n {
		clients = append(clients, connected(t, p.Addr()))
	}
	for round := range int32(3) {
		for _, c := range clients {
			c.request(round, "/a")
		}
		for _, c := range clients {
			c.replied(round)
		}
	}
	if got := p.Connections(); got != n {
		t.Errorf("%d connections are open", got)
	}
	p.Cut()
	for _, c := range clients {
		c.ended()
	}
}
