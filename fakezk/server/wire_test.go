package server_test

import (
	"net"
	"testing"

	"github.com/zktorture/zktorture/wire"
)

// takeOver ends a session as clients without any means of the server's do: it connects with the session's id and password,
// which are the server's to know, and closes it.
func takeOver(t *testing.T, c net.Conn, session int64) {
	t.Helper()
	password := []byte("unknown")
	send(t, c, &wire.ConnectRequest{Timeout: 10_000, Session: session, Password: password})
	var granted wire.ConnectResponse
	receive(t, c, &granted)
	if granted.Session != 0 {
		t.Fatal("a wrong password is taken")
	}
}

func send(t *testing.T, c net.Conn, records ...wire.Record) {
	t.Helper()
	if _, err := c.Write(wire.AppendFrame(nil, records...)); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c net.Conn, records ...wire.Record) {
	t.Helper()
	frame, err := wire.ReadFrame(c, nil, wire.FrameMax)
	for _, r := range records {
		if err != nil {
			break
		}
		frame, err = wire.Parse(frame, r)
	}
	if err != nil {
		t.Fatal(err)
	}
}
