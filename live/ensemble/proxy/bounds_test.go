package proxy_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// listener is a server that serves its connections with a function.
func listener(t *testing.T, then func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go then(c)
		}
	}()
	return l.Addr().String()
}

func hang(net.Conn) {}

func greeting() *wire.ConnectRequest {
	return &wire.ConnectRequest{Timeout: 4000, Password: make([]byte, 16)}
}

// accepted returns how many bytes of a frame, again and again, are taken from a client, until nothing more is for a
// while.
func (c *client) accepted(most int, frame []byte) (n int) {
	for n < most {
		c.conn.SetWriteDeadline(time.Now().Add(time.Second))
		part, err := c.conn.Write(frame)
		if n += part; err != nil {
			break
		}
	}
	return n
}

func write(xid int32, bytes int) []byte {
	return wire.AppendFrame(nil, &wire.RequestHeader{Xid: xid, Op: wire.OpSetData},
		&wire.SetDataRequest{Path: "/x", Data: make([]byte, bytes)})
}

// What waits before a server that hangs is bounded in bytes, whatever the frames' lengths. The kernel's buffers hold
// some megabytes of their own.
func TestBytesThatWaitAreBounded(t *testing.T) {
	p := newProxy(t, proxy.Config{Servers: []string{listener(t, hang)}})
	for _, length := range []int{4000, 1 << 20, 4_000_000} {
		c := dial(t, p.Addr())
		c.send(greeting())
		const most = 64 << 20
		if n := c.accepted(most, write(1, length)); n >= most {
			t.Errorf("%d bytes were taken in frames of %d", n, length)
		}
		c.conn.Close()
	}
}

// All connections together are bounded, too: one that would exceed the bound is cut.
func TestBytesOfAllAreBounded(t *testing.T) {
	p := newProxy(t, proxy.Config{Servers: []string{listener(t, hang)}, Memory: 1 << 20})
	first, second := dial(t, p.Addr()), dial(t, p.Addr())
	first.send(greeting())
	second.send(greeting())
	p.Hold(proxy.ToServer, true)
	first.conn.Write(write(1, 900_000))
	testkit.Until(t, "something waits", func() bool { return p.Waiting() > 900_000 })
	second.conn.Write(write(1, 900_000))
	second.ended()
	p.Hold(proxy.ToServer, false)
	testkit.Until(t, "no frame waits", func() bool { return p.Waiting() < 1000 })
	first.conn.Close()
	testkit.Until(t, "nobody is connected", func() bool { return p.Connections() == 0 })
	if n := p.Waiting(); n != 0 {
		t.Errorf("nobody is connected, and %d bytes are held", n)
	}
}

// What is remembered of requests without a reply is bounded in bytes.
func TestPathsWithoutReplyAreBounded(t *testing.T) {
	p := newProxy(t, proxy.Config{Servers: []string{listener(t, func(c net.Conn) { io.Copy(io.Discard, c) })}})
	c := dial(t, p.Addr())
	c.send(greeting())
	frame := wire.AppendFrame(nil, &wire.RequestHeader{Xid: 1, Op: wire.OpSync},
		&wire.PathRequest{Path: "/" + strings.Repeat("x", 1<<20)})
	for range 64 {
		if _, err := c.conn.Write(frame); err != nil {
			return // cut
		}
	}
	c.conn.SetReadDeadline(testkit.Deadline())
	if _, err := c.conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("64 MB of paths are remembered: %v", err)
	}
}

// All connections together are bounded in this, too.
func TestPathsOfAllAreBounded(t *testing.T) {
	swallows := listener(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	p := newProxy(t, proxy.Config{Servers: []string{swallows}, Memory: 1 << 20})
	first, second := dial(t, p.Addr()), dial(t, p.Addr())
	frame := wire.AppendFrame(nil, &wire.RequestHeader{Xid: 1, Op: wire.OpSync},
		&wire.PathRequest{Path: "/" + strings.Repeat("x", 200_000)})
	first.send(greeting())
	for i := range int64(3) {
		first.conn.Write(frame)
		testkit.Until(t, "only paths are held", func() bool { return p.Waiting()/200_000 == i+1 && p.Waiting()%200_000 < 1000 })
	}
	second.send(greeting())
	for range 3 {
		second.conn.Write(frame)
	}
	second.ended()
	testkit.Until(t, "only the first is connected", func() bool { return p.Connections() == 1 })
}

// A client that sends no greeting, or part of one, or too much, is closed; after its greeting it may be silent.
func TestClientsMustGreet(t *testing.T) {
	p := newProxy(t, proxy.Config{Servers: []string{newServer(t).addr()}, Greeting: 200 * time.Millisecond})
	var greeted *client
	testkit.Until(t, "a client greets in time", func() bool {
		greeted = dial(t, p.Addr())
		greeted.conn.Write(wire.AppendFrame(nil, greeting()))
		_, err := wire.ReadFrame(greeted.conn, nil, wire.FrameMax)
		return err == nil
	})
	silent, slow, long := dial(t, p.Addr()), dial(t, p.Addr()), dial(t, p.Addr())
	if _, err := slow.conn.Write(wire.AppendFrame(nil, greeting())[:10]); err != nil {
		t.Fatal(err)
	}
	long.send(&wire.ConnectRequest{Password: make([]byte, 100_000)})
	for _, c := range []*client{silent, slow, long} {
		c.conn.SetReadDeadline(testkit.Deadline())
		if _, err := c.conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("the connection is open: %v", err)
		}
	}
	greeted.request(1, "/x")
	greeted.replied(1)
}
