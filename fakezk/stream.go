package fakezk

import (
	"slices"

	"github.com/go-zookeeper/zk"
)

// ConnID names a connection. It is not used again until Reset.
type ConnID int32

// connection is one client's connection to one replica. Its queue is sent by the server and not yet received.
type connection struct {
	id      ConnID
	session *session
	replica *replica
	timeout int64 // ms, as negotiated here
	open    bool
	hangs   bool // on what a deposed leader has proposed in vain
	address string
	ids     []identity
	super   bool
	watches int // entries in the replica's tables
	queue   []Message
	head    int
}

// streams are the connections to all replicas, by their numbers.
type streams struct {
	hooks  *Hooks
	blocks blocks
	list   []*connection
}

// attach makes a connection of a session to a replica.
func (s *streams) attach(to *replica, session *session, timeout int64, address string) *connection {
	c := s.next()
	*c = connection{
		id: c.id, session: session, replica: to, timeout: timeout, open: true,
		address: address, ids: append(c.ids[:0], identity{"ip", address}), queue: c.queue[:0],
	}
	to.connections = append(to.connections, c)
	session.owner, session.timeout = to.index, timeout
	return c
}

// next takes up memory that a Reset has left.
func (s *streams) next() *connection {
	n := len(s.list)
	if n < cap(s.list) {
		s.list = s.list[:n+1]
	} else {
		s.list = append(s.list, nil)
	}
	if s.list[n] == nil {
		s.list[n] = &connection{}
	}
	c := s.list[n]
	clear(c.queue)
	c.id = ConnID(n)
	return c
}

// byID returns nil if there is no such connection.
func (s *streams) byID(id ConnID) *connection {
	if id < 0 || int(id) >= len(s.list) {
		return nil
	}
	return s.list[id]
}

// push sends a message on an open connection. A client that has left queueMax messages undelivered is disconnected.
func (c *connection) push(m Message) {
	switch {
	case !c.open:
	case len(c.queue)-c.head >= queueMax:
		c.hangUp()
	default:
		c.enqueue(m)
	}
}

func (c *connection) enqueue(m Message) {
	c.queue = append(c.queue, m)
	if queued := c.replica.streams.hooks.OnQueued; queued != nil {
		queued(c.id)
	}
}

// sendEvent sends a watch event.
func (c *connection) sendEvent(event zk.EventType, path string) {
	m := Message{Event: event, Path: path, Zxid: c.replica.zxid}
	c.push(m)
	if sent := c.replica.streams.hooks.OnEvent; sent != nil {
		sent(c.id, m)
	}
}

// hangUp closes a connection from the server's side; what was sent before still arrives.
func (c *connection) hangUp() {
	if c.open {
		c.detach()
		c.enqueue(Message{Closed: true})
	}
}

func (c *connection) detach() {
	c.open = false
	r := c.replica
	if c.watches > 0 {
		r.data.forget(c)
		r.child.forget(c)
	}
	if i := slices.Index(r.connections, c); i >= 0 {
		r.connections = slices.Delete(r.connections, i, i+1)
	}
}

// waiting are the messages that the client has not received; of no connection, none.
func (c *connection) waiting() []Message {
	if c == nil {
		return nil
	}
	return c.queue[c.head:]
}

// pop keeps the queue's memory in use: it starts over when empty, and moves up when half of a long one is spent.
func (c *connection) pop() {
	c.queue[c.head] = Message{}
	c.head++
	switch {
	case c.head == len(c.queue):
		c.queue, c.head = c.queue[:0], 0
	case c.head > 64 && c.head > len(c.queue)/2:
		c.queue = slices.Delete(c.queue, 0, c.head)
		c.head = 0
	}
}

// Drop breaks a connection: its watches and undelivered messages are lost. The session goes on at the server.
func (e *Ensemble) Drop(id ConnID) {
	c := e.streams.byID(id)
	if c == nil {
		return
	}
	if c.open {
		c.detach()
	}
	clear(c.queue)
	c.queue, c.head = c.queue[:0], 0
}

// Release is Drop for a connection whose number is not used again: a long-running server forgets it.
func (e *Ensemble) Release(id ConnID) {
	e.Drop(id)
	if e.streams.byID(id) != nil {
		e.streams.list[id] = nil
	}
}

// Waiting are the messages that wait on a connection, the oldest first. They are valid until the ensemble changes.
func (e *Ensemble) Waiting(id ConnID) []Message { return e.streams.byID(id).waiting() }

// Pending returns how many messages wait on a connection.
func (e *Ensemble) Pending(id ConnID) int { return len(e.Waiting(id)) }

// Next takes the oldest message from a connection.
func (e *Ensemble) Next(id ConnID) (m Message, ok bool) {
	if waiting := e.Waiting(id); len(waiting) > 0 {
		m, ok = waiting[0], true
		e.streams.list[id].pop()
	}
	return m, ok
}

// blocks is memory that is allocated for many small things at once, each of which is given out once.
type blocks struct {
	responses []Response
	names     []string
	passwords []byte
}

const (
	responsesBlock = 16
	namesBlock     = 32
	passwordsBlock = 8
)

func (b *blocks) response() *Response {
	if len(b.responses) == 0 {
		b.responses = make([]Response, responsesBlock)
	}
	r := &b.responses[0]
	b.responses = b.responses[1:]
	return r
}

// namesOf lists the children of a node.
func (b *blocks) namesOf(n *node) []string {
	count := n.children.count
	if count == 0 || count > namesBlock/4 {
		return n.names()
	}
	if count > len(b.names) {
		b.names = make([]string, namesBlock)
	}
	list := n.appendNames(b.names[:0:count])
	b.names = b.names[count:]
	return list
}

// passwordOf is a session's password for its client.
func (b *blocks) passwordOf(s *session) []byte {
	if len(b.passwords) == 0 {
		b.passwords = make([]byte, passwordsBlock*passwordBytes)
	}
	p := b.passwords[:passwordBytes:passwordBytes]
	b.passwords = b.passwords[passwordBytes:]
	copy(p, password(s.id))
	return p
}
