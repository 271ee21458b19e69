package server_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// A client that opens no session is disconnected, also one that sends a byte at a time, or a word of four letters
// without what belongs to it. After that it may be silent.
func TestClientsMustGreet(t *testing.T) {
	s := fakezktest.Start(t, server.Config{Greeting: 100 * time.Millisecond, MaxClientCnxns: 5})
	greeted := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	for _, said := range []string{"", "ru", "stmk\x00", "\x00\x00\x00\x2d\x00\x00"} {
		c, err := net.Dial("tcp", s.Addr(0))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, said)
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, net.ErrClosed) || isTimeout(err) {
			t.Errorf("after %q the connection is open: %v", said, err)
		}
	}
	slow, err := net.Dial("tcp", s.Addr(0))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	slow.SetDeadline(time.Now().Add(10 * time.Second))
	frame := append([]byte{0, 0x0f, 0, 0}, make([]byte, 100_000)...)
	for i := 0; err == nil && i < len(frame); i++ {
		_, err = slow.Write(frame[i : i+1])
		time.Sleep(time.Millisecond)
	}
	if isTimeout(err) || err == nil {
		t.Errorf("a client that sends a byte at a time is connected: %v", err)
	}
	greeted.send(&wire.RequestHeader{Xid: 1, Op: wire.OpPing})
	greeted.wantHeader(wire.XidPing, wire.CodeOK)
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}
