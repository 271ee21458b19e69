package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// create makes znodes, all or none.
func (r *raw) create(data []byte, paths ...string) {
	r.Helper()
	multi := &wire.MultiRequest{}
	for _, path := range paths {
		multi.Ops = append(multi.Ops, wire.MultiOp{
			Op: wire.OpCreate, Record: &wire.CreateRequest{Path: path, Data: data, ACL: open},
		})
	}
	r.send(&wire.RequestHeader{Op: wire.OpMulti}, multi)
	r.wantHeader(0, 0)
}

// multiRead asks many times for the same.
func (r *raw) multiRead(times int, op wire.Op, path string) {
	r.Helper()
	multi := &wire.MultiRequest{}
	for range times {
		multi.Ops = append(multi.Ops, wire.MultiOp{Op: op, Record: &wire.WatchRequest{Path: path}})
	}
	r.send(&wire.RequestHeader{Xid: 1, Op: wire.OpMultiRead}, multi)
}

// A request whose answer would be out of all proportion is not answered: the connection ends before there is more than
// 16 MB of it. What is less is answered whole.
func TestAnswersAreBounded(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	c := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	big := bytes.Repeat([]byte("x"), 1_000_000)
	c.create(big, "/big")
	children := []string{"/d"}
	for i := range 5000 {
		children = append(children, fmt.Sprintf("/d/child-%04d", i))
	}
	c.create(nil, children...)

	c.multiRead(15, wire.OpGetData, "/big")
	frame, err := wire.ReadFrame(c.net, nil, 16<<20)
	if n := bytes.Count(frame, big); err != nil || n != 15 {
		t.Fatalf("%d of 15 reads are answered: %v", n, err)
	}
	c.multiRead(100, wire.OpGetData, "/big")
	c.wantEnd()
	c = dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	c.multiRead(500, wire.OpGetChildren, "/d")
	c.wantEnd()
}

const anHour = 3_600_000 // ms, the timeout of sessions that do not ping

// watcher watches everything, over a connection that buffers nothing.
func watcher(t *testing.T, s *server.Server) *raw {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close() })
	go s.ServeConn(0, far)
	r := &raw{T: t, net: near}
	r.send(&wire.ConnectRequest{Timeout: anHour, Password: make([]byte, 16)})
	r.receive(&r.granted)
	r.send(&wire.RequestHeader{Xid: 1, Op: wire.OpAddWatch}, &wire.PathTypeRequest{Path: "/", Type: 1})
	r.wantHeader(1, 0)
	return r
}

// What clients leave unread is bounded for all of them together: those that have left most are cut off, and the others
// go on.
func TestUnreadOfAllIsBounded(t *testing.T) {
	s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{MaxSession: anHour}})
	var deaf []*raw
	for range 4 {
		deaf = append(deaf, watcher(t, s))
	}
	good := watcher(t, s)
	c, name := dialRaw(t, s.Addr(0), wire.ConnectResponse{}), strings.Repeat("x", 60_000)
	for i := range 700 { // 42 MB for each
		c.create(nil, fmt.Sprintf("/%s%d", name, i))
		if _, err := wire.ReadFrame(good.net, nil, wire.FrameMax); err != nil {
			t.Fatalf("a client that reads has got %d events, then %v", i, err)
		}
	}
	cut := 0
	for _, r := range deaf {
		if s.Cut(r.granted.Session, "now") != nil {
			cut++
		}
	}
	if cut == 0 || cut == len(deaf) {
		t.Errorf("%d of %d clients that do not read were cut off", cut, len(deaf))
	}
}

// What is held back counts as unread.
func TestHeldIsBounded(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	c := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	c.create(make([]byte, 1_000_000), "/big")
	if err := s.Hold(c.granted.Session); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for i := range int32(100) {
		all = wire.AppendFrame(all, &wire.RequestHeader{Xid: i, Op: wire.OpGetData}, &wire.WatchRequest{Path: "/big"})
	}
	c.net.Write(all) // it may be cut off before it has written all
	if _, err := io.Copy(io.Discard, c.net); err != nil && errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if err := s.Release(c.granted.Session); !errors.Is(err, server.ErrNoSession) {
		t.Errorf("100 MB are held back: %v", err)
	}
}

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
