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

	mu      sync.Mutex
	out     []byte // encoded, and not yet written
	writing bool   // a goroutine writes
	closing bool   // after what is in out
}

// pending is a request without a reply.
type pending struct {
	protocol.Asked
	at time.Time
}

const (
	readBuffer      = 4 << 10
	flushAt         = 64 << 10               // bytes of replies that are written though more requests have arrived
	outMax          = 64 << 20               // bytes that a client may leave unread before it is cut off
	argumentTimeout = 100 * time.Millisecond // for what follows a four-letter word

	closeTimeout = 2 * time.Second // for what is still to be written to a connection that the server closes
)

// serve reads a connection until its end.
func (c *connection) serve() {
	first, err := c.in.Peek(wordBytes)
	if err != nil {
		return
	}
	if word, ok := words[string(first)]; ok {
		if argument, err := c.argument(word.argument); err == nil {
			answer := c.server.say(word, c, argument)
			c.net.SetWriteDeadline(time.Now().Add(closeTimeout))
			io.WriteString(c.net, answer)
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
		if !c.another() || c.pending() > flushAt {
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

func (c *connection) pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.out)
}

// take encodes what the ensemble has for the connection. Server.mu is held.
func (c *connection) take() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		m, ok := c.server.servers.Next(c.id)
		switch {
		case !ok:
			if len(c.out) > outMax {
				c.end()
			}
			return
		case m.Closed:
			c.end()
			return
		case m.Reply != nil:
			before := len(c.out)
			c.out = protocol.AppendReply(c.out, c.sent[0].Asked, m.Reply)
			c.replied(c.sent[0], m.Reply.Zxid, len(c.out)-before-frameHeader)
			c.sent = slices.Delete(c.sent, 0, 1)
		default:
			c.out = protocol.AppendEvent(c.out, &m)
		}
		c.said()
	}
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
	for len(c.out) > 0 {
		out := c.out
		c.out = spare
		c.mu.Unlock()
		_, err := c.net.Write(out)
		c.mu.Lock()
		if spare = out[:0]; err != nil {
			c.closing, c.out = true, nil
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
