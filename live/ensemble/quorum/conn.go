package quorum

import (
	"bufio"
	"net"
	"slices"
	"sync"
)

// stream is what Conn has of [net.TCPConn]: not WriteTo, which would read past the hold.
type stream interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error
}

// Conn is a connection to a leader behind a hold. Writes are not held.
type Conn struct {
	stream
	hold *Hold

	mu      sync.Mutex
	changed *sync.Cond
	queue   []packet // received and not read, in order
	rest    []byte   // of the packet that is being read
	started bool     // the follower is up to date: COMMITs are of new transactions
	raw     bool     // a snapshot has come
	failed  error    // with which receiving has ended
	closed  bool
}

// queueMax bounds how many packets wait; then no more is received, and TCP holds back the leader.
const queueMax = 4096

// receive takes in what the leader sends until that ends or the connection is closed.
func (c *Conn) receive() {
	defer c.hold.forget(c)
	r := reader{source: bufio.NewReaderSize(c.stream, rawMax)}
	p, err := r.read()
	for c.enter(p, err) {
		p, err = r.read()
	}
}

// enter queues a packet as soon as there is room; false if it is the last. The rest of a packet that was cut off is
// queued too.
func (c *Conn) enter(p packet, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) >= queueMax && !c.closed {
		c.changed.Wait()
	}
	if len(p.bytes) > 0 {
		c.queue = append(c.queue, p)
	}
	c.raw = c.raw || err == nil && p.kind == kindSnapshot
	c.failed = err
	c.changed.Broadcast()
	return err == nil && !c.closed
}

func (c *Conn) stir() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.Broadcast()
}

func (c *Conn) blind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw
}

// Read implements [net.Conn]: it reads what may pass. When the leader's stream has ended, what is held is lost.
func (c *Conn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.rest) == 0 && !c.pass() {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case c.failed != nil:
			return 0, c.failed
		}
		c.changed.Wait()
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// pass takes the next packet that may pass; false if there is none.
func (c *Conn) pass() bool {
	i := c.next()
	if i < 0 {
		return false
	}
	p := c.queue[i]
	c.queue = slices.Delete(c.queue, i, i+1)
	c.rest, c.started = p.bytes, c.started || p.kind == kindUpToDate
	c.changed.Broadcast()
	return true
}

// next returns the index of the packet to pass next, -1 for none.
func (c *Conn) next() int {
	limit, held := c.hold.limit.Load(), false
	for i, p := range c.queue {
		switch {
		case !c.started || c.raw:
			return i
		case p.kind == kindCommit || p.kind == kindCommitAndActivate:
			held = held || p.zxid > limit
		case p.kind != kindSync:
			return i
		}
		if !held {
			return i
		}
	}
	return -1
}

// Close implements [net.Conn].
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	return c.stream.Close()
}
