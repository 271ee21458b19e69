package server_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// Property of all targets here: whatever a stranger sends, nothing but its own connection is affected. Another client
// keeps its session, its watch and its znodes; there is no panic; no goroutine is left; and memory goes by what was
// sent, not by what was promised.

// FuzzFrame is a request of a client that has a session.
func FuzzFrame(f *testing.F) {
	for _, r := range requests() {
		f.Add(int32(r.op), wire.Append(nil, r.body))
	}
	f.Fuzz(func(t *testing.T, op int32, body []byte) {
		header := &wire.RequestHeader{Xid: 1, Op: wire.Op(op)}
		stream := framed(append(wire.Append(nil, header), body...))
		unaffected(t, slices.Concat(connecting, stream, ping), len(stream), true)
	})
}

// FuzzConnect is the first frame of a client.
func FuzzConnect(f *testing.F) {
	f.Add(connecting[4:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		unaffected(t, slices.Concat(framed(frame), ping), 0, true)
	})
}

// FuzzWord is a four-letter word, or what looks like one.
func FuzzWord(f *testing.F) {
	for _, word := range []string{
		"ruok", "isro", "srvr", "stat", "cons", "mntr", "conf", "envi", "wchs", "wchp", "wchc", "dump", "kill",
	} {
		f.Add([]byte(word), []byte("\n"))
	}
	f.Fuzz(func(t *testing.T, word, more []byte) {
		unaffected(t, slices.Concat(word, more), len(word), true)
	})
}

// FuzzStream is all that a client sends, up to any place, in two pieces. Some clients read no replies.
func FuzzStream(f *testing.F) {
	all := slices.Clone(connecting)
	for _, r := range requests() {
		all = wire.AppendFrame(all, &wire.RequestHeader{Xid: 1, Op: r.op}, r.body)
	}
	f.Add(all, uint16(len(all)), uint16(len(all)/2), true)
	f.Add(all, uint16(len(all)/2), uint16(3), false)
	f.Add([]byte{0, 0x0f, 0xff, 0xff, 1}, uint16(5), uint16(2), true)
	f.Fuzz(func(t *testing.T, stream []byte, end, piece uint16, reads bool) {
		stream = stream[:min(int(end), len(stream))]
		unaffected(t, stream, min(int(piece), len(stream)), reads)
	})
}

// asked is a request without its number.
type asked struct {
	op   wire.Op
	body wire.Record
}

// requests are one of each kind.
func requests() []asked {
	path, watch := &wire.PathRequest{Path: "/a"}, &wire.WatchRequest{Path: "/", Watch: true}
	create := &wire.CreateRequest{Path: "/a", Data: []byte("x"), ACL: zk.WorldACL(zk.PermAll)}
	watches := wire.SetWatchesRequest{Data: []string{"/a"}, Exist: []string{"/b"}, Childs: []string{"/"}}
	ttl, acl := &wire.CreateTTLRequest{CreateRequest: *create, TTL: 1}, &wire.SetACLRequest{Path: "/a", ACL: create.ACL}
	version := &wire.PathVersionRequest{Path: "/a", Version: -1}
	return []asked{
		{wire.OpCreate, create}, {wire.OpCreateContainer, create}, {wire.OpCreateTTL, ttl}, {wire.OpExists, watch},
		{wire.OpGetData, watch}, {wire.OpGetChildren2, watch}, {wire.OpGetACL, path}, {wire.OpSync, path},
		{wire.OpSetData, &wire.SetDataRequest{Path: "/a", Version: -1}}, {wire.OpSetACL, acl},
		{wire.OpMulti, &wire.MultiRequest{Ops: []wire.MultiOp{{Op: wire.OpCreate, Err: -1, Record: create}}}},
		{wire.OpSetWatches2, &wire.SetWatches2Request{SetWatchesRequest: watches, Recursive: []string{"/"}}},
		{wire.OpAddWatch, &wire.PathTypeRequest{Path: "/", Type: 1}},
		{wire.OpRemoveWatches, &wire.PathTypeRequest{Path: "/", Type: 3}},
		{wire.OpAuth, &wire.AuthRequest{Scheme: "digest", Auth: []byte("u:p")}},
		{wire.OpDelete, version}, {wire.OpCheck, version},
	}
}

var (
	connecting = wire.AppendFrame(nil, &wire.ConnectRequest{Timeout: 10_000, Password: make([]byte, 16)})
	ping       = wire.AppendFrame(nil, &wire.RequestHeader{Xid: wire.XidPing, Op: wire.OpPing})
)

func framed(content []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), content...)
}

// allocatedMax is what a server may allocate for a stranger who sends n bytes, and for the client beside.
func allocatedMax(n int) uint64 { return 1<<20 + 512*uint64(n) }

