package server

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/protocol"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// connection is one client's. What is above mu belongs to the goroutine that reads, or is guarded by Server.mu.
type connection struct {
	server  *Server
	member  *member
	net     net.Conn
	in      *bufio.Reader
	id      fakezk.ConnID
	session int64
	order   int              // in which connections came
	sent    []protocol.Asked // requests
	held    bool             // see Hold

	timeout time.Duration // of the session
	deaf    bool          // what the client sends is lost

	mu      sync.Mutex
	full    [][]byte // encoded, and not yet written
	out     []byte   // as full, and behind it
	writing bool     // a goroutine writes
	closing bool     // after what is in out
}

const (
	readBuffer = 4 << 10
	flushAt    = 64 << 10 // bytes of replies that are written though more requests have arrived

	closeTimeout = 2 * time.Second // for what is still to be written to a connection that the server closes
)

// serve reads a connection until its end.
func (c *connection) serve() {
	c.net.SetReadDeadline(time.Now().Add(c.server.cfg.Greeting))
	first, err := c.in.Peek(wordBytes)
	if err != nil {
		return
	}
	if word := string(first); words[word] != nil {
		c.in.Discard(wordBytes)
		c.say(word)
		c.finish()
		return
	}
	if !c.connect() {
		return
	}
	c.loop()
	if c.deaf {
		io.Copy(io.Discard, c.in)
	}
	c.finish()
}

// connect answers the first frame. It returns false if that is the end.
func (c *connection) connect() bool {
	frame, err := wire.ReadFrame(c.in, nil, c.server.frameMax())
	if err != nil {
		return false
	}
	c.net.SetReadDeadline(time.Time{})
	var asked wire.ConnectRequest
	if _, err := wire.Parse(frame, &asked); err != nil {
		return false
	}
	if !c.letIn(asked.Session) {
		return false
	}
	answer, attached := c.attach(&asked)
	if !attached && len(answer) > 0 {
		c.net.SetWriteDeadline(time.Now().Add(closeTimeout))
		c.net.Write(answer)
	}
	if attached {
		c.flush()
	}
	return attached
}

// loop takes requests. Replies are written when no further request has arrived, or when there are many.
func (c *connection) loop() {
	var frame []byte
	for {
		var err error
		if frame, err = wire.ReadFrame(c.in, frame, c.server.frameMax()); err != nil {
			return
		}
		var h wire.RequestHeader
		body, err := wire.Parse(frame, &h)
		if err != nil {
			return
		}
		r, malformed := protocol.ParseRequest(h.Op, body)
		asked := protocol.Asked{Xid: h.Xid, Op: h.Op}
		if !c.handle(asked, &r, malformed != nil) {
			return
		}
		if !c.another() || c.many() {
			c.flush()
		}
	}
}

// frameMax is the longest frame that a server takes of a client (jute.maxbuffer).
func (s *Server) frameMax() int { return int(s.cfg.Ensemble.BufferMax) }

// another reports whether another whole frame has been received.
func (c *connection) another() bool {
	if c.in.Buffered() < wordBytes {
		return false
	}
	length, _ := c.in.Peek(wordBytes)
	return int64(c.in.Buffered()-wordBytes) >= int64(binary.BigEndian.Uint32(length))
}

// many reports whether there is much to be written.
func (c *connection) many() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.full) > 0
}

// take encodes what the ensemble has for the connection. Server.mu is held.
func (c *connection) take() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		m, ok := c.server.servers.Next(c.id)
		switch {
		case !ok:
			return
		case m.Closed:
			c.end()
			return
		case m.Reply != nil:
			c.out = protocol.AppendReply(c.out, c.sent[0], m.Reply)
			c.sent = slices.Delete(c.sent, 0, 1)
		default:
			c.out = protocol.AppendEvent(c.out, &m)
		}
		if len(c.out) >= flushAt {
			c.full, c.out = append(c.full, c.out), nil
		}
	}
}

// discard forgets what has not been written. mu is held.
func (c *connection) discard() {
	c.full, c.out = nil, nil
}

// end lets the connection be closed after what is to be written. mu is held.
func (c *connection) end() {
	c.closing = true
	c.net.SetDeadline(time.Now().Add(closeTimeout))
}

// finish writes the replies to requests that were carried out before the one that ended the connection. The watches are
// removed before the client can see the end, as a real server does (NIOServerCnxn.close).
func (c *connection) finish() {
	c.server.mu.Lock()
	c.drop()
	c.server.mu.Unlock()
	c.mu.Lock()
	c.end()
	c.mu.Unlock()
	c.flush()
}

