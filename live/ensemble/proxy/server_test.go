package proxy_test

import (
	"net"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// server is as much of a ZooKeeper as it takes to see what a proxy does: it grants sessions, answers every
// request at once, and notes what has come.
type server struct {
	t        testing.TB
	listener net.Listener
	events   chan string // what happened, in order

	mu    sync.Mutex
	conns []net.Conn
	zxid  int64
}

const firstSession = 0x100

func newServer(t testing.TB) *server {
	t.Helper()
	return serveOn(t, func(plain net.Listener) net.Listener { return plain })
}

// serveOn is a server on a listener that is made of one of TCP.
func serveOn(t testing.TB, over func(net.Listener) net.Listener) *server {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := over(plain)
	s := &server{t: t, listener: listener, events: make(chan string, 100_000)}
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			ended.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		s.hangUp()
		ended.Wait()
	})
	return s
}

// hangUp closes all connections.
func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

func (s *server) addr() string { return s.listener.Addr().String() }

func (s *server) serve(c net.Conn) {
	defer func() {
		s.events <- "closed"
		c.Close()
	}()
	frame, err := wire.ReadFrame(c, nil, wire.FrameMax)
	var hello wire.ConnectRequest
	if err != nil {
		return
	}
	if _, err := wire.Parse(frame, &hello); err != nil {
		return
	}
	granted := wire.ConnectResponse{Timeout: hello.Timeout, Session: hello.Session,
		Password: []byte("secret of 16 byt"), ReadOnly: hello.ReadOnly}
	if granted.Session == 0 {
		granted.Session = firstSession + s.tick()
	}
	s.events <- "connect"
	c.Write(wire.AppendFrame(nil, &granted))
	for {
		frame, err := wire.ReadFrame(c, frame, wire.FrameMax)
		if err != nil {
			return
		}
		if !s.answer(c, frame) {
			return
		}
	}
}

func (s *server) answer(c net.Conn, frame []byte) bool {
	var h wire.RequestHeader
	body, err := wire.Parse(frame, &h)
	if err != nil {
		return false
	}
	path := ""
	if r := wire.NewRequest(h.Op); r != nil {
		if _, err := wire.Parse(body, r); err != nil {
			return false
		}
		path = wire.PathOf(r)
	}
	s.events <- h.Op.String() + " " + path
	reply := []wire.Record{&wire.ReplyHeader{Xid: h.Xid, Zxid: s.tick()}}
	if r := wire.NewReply(h.Op); r != nil {
		if named, ok := r.(*wire.PathReply); ok {
			named.Path = path
		}
		reply = append(reply, r)
	}
	c.Write(wire.AppendFrame(nil, reply...))
	return h.Op != wire.OpCloseSession
}

func (s *server) tick() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zxid++
	return s.zxid
}

// tell sends an event on all connections.
func (s *server) tell(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Write(wire.AppendFrame(nil, &wire.ReplyHeader{Xid: wire.XidWatch, Zxid: -1},
			&wire.WatcherEvent{Type: 2, State: 3, Path: path}))
	}
}

// await waits for what happened next at the server.
func (s *server) await(want ...string) {
	s.t.Helper()
	for _, w := range want {
		if got := <-s.events; got != w {
			s.t.Errorf("at the server: %q, not %q", got, w)
		}
	}
}