// unaffected fails if too much is allocated three times: other goroutines of a process that fuzzes allocate, too.
func unaffected(t *testing.T, stream []byte, cut int, reads bool) {
	var n uint64
	for range 3 {
		if n = visit(t, stream, cut, reads); n <= allocatedMax(len(stream)) {
			return
		}
	}
	t.Errorf("%d bytes were allocated for %d", n, len(stream))
}

// visit sends a new server a stranger's bytes, in two pieces, and looks at the other client meanwhile and afterwards. It
// returns how many bytes were allocated.
func visit(t *testing.T, stream []byte, cut int, reads bool) uint64 {
	goroutines := runtime.NumGoroutine()
	s, err := server.New(server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	good := settleIn(t, s)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	here, gone := dialStranger(s, reads)
	go func() {
		for _, piece := range [][]byte{stream[:cut], stream[cut:]} {
			here.Write(piece)
		}
		if reads {
			here.Close()
		}
	}()
	good.lives(t)
	if reads {
		<-gone
	}
	here.Close()
	<-gone
	good.lives(t)
	runtime.ReadMemStats(&after)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	noneLeft(t, goroutines)
	return after.TotalAlloc - before.TotalAlloc
}

// dialStranger connects a client. gone is closed when the server has done with it.
func dialStranger(s *server.Server, reads bool) (here net.Conn, gone chan struct{}) {
	here, there := net.Pipe()
	gone = make(chan struct{})
	go func() {
		s.ServeConn(0, there)
		close(gone)
	}()
	if reads {
		go io.Copy(io.Discard, here)
	}
	return here, gone
}

// noneLeft waits until there are no more goroutines than there were.
func noneLeft(t *testing.T, before int) {
	deadline := testkit.Deadline()
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		runtime.Gosched()
	}
}

// goodClient is a client with a session, an ephemeral znode that it alone may touch, and a watch on it.
type goodClient struct{ rawClient }

const mine = "/good/mine"

func settleIn(t *testing.T, s *server.Server) *goodClient {
	here, there := net.Pipe()
	go s.ServeConn(0, there)
	c := &goodClient{rawClient{net: here}}
	here.SetDeadline(testkit.Deadline())
	own := []zk.ACL{{Perms: zk.PermAll, Scheme: "auth"}}
	err := errors.Join(
		c.exchange(&c.granted, &wire.ConnectRequest{Timeout: int32(lasting.Milliseconds())}),
		c.ask(wire.OpAuth, &wire.AuthRequest{Scheme: "digest", Auth: []byte("good:secret")}),
		c.ask(wire.OpCreate, &wire.CreateRequest{Path: "/good", ACL: own}),
		c.ask(wire.OpCreate, &wire.CreateRequest{Path: mine, ACL: own, Flags: zk.FlagEphemeral}),
		c.ask(wire.OpGetData, &wire.WatchRequest{Path: mine, Watch: true}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask fails if the server answers by an error.
func (c *goodClient) ask(op wire.Op, body wire.Record) error {
	var header wire.ReplyHeader
	err := c.exchange(&header, &wire.RequestHeader{Xid: 1, Op: op}, body)
	if err == nil && header.Err != 0 {
		err = fmt.Errorf("%v is answered by %+v", op, header)
	}
	return err
}

// lives checks that the client's session, its znode and its watch are there, and sets the watch again.
func (c *goodClient) lives(t *testing.T) {
	var event wire.ReplyHeader
	change := &wire.SetDataRequest{Path: mine, Version: -1}
	if err := c.exchange(&event, &wire.RequestHeader{Xid: 1, Op: wire.OpSetData}, change); err != nil {
		t.Fatal(err)
	}
	var reply wire.ReplyHeader
	var changed wire.StatReply
	frame, err := wire.ReadFrame(c.net, nil, wire.FrameMax)
	if err == nil {
		frame, err = wire.Parse(frame, &reply)
	}
	if err == nil && reply.Err == 0 {
		_, err = wire.Parse(frame, &changed)
	}
	if err != nil || event.Xid != wire.XidWatch || reply.Err != 0 || changed.Stat.EphemeralOwner != c.granted.Session {
		t.Fatalf("an event %+v, a reply %+v of %+v, error %v", event, reply, changed, err)
	}
	if err := c.ask(wire.OpGetData, &wire.WatchRequest{Path: mine, Watch: true}); err != nil {
		t.Fatal(err)
	}
}

// A frame is not allocated before its bytes come, whatever its length says.
func TestPromisesAreNotAllocated(t *testing.T) {
	s, err := server.New(server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const strangers = 100
	promise := []byte{0, 0x0f, 0xff, 0xfe}
	for name, stream := range map[string][]byte{"a request": slices.Concat(connecting, promise), "a handshake": promise} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range strangers {
			here, gone := dialStranger(s, true)
			io.Copy(here, bytes.NewReader(stream))
			here.Close()
			<-gone
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / strangers; each > 256<<10 { // with -race everything is more
			t.Errorf("%s: %d bytes are allocated for %d", name, each, len(stream))
		}
	}
}
