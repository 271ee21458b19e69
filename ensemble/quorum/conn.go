package quorum

import (
	"bufio"
	"io"
	"net"
	"slices"
	"sync"
)

// stream is what is passed on of a [net.TCPConn]: no WriteTo, by which reading would go around the hold.
type stream interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error
}

// Conn is a connection to a leader behind a hold. Whatever is written to it reaches the leader as it is.
type Conn struct {
	stream
	hold *Hold

	mu      sync.Mutex
	changed *sync.Cond
	queue   []packet // received and not read, in the order in which they came
	rest    []byte   // of the packet that is being read
	started bool     // the follower is up to date: COMMITs are of new transactions
	raw     bool     // what comes is no packets
	failed  error    // with which receiving has ended
	closed  bool
}

func newConn(h *Hold, leader *net.TCPConn) *Conn {
	c := &Conn{stream: leader, hold: h}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// queueMax bounds how many packets wait: then no more is received, and the leader waits.
const queueMax = 4096

// rawMax is how much is received at once of what is no packets, in bytes.
const rawMax = 32 << 10

// receive takes in what the leader sends, until that ends or the connection is closed.
func (c *Conn) receive() {
	source := bufio.NewReaderSize(c.stream, rawMax)
	r := reader{source: source}
	next := r.read
	for {
		p, err := next()
		if !c.enter(p, err) {
			c.hold.forget(c)
			return
		}
		if c.blind() {
			next = func() (packet, error) { return readRaw(source) }
		}
	}
}

// readRaw reads whatever is there.
func readRaw(source io.Reader) (packet, error) {
	b := make([]byte, rawMax)
	n, err := source.Read(b)
	return packet{bytes: b[:n]}, err
}

// enter puts a packet into the queue, as soon as there is room; false if it is the last. What is no whole packet is
// passed on as it is: it is not for the hold to judge.
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

// Read reads what may pass. At the end of what the leader has sent, whatever is held is lost.
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

// pass lets the next packet pass, if there is one that may.
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

// next returns which packet is to pass next, -1 for none.
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

// Close closes the connection, and with it ends what the hold does for it.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	return c.stream.Close()
}
