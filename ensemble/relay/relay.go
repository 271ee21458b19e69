// Package relay forwards connections from one place to another, and can make what comes back late.
//
// A [Relay] accepts connections with a listener and opens, for each, one of its own by a function. The two
// may stand in different networks, which is how processes outside reach into a network that is closed
// otherwise. It knows nothing of what it forwards: bytes, in order, and the end of them; a connection
// that breaks on one side is reset on the other.
//
// With [Relay.Delay] everything from the far side, where the relay dials, arrives so much later than it
// would: a link of that latency, in that direction only. Nothing is lost or reordered by it, and the end of a
// connection is late too.
package relay

import (
	"io"
	"net"
	"sync"
	"time"
)

// Relay is a relay that listens. All methods may be called at any time, by any goroutine.
type Relay struct {
	listener net.Listener
	dial     func() (net.Conn, error)
	done     chan struct{} // closed when the relay is
	ended    sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	delay   time.Duration
	changed chan struct{} // closed and replaced when the delay changes
	pairs   map[*pair]bool
}

// New returns a relay that accepts connections with the listener, of TCP, until it is closed, and for each opens one with
// dial, of TCP too, or with the methods CloseWrite and SetLinger of [net.TCPConn]. If dial fails the connection is reset.
// Closing the relay waits for dial, so it must be bounded.
func New(listener net.Listener, dial func() (net.Conn, error)) *Relay {
	r := &Relay{
		listener: listener, dial: dial, done: make(chan struct{}),
		changed: make(chan struct{}), pairs: map[*pair]bool{},
	}
	r.ended.Go(r.accept)
	return r
}

// Addr is where the relay listens.
func (r *Relay) Addr() net.Addr { return r.listener.Addr() }

// Delay makes everything from the far side late by so much, also what is on the way already. With 0 what waits
// is delivered at once.
func (r *Relay) Delay(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = by
	close(r.changed)
	r.changed = make(chan struct{})
}

// Close resets all connections, stops listening and returns when all has ended. It may be called again.
func (r *Relay) Close() {
	if r.shut() {
		close(r.done)
		r.listener.Close()
		for _, p := range r.open() {
			p.reset()
		}
	}
	r.ended.Wait()
}

// shut is true for the first that calls it.
func (r *Relay) shut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.closed
	r.closed = true
	return first
}

// open returns the pairs that are open. Their order does not matter.
func (r *Relay) open() (all []*pair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.pairs {
		all = append(all, p)
	}
	return all
}

// acceptPause is how long to wait when the system has nothing left for another connection.
const acceptPause = 10 * time.Millisecond

func (r *Relay) accept() {
	pause := time.NewTicker(acceptPause)
	defer pause.Stop()
	for {
		near, err := r.listener.Accept()
		if err == nil {
			r.ended.Go(func() { r.serve(near) })
			continue
		}
		select {
		case <-r.done:
			return
		case <-pause.C:
		}
	}
}

func (r *Relay) serve(near net.Conn) {
	far, err := r.dial()
	if err != nil {
		reset(near)
		return
	}
	p := &pair{near: near.(stream), far: far.(stream)}
	if !r.enter(p) {
		p.reset()
		return
	}
	p.run(r)
	r.leave(p)
}

// enter counts a pair among the open ones; false if the relay has been closed meanwhile.
func (r *Relay) enter(p *pair) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.pairs[p] = true
	}
	return !r.closed
}

func (r *Relay) leave(p *pair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pairs, p)
}

// current returns the delay, and what is closed when it changes.
func (r *Relay) current() (delay time.Duration, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.delay, r.changed
}

// await waits until what has arrived at a time is to be delivered; false if the relay is closed before.
func (r *Relay) await(arrived time.Time) bool {
	for {
		delay, changed := r.current()
		left := time.Until(arrived.Add(delay))
		if left <= 0 {
			return true
		}
		due := time.NewTimer(left)
		select {
		case <-due.C:
		case <-changed:
		case <-r.done:
			due.Stop()
			return false
		}
		due.Stop()
	}
}

// stream is what a relay needs of a connection: that of [net.TCPConn].
type stream interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error
}

// pair is a connection that was accepted and the one opened for it.
type pair struct{ near, far stream }

// run forwards both ways until both have ended.
func (p *pair) run(r *Relay) {
	var toNear sync.WaitGroup
	toNear.Go(func() { p.end(p.near, p.late(r)) })
	_, err := io.Copy(p.far, p.near)
	p.end(p.far, err)
	toNear.Wait()
	p.near.Close()
	p.far.Close()
}

// end tells the receiver that nothing more comes, or resets both if something broke.
func (p *pair) end(receiver stream, err error) {
	if err == nil {
		err = receiver.CloseWrite()
	}
	if err != nil {
		p.reset()
	}
}

// reset breaks both connections: their peers see a reset, what was on the way is lost.
func (p *pair) reset() {
	reset(p.near)
	reset(p.far)
}

func reset(c net.Conn) {
	if s, ok := c.(stream); ok {
		s.SetLinger(0)
	}
	c.Close()
}

// queueMax is how many reads may wait to be delivered; then no more is read, and TCP holds back the sender.
const queueMax = 4096

// readMax is the most that is read at once, in bytes.
const readMax = 32 << 10

// chunk is what one read returned: bytes, an error, or both.
type chunk struct {
	arrived time.Time
	bytes   []byte
	err     error
}

// late forwards from the far side, each read at its time. It returns nil at the end of what was sent.
func (p *pair) late(r *Relay) error {
	chunks, stop := make(chan chunk, queueMax), make(chan struct{})
	defer close(stop)
	r.ended.Go(func() { p.read(chunks, stop) })
	for {
		c := <-chunks
		if !r.await(c.arrived) {
			return net.ErrClosed
		}
		if _, err := p.near.Write(c.bytes); err != nil {
			return err
		}
		switch {
		case c.err == io.EOF:
			return nil
		case c.err != nil:
			return c.err
		}
	}
}

// read reads from the far side until an error, which is the last chunk, or until stop is closed.
func (p *pair) read(chunks chan<- chunk, stop <-chan struct{}) {
	buffer := make([]byte, readMax)
	for ended := false; !ended; {
		n, err := p.far.Read(buffer)
		c := chunk{time.Now(), append([]byte(nil), buffer[:n]...), err}
		ended = err != nil
		select {
		case chunks <- c:
		case <-stop:
			return
		}
	}
}
