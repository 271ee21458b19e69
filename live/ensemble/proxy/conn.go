package proxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// queueMax is how many frames of one direction may wait in the proxy; then it reads no more, and TCP holds back the sender.
const queueMax = 64

// greetingMax is the longest first frame of a client, in bytes. It has about fifty. greetingTime is how long a client may
// take to send it; then its connection is closed, as in ZooKeeper (zookeeper.nio.sessionlessCnxnTimeout).
const (
	greetingMax  = 1 << 12
	greetingTime = 10 * time.Second
)

// conn is a connection that is being forwarded.
type conn struct {
	proxy  *Proxy
	number int
	server string      // its configured address
	ends   [2]net.Conn // by direction: where frames come from
	track  *track
	valves [2]*valve

	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	ending  sync.Once
	deaf    [2]atomic.Bool // by direction: its sender has been cut off
	gone    [2]atomic.Bool // by direction: its sender has closed the connection, or was cut off
	swallow sync.Map       // requests by number whose reply ends the connection

	session Session // guarded by proxy.mu
}

func newConn(p *Proxy, number int, address string, client, server net.Conn) *conn {
	ctx, cancel := context.WithCancel(context.Background())
	return &conn{
		proxy: p, number: number, server: address, ends: [2]net.Conn{client, server},
		track: &track{asked: map[int32][]asked{}}, valves: newValves(), ctx: ctx, cancel: cancel,
	}
}

func (c *conn) run() {
	var both sync.WaitGroup
	for _, d := range []Direction{ToServer, ToClient} {
		frames := make(chan *Frame, queueMax)
		both.Go(func() { c.read(d, frames) })
		both.Go(func() { c.write(d, frames) })
	}
	both.Wait()
	c.close()
}

// cut resets both ends: what is on the way is lost.
func (c *conn) cut() { c.end(reset) }

// close closes both ends.
func (c *conn) close() { c.end(func(end net.Conn) { end.Close() }) }

func (c *conn) end(how func(net.Conn)) {
	c.ending.Do(func() {
		c.cancel()
		for _, end := range c.ends {
			how(end)
		}
	})
}

// reset closes a connection so that its peer sees a reset and what is on the way is lost.
func reset(c net.Conn) {
	if encrypted, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = encrypted.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

// read reads the frames of a direction until the connection ends.
func (c *conn) read(d Direction, frames chan<- *Frame) {
	defer close(frames)
	defer c.gone[d].Store(true)
	in := bufio.NewReader(c.ends[d])
	payload, err := c.first(d, in)
	for ; ; payload, err = wire.ReadFrame(in, nil, wire.FrameMax) {
		if err != nil {
			c.report(d, err)
			return
		}
		f, err := c.track.frame(d, payload)
		if err != nil {
			c.report(d, err)
			c.cut()
			return
		}
		f.Connection = c.number
		c.proxy.granted(c, f)
		if c.proxy.cfg.Arrived != nil {
			c.proxy.cfg.Arrived(f)
		}
		select {
		case frames <- f:
		case <-c.ctx.Done():
			return
		}
	}
}

// first reads the first frame. A client has to send it within the greeting time.
func (c *conn) first(d Direction, in *bufio.Reader) ([]byte, error) {
	if d == ToClient {
		return wire.ReadFrame(in, nil, wire.FrameMax)
	}
	c.ends[d].SetReadDeadline(time.Now().Add(greetingTime))
	payload, err := wire.ReadFrame(in, nil, greetingMax)
	c.ends[d].SetReadDeadline(time.Time{})
	return payload, err
}

// report logs what was malformed, or no greeting, but not that a connection has ended.
func (c *conn) report(d Direction, err error) {
	var malformed *wire.Error
	reported := []error{io.ErrUnexpectedEOF, os.ErrDeadlineExceeded}
	if !errors.As(err, &malformed) && !slices.ContainsFunc(reported, func(e error) bool { return errors.Is(err, e) }) {
		return
	}
	c.proxy.cfg.Log.Warn("the connection is closed: "+err.Error(), "connection", c.number, "direction", d.String(),
		"client", c.ends[ToServer].RemoteAddr().String(), "server", c.server)
}

// write forwards frames until the sender has closed the connection, and then closes it, unless the sender was cut
// off. A held direction holds the end too.
func (c *conn) write(d Direction, frames <-chan *Frame) {
	for f := range frames {
		if !c.pass(f) {
			c.cut() // ends the reader; what is queued is lost
			return
		}
	}
	if !c.deaf[d].Load() && c.released(d) {
		c.close()
	}
}

// pass forwards a frame; false if the connection is to be cut. A frame whose receiver is gone is lost without a
// decision.
func (c *conn) pass(f *Frame) bool {
	if !c.released(f.Direction) {
		return false
	}
	if c.gone[1-f.Direction].Load() {
		return true
	}
	action := c.proxy.cfg.Director(c.ctx.Done(), f)
	if f.Kind == wire.Reply {
		if _, swallowed := c.swallow.LoadAndDelete(f.Xid); swallowed {
			return false
		}
	}
	switch {
	case action == Discard:
		return true
	case action == CutBefore:
		return false
	case action == CutAfter && f.Kind == wire.Request:
		c.swallow.Store(f.Xid, nil)
	}
	c.proxy.note(c, f)
	frame := net.Buffers{binary.BigEndian.AppendUint32(nil, uint32(len(f.payload))), f.payload}
	frame.WriteTo(c.ends[1-f.Direction])
	return action != CutAfter || f.Kind == wire.Request
}

// released waits until nothing holds a direction; false if the connection ends first.
func (c *conn) released(d Direction) bool {
	return c.proxy.valves[d].wait(c.ctx.Done()) && c.valves[d].wait(c.ctx.Done())
}
