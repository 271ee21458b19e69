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
	"github.com/zktorture/zktorture/wire"
	"github.com/zktorture/zktorture/wire/strike"
)

// connection is one client's. What is above mu belongs to the goroutine that reads, or is guarded by Server.mu.
type connection struct {
	server  *Server
	member  *member
	net     net.Conn
	in      *bufio.Reader
	id      fakezk.ConnID
	session int64
	since   time.Time
	order   int       // in which connections came
	sent    []pending // requests
	cut     Moment    // of the next request at which it is cut
	held    bool      // see Hold
	counts  traffic
	last    outcome

	// of faults that strike by themselves
	number  int // of the connection, from 1
	client  *client
	timeout time.Duration  // of the session
	idle    *strike.Strike // at the next ping
	watch   *strike.Strike // at the next event
	deaf    bool           // what the client sends is lost

	// of the messages that are held back, those that are counted in unread
	heldCount, heldBytes int

	mu      sync.Mutex
	full    [][]byte // encoded, and not yet written
	out     []byte   // as full, and behind it
	unread  int      // bytes of full and out, of what is being written, and of what is held back
	writing bool     // a goroutine writes
	closing bool     // after what is in out
}

// pending is a request without a reply.
type pending struct {
	protocol.Asked
	at time.Time
}

const (
	readBuffer      = 4 << 10
	flushAt         = 64 << 10               // bytes of replies that are written though more requests have arrived
	unreadMax       = 64 << 20               // bytes that a client may leave unread before it is cut off
	allUnreadMax    = 128 << 20              // bytes that all clients together may leave unread
	argumentTimeout = 100 * time.Millisecond // for what follows a four-letter word

	closeTimeout = 2 * time.Second // for what is still to be written to a connection that the server closes
)

// serve reads a connection until its end.
func (c *connection) serve() {
	c.net.SetReadDeadline(time.Now().Add(c.server.cfg.Greeting))
	first, err := c.in.Peek(wordBytes)
	if err != nil {
		return
	}
	if word, ok := words[string(first)]; ok {
		if argument, err := c.argument(word.argument); err == nil {
			c.server.say(word, c, argument)
			c.finish()
		}
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

// argument reads the bytes that follow a four-letter word.
func (c *connection) argument(length int) ([]byte, error) {
	b := make([]byte, wordBytes+length)
	c.net.SetReadDeadline(time.Now().Add(argumentTimeout))
	_, err := io.ReadFull(c.in, b)
	return b[wordBytes:], err
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
	if c.server.keptAway(c, asked.Session) {
		return false
	}
	answer, attached := c.server.attach(c, &asked)
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
		c.server.meet(c, asked, &r)
		if !c.server.handle(c, asked, &r, malformed != nil) {
			return
		}
		if !c.another() || c.many() {
			c.flush()
		}
	}
}

// frameHeader is the length of a frame's length.
const frameHeader = 4

// frameMax is the longest frame that a server takes of a client (jute.maxbuffer).
func (s *Server) frameMax() int { return int(s.cfg.Ensemble.BufferMax) }

// another tells whether another whole frame has been received.
func (c *connection) another() bool {
	if c.in.Buffered() < wordBytes {
		return false
	}
	length, _ := c.in.Peek(wordBytes)
	return int64(c.in.Buffered()-wordBytes) >= int64(binary.BigEndian.Uint32(length))
}

// many tells whether there is much to be written.
func (c *connection) many() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.full) > 0
}

// take encodes what the ensemble has for the connection. Server.mu is held.
func (c *connection) take() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(-c.heldBytes)
	c.heldCount, c.heldBytes = 0, 0
	for {
		m, ok := c.server.servers.Next(c.id)
		before := len(c.out)
		if length := m.Length(); length > readBuffer { // a buffer that grows leaves several times as much behind
			c.out = slices.Grow(c.out, length)
		}
		switch {
		case !ok:
			return
		case m.Closed:
			c.end()
			return
		case m.Reply != nil:
			c.out = protocol.AppendReply(c.out, c.sent[0].Asked, m.Reply)
			c.replied(c.sent[0], m.Reply.Zxid, len(c.out)-before-frameHeader)
			c.sent = slices.Delete(c.sent, 0, 1)
		default:
			c.out = protocol.AppendEvent(c.out, &m)
		}
		c.count(len(c.out) - before)
		if len(c.out) >= flushAt {
			c.full, c.out = append(c.full, c.out), nil
		}
		c.said()
	}
}

// holdBack counts the messages that wait in the ensemble as unread. Server.mu is held.
func (c *connection) holdBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.server.servers.Waiting(c.id)
	for ; c.heldCount < len(waiting); c.heldCount++ {
		n := waiting[c.heldCount].Length()
		c.heldBytes += n
		c.count(n)
	}
}

// count adds to what is unread. mu is held.
func (c *connection) count(bytes int) {
	bytes = max(bytes, -c.unread)
	c.unread += bytes
	c.server.unread.Add(int64(bytes))
}

// left is how many bytes the client has left unread.
func (c *connection) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unread
}

// discard forgets what has not been written. mu is held.
func (c *connection) discard() {
	c.full, c.out = nil, nil
	c.count(-c.unread)
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
	c.server.drop(c)
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
		c.count(-len(next))
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

const loopback = "127.0.0.1"

// address is the host that a client comes from, for ACLs of scheme ip and the limit of connections.
func address(c net.Conn) string {
	if host, _, err := net.SplitHostPort(c.RemoteAddr().String()); err == nil {
		return host
	}
	return loopback // a pipe
}
