package proxy

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// Session is a session with the secret by which any client can resume it.
type Session struct {
	ID       int64
	Password []byte
	Timeout  time.Duration // granted
	Server   string        // the configured address of the server that granted or resumed it last

	dial Dialer // to the servers of the proxy that knows it; nil for plain TCP
}

// Expire ends a session by way of the server at an address, and returns when that has committed it: the session's
// ephemeral znodes are gone then. Its client sees an expiry. The address must not be of the server that the client is
// connected to, or the two take the session from one another. It reports whether the session was alive until then: an
// expired one is no error.
func Expire(ctx context.Context, address string, s Session) (alive bool, err error) {
	alive, err = expire(ctx, address, s)
	if err != nil && ctx.Err() == nil {
		// A server that applies the end of a session closes the session's connections, also one that resumes it at
		// that moment. It does so once.
		resumed := alive
		alive, err = expire(ctx, address, s)
		alive = alive || resumed
	}
	if err != nil {
		return false, fmt.Errorf("proxy: expire session 0x%x at %s: %w", s.ID, address, err)
	}
	return alive, nil
}

// expire is Expire, tried once. It tells also with an error whether the session was alive.
func expire(ctx context.Context, address string, s Session) (alive bool, err error) {
	dial := s.dial
	if dial == nil {
		dial = dialTCP
	}
	conn, err := dial(ctx, address)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	if alive, err = resume(conn, s); err != nil || !alive {
		return false, err
	}
	return true, closeSession(conn)
}

// resume reports whether the session is alive: the connection is its own then.
func resume(conn net.Conn, s Session) (alive bool, err error) {
	hello := &wire.ConnectRequest{
		Timeout: int32(s.Timeout.Milliseconds()), Session: s.ID, Password: s.Password, ReadOnly: new(bool),
	}
	if _, err := conn.Write(wire.AppendFrame(nil, hello)); err != nil {
		return false, err
	}
	frame, err := wire.ReadFrame(conn, nil, wire.FrameMax)
	if err != nil {
		return false, err
	}
	var granted wire.ConnectResponse
	if _, err := wire.Parse(frame, &granted); err != nil {
		return false, err
	}
	return granted.Session != 0, nil
}

// closeSession closes the connection's session, and returns when that is committed.
func closeSession(conn net.Conn) error {
	const xid = 1
	if _, err := conn.Write(wire.AppendFrame(nil, &wire.RequestHeader{Xid: xid, Op: wire.OpCloseSession})); err != nil {
		return err
	}
	for frame := []byte(nil); ; {
		var err error
		if frame, err = wire.ReadFrame(conn, frame, wire.FrameMax); err != nil {
			return err
		}
		var h wire.ReplyHeader
		if _, err := wire.Parse(frame, &h); err != nil || h.Xid == xid {
			return err
		}
	}
}
