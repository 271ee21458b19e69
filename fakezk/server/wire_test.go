package server_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// raw is a client without a library.
type raw struct {
	*testing.T
	net     net.Conn
	granted wire.ConnectResponse
}

// dialRaw connects, with a session of its own or one that is there.
func dialRaw(t *testing.T, address string, session wire.ConnectResponse) *raw {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(testkit.Deadline())
	r := &raw{T: t, net: c}
	r.send(&wire.ConnectRequest{Timeout: int32(lasting.Milliseconds()), Session: session.Session, Password: session.Password})
	r.receive(&r.granted)
	return r
}

func (r *raw) send(records ...wire.Record) {
	r.Helper()
	if _, err := r.net.Write(wire.AppendFrame(nil, records...)); err != nil {
		r.Fatal(err)
	}
}

func (r *raw) receive(records ...wire.Record) {
	r.Helper()
	frame, err := wire.ReadFrame(r.net, nil, wire.FrameMax)
	for _, record := range records {
		if err == nil {
			frame, err = wire.Parse(frame, record)
		}
	}
	if err != nil {
		r.Fatal(err)
	}
}

// wantHeader receives a reply, and checks what is in its header.
func (r *raw) wantHeader(xid int32, code wire.Code) {
	r.Helper()
	var h wire.ReplyHeader
	r.receive(&h)
	if h.Xid != xid || wire.Code(h.Err) != code {
		r.Errorf("the reply is %+v, want xid %d and error %d", h, xid, code)
	}
}

// wantEnd checks that the server has closed the connection.
func (r *raw) wantEnd() {
	r.Helper()
	if _, err := wire.ReadFrame(r.net, nil, wire.FrameMax); !errors.Is(err, io.EOF) {
		r.Errorf("the connection is not closed: %v", err)
	}
}

// rawClient is a session with a watch, over a pipe.
type rawClient struct {
	net     net.Conn
	granted wire.ConnectResponse
}

// dialPipe opens a session of its own and sets a watch.
func dialPipe(s *server.Server) (*rawClient, error) {
	here, there := net.Pipe()
	go s.ServeConn(0, there)
	c := &rawClient{net: here}
	if err := c.exchange(&c.granted, &wire.ConnectRequest{Timeout: 10_000}); err != nil {
		return nil, err
	}
	path := fmt.Sprintf("/watched-%x", c.granted.Session)
	header, watch := &wire.RequestHeader{Xid: 1, Op: wire.OpExists}, &wire.WatchRequest{Path: path, Watch: true}
	return c, c.exchange(&wire.ReplyHeader{}, header, watch)
}

func (c *rawClient) exchange(into wire.Record, records ...wire.Record) error {
	if _, err := c.net.Write(wire.AppendFrame(nil, records...)); err != nil {
		return err
	}
	frame, err := wire.ReadFrame(c.net, nil, wire.FrameMax)
	if err == nil {
		_, err = wire.Parse(frame, into)
	}
	return err
}

// fill makes a million znodes.
func fill(e *fakezk.Ensemble) {
	for i := range 1000 {
		parent := fmt.Sprintf("/p%03d", i)
		e.Admin(0, &fakezk.Request{Op: wire.OpCreate, Path: parent, ACL: open})
		for j := range 999 {
			path := fmt.Sprintf("%s/n%03d", parent, j)
			e.Admin(0, &fakezk.Request{Op: wire.OpCreate, Path: path, Data: []byte("0123456789"), ACL: open})
		}
	}
}

// A request that ends the connection takes its watches away before the client sees the end.
func TestEndTakesWatches(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	here, there := net.Pipe()
	left := make(chan int, 2)
	go s.ServeConn(0, &closing{Conn: there, before: func() {
		s.Inspect(func(e *fakezk.Ensemble) { left <- len(e.AllWatches()) })
	}})
	c := &rawClient{net: here}
	if err := c.exchange(&c.granted, &wire.ConnectRequest{Timeout: 10_000}); err != nil {
		t.Fatal(err)
	}
	header, watch := &wire.RequestHeader{Xid: 1, Op: wire.OpExists}, &wire.WatchRequest{Path: "/x", Watch: true}
	if err := c.exchange(&wire.ReplyHeader{}, header, watch); err != nil {
		t.Fatal(err)
	}
	if _, err := here.Write([]byte{0, 0, 0, 0}); err != nil { // a request without a header
		t.Fatal(err)
	}
	if n := <-left; n != 0 {
		t.Errorf("%d watches are left when the connection is closed", n)
	}
}

// closing is a connection that calls before when it is closed for the first time. The server closes what it still knows
// once more when it ends, and is then locked.
type closing struct {
	net.Conn
	once   sync.Once
	before func()
}

func (c *closing) Close() error {
	c.once.Do(c.before)
	return c.Conn.Close()
}
