// Package relay forwards TCP connections, and can delay what comes back.
//
// A [Relay] accepts connections with a listener and dials one for each by a function. The two may be in different
// networks, so that processes outside reach into a closed one. Bytes and their end are forwarded in order; a
// connection that breaks on one side is reset on the other.
//
// [Relay.Delay] adds latency to what the dialled side sends, in that direction only. Nothing is lost or reordered,
// and the end of a connection is late too.
package relay

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// Relay is a relay that listens. All methods may be called at any time, by any goroutine.
type Relay struct {
	listener net.Listener
	dial     func() (net.Conn, error)
	ctx      context.Context // ends when the relay is closed
	cancel   context.CancelFunc
	ended    sync.WaitGroup

	mu      sync.Mutex
	delay   time.Duration
	changed chan struct{} // closed and replaced when the delay changes
}

// New returns a relay that accepts TCP connections until it is closed, and dials another for each: of TCP too, or
// with the methods CloseWrite and SetLinger of [net.TCPConn]. If dial fails the connection is reset. [Relay.Close]
// waits for dial.
func New(listener net.Listener, dial func() (net.Conn, error)) *Relay {
	r := &Relay{listener: listener, dial: dial, changed: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.ended.Go(r.accept)
	return r
}

// Addr is where the relay listens.
func (r *Relay) Addr() net.Addr { return r.listener.Addr() }

// Delay delays everything from the dialled side, also what is on the way already. With 0 all of that is delivered at
// once.
func (r *Relay) Delay(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = by
	close(r.changed)
	r.changed = make(chan struct{})
}

// Close resets all connections, stops listening and returns when all has ended. It may be called again.
func (r *Relay) Close() {
	r.cancel()
	r.listener.Close()
	r.ended.Wait()
}

// acceptPause is how long to wait when the system has no resources for another connection.
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
		case <-r.ctx.Done():
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
	defer context.AfterFunc(r.ctx, p.reset)()
	p.run(r)
}

// current returns the delay, and what is closed when it changes.
func (r *Relay) current() (delay time.Duration, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.delay, r.changed
}

// await waits until what arrived at a time is due; false if the relay is closed before.
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
		case <-r.ctx.Done():
			due.Stop()
			return false
		}
		due.Stop()
	}
}

// stream is what a relay needs of a connection; [net.TCPConn] has it.
type stream interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error
}

// pair is an accepted connection and the one dialled for it.
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

// end passes on the end of a direction, or resets both connections if one broke.
func (p *pair) end(receiver stream, err error) {
	if err == nil {
		err = receiver.CloseWrite()
	}
	if err != nil {
		p.reset()
	}
}

// reset breaks both connections: their peers see a reset, and what was on the way is lost.
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

// queueMax is how many chunks may wait; then no more is read, and TCP holds back the sender.
const queueMax = 4096

// readMax bounds a chunk, in bytes.
const readMax = 32 << 10

// chunk is what one read returned: bytes, an error, or both.
type chunk struct {
	arrived time.Time
	bytes   []byte
	err     error
}

// late forwards from the far side, each chunk when it is due. It returns nil at the end of the stream.
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
