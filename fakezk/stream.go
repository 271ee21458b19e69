package fakezk

import "slices"

// ConnID names a connection. It is not used again until Reset.
type ConnID int32

// connection is one client's connection to one replica. Its queue is sent by the server and not yet received.
type connection struct {
	id      ConnID
	session *session
	replica *replica
	index   int   // of the replica
	timeout int64 // ms, as negotiated here
	open    bool
	hangs   bool // on what a deposed leader has proposed in vain
	address string
	ids     []identity
	super   bool
	sasl    *digestMD5 // nil: no login has begun
	watches int        // entries in the replica's tables
	queue   []Message
	head    int
}

// attach makes a connection of a session to a replica.
func (e *Ensemble) attach(s *session, index int, timeout int64, address string) *connection {
	c := e.nextConnection()
	*c = connection{
		id: c.id, session: s, replica: e.replicas[index], index: index, timeout: timeout,
		open: true, address: address, ids: append(c.ids[:0], identity{"ip", address}), queue: c.queue[:0],
	}
	c.replica.connections = append(c.replica.connections, c)
	s.owner, s.timeout = index, timeout
	return c
}

// nextConnection takes up memory that a Reset has left.
func (e *Ensemble) nextConnection() *connection {
	n := len(e.connections)
	if n < cap(e.connections) {
		e.connections = e.connections[:n+1]
	} else {
		e.connections = append(e.connections, nil)
	}
	if e.connections[n] == nil {
		e.connections[n] = &connection{}
	}
	c := e.connections[n]
	clear(c.queue)
	c.id = ConnID(n)
	return c
}

func (e *Ensemble) connection(id ConnID) *connection {
	if id < 0 || int(id) >= len(e.connections) {
		return nil
	}
	return e.connections[id]
}

// push sends a message on an open connection. A client that has left queueMax messages undelivered is disconnected.
func (e *Ensemble) push(c *connection, m Message) {
	switch {
	case !c.open:
	case len(c.queue)-c.head >= queueMax:
		e.hangUp(c)
	default:
		e.queue(c, m)
	}
}

func (e *Ensemble) queue(c *connection, m Message) {
	c.queue = append(c.queue, m)
	if e.OnQueued != nil {
		e.OnQueued(c.id)
	}
}

// hangUp closes a connection from the server's side; what was sent before still arrives.
func (e *Ensemble) hangUp(c *connection) {
	if c.open {
		e.detach(c)
		e.queue(c, Message{Closed: true})
	}
}

func (e *Ensemble) detach(c *connection) {
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

// Drop breaks a connection: its watches and undelivered messages are lost. The session goes on at the server.
func (e *Ensemble) Drop(id ConnID) {
	c := e.connection(id)
	if c == nil {
		return
	}
	if c.open {
		e.detach(c)
	}
	clear(c.queue)
	c.queue, c.head = c.queue[:0], 0
}

// Release is Drop for a connection whose number is not used again: a long-running server forgets it.
func (e *Ensemble) Release(id ConnID) {
	e.Drop(id)
	if e.connection(id) != nil {
		e.connections[id] = nil
	}
}

// Pending returns how many messages wait on a connection.
func (e *Ensemble) Pending(id ConnID) int {
	c := e.connection(id)
	if c == nil {
		return 0
	}
	return len(c.queue) - c.head
}

// First returns the oldest message of a connection and leaves it there.
func (e *Ensemble) First(id ConnID) (Message, bool) {
	if e.Pending(id) == 0 {
		return Message{}, false
	}
	return e.Waiting(id)[0], true
}

// Waiting are the messages that wait on a connection, the oldest first. They are valid until the ensemble changes.
func (e *Ensemble) Waiting(id ConnID) []Message {
	c := e.connection(id)
	if c == nil {
		return nil
	}
	return c.queue[c.head:]
}

// Next takes the oldest message from a connection.
func (e *Ensemble) Next(id ConnID) (Message, bool) {
	m, ok := e.First(id)
	if ok {
		e.connections[id].pop()
	}
	return m, ok
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
