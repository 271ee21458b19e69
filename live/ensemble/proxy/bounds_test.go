package proxy_test

import (
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

// What waits before a server that hangs is bounded, and a sender is held back. The kernel's buffers hold some megabytes
// of their own.
func TestWaitingIsBounded(t *testing.T) {
	p := newProxy(t, proxy.Config{Servers: []string{listener(t, hang)}})
	c := dial(t, p.Addr())
	c.send(greeting())
	const most = 256 << 20
	if n := c.accepted(most, write(1, 1<<20)); n >= most {
		t.Errorf("%d bytes were taken", n)
	}
}

// A client that sends too much for a greeting is closed; after its greeting it may be silent.
func TestClientsMustGreet(t *testing.T) {
	p := newProxy(t, proxy.Config{Servers: []string{newServer(t).addr()}})
	greeted, long := dial(t, p.Addr()), dial(t, p.Addr())
	greeted.send(greeting())
	long.send(&wire.ConnectRequest{Password: make([]byte, 100_000)})
	long.conn.SetReadDeadline(testkit.Deadline())
	if _, err := long.conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the connection is open: %v", err)
	}
	if _, err := wire.ReadFrame(greeted.conn, nil, wire.FrameMax); err != nil {
		t.Fatal(err)
	}
	greeted.request(1, "/x")
	greeted.replied(1)
}