// flush writes pending replies, unless another goroutine does.
func (c *connection) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing {
		return
	}
	c.writing = true
	var spare []byte
	for len(c.full)+len(c.out) > 0 {
		next := c.out
		if len(c.full) > 0 {
			next = c.full[0]
			c.full = slices.Delete(c.full, 0, 1)
		} else {
			c.out = spare
		}
		c.mu.Unlock()
		_, err := c.net.Write(next)
		c.mu.Lock()
		if spare = next[:0]; err != nil {
			c.closing = true
			c.discard()
		}
	}
	if c.out == nil && cap(spare) <= flushAt {
		c.out = spare
	}
	c.writing = false
	if c.closing {
		c.net.Close()
	}
}

// admit registers a connection. It returns false if the member is dead or the host is at MaxClientCnxns.
func (c *connection) admit() bool {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	host, m := address(c.net), c.member
	if s.ctx.Err() != nil || m.dead || s.cfg.MaxClientCnxns > 0 && m.hosts[host] >= s.cfg.MaxClientCnxns {
		return false
	}
	m.hosts[host]++
	m.open[c] = true
	s.accepted++
	c.order = s.accepted
	return true
}

// leave ends a connection: its watches are removed, its session stays until it expires.
func (c *connection) leave() {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(c.member.open, c)
	host := address(c.net)
	if c.member.hosts[host]--; c.member.hosts[host] == 0 {
		delete(c.member.hosts, host)
	}
	c.drop()
	s.strikes.engine.Ended(c.order)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discard()
}

// drop takes a connection from the ensemble. Server.mu is held.
func (c *connection) drop() {
	s := c.server
	if s.clients[c.id] == c {
		delete(s.clients, c.id)
		s.servers.Release(c.id)
	}
}

// attach opens or resumes a session. If it is refused, the answer says so; a server that cannot serve gives none.
func (c *connection) attach(asked *wire.ConnectRequest) (answer []byte, attached bool) {
	s := c.server
	s.awake(c.member)
	defer s.mu.Unlock()
	if !c.member.open[c] || s.ctx.Err() != nil {
		return nil, false
	}
	handshake := protocol.Handshake(asked)
	handshake.Address = address(c.net)
	id, granted, err := s.servers.Connect(s.now(), c.member.index, handshake)
	s.deliver(nil) // a connection that the session had is closed
	if err != nil {
		s.cfg.Log.Info("client refused", "client", c.net.RemoteAddr(), "error", err)
		return nil, false
	}
	c.session, c.timeout = granted.SessionID, time.Duration(granted.Timeout)*time.Millisecond
	answer = protocol.AppendConnected(nil, asked, granted)
	if granted.SessionID != 0 {
		c.id = id
		s.clients[id] = c
	}
	if !c.answered(wire.Connected, protocol.Asked{}) {
		return nil, false
	}
	if granted.SessionID == 0 {
		return answer, false
	}
	c.write(answer)
	return nil, true
}

// handle carries out a request. It returns false if the connection has been cut.
func (c *connection) handle(asked protocol.Asked, r *fakezk.Request, malformed bool) bool {
	s := c.server
	s.awake(c.member)
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	if !c.meet(asked, r) {
		return false
	}
	c.sent = append(c.sent, asked)
	if malformed {
		s.servers.Malformed(s.now(), c.id, r.Op)
	} else {
		s.servers.Request(s.now(), c.id, r)
	}
	goesOn := c.answered(wire.Reply, asked)
	s.deliver(c)
	return goesOn
}

// write adds bytes to what is to be written to a connection. Server.mu is held.
func (c *connection) write(bytes []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, bytes...)
}

// release ends what holds a connection. Server.mu is held.
func (c *connection) release() {
	c.held = false
	c.server.queued = append(c.server.queued, c.id)
}

// hangUp breaks a connection without a word. Server.mu is held.
func (c *connection) hangUp() {
	c.drop()
	delete(c.member.open, c)
	if t, ok := c.net.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.net.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discard()
}

const loopback = "127.0.0.1"

// address is the host that a client comes from, for ACLs of scheme ip and the limit of connections.
func address(c net.Conn) string {
	if host, _, err := net.SplitHostPort(c.RemoteAddr().String()); err == nil {
		return host
	}
	return loopback // a pipe
}
