package proxy_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// wholeFrames is how long the part of a stream is that consists of whole frames.
func wholeFrames(stream []byte) int {
	in := bytes.NewReader(stream)
	for {
		at := len(stream) - in.Len()
		if _, err := wire.ReadFrame(in, nil, wire.FrameMax); err != nil {
			return at
		}
	}
}

// speak sends a stream on a connection, in two pieces, and returns what the other side sends until it ends.
func speak(c net.Conn, stream []byte, cut int) []byte {
	defer c.Close()
	var heard bytes.Buffer
	var listening sync.WaitGroup
	listening.Go(func() { io.Copy(&heard, c) })
	c.Write(stream[:cut])
	c.Write(stream[cut:])
	c.(*net.TCPConn).CloseWrite()
	listening.Wait()
	return heard.Bytes()
}

// Property: whatever streams a client and a server send, the other side gets whole frames of them, unchanged,
// in order and from the beginning, but for those that the director discards; nothing panics, and the
// connection ends. The director draws from what it is given.
func FuzzForward(f *testing.F) {
	hello := wire.AppendFrame(nil, &wire.ConnectRequest{Timeout: 4000, Password: make([]byte, 16)})
	granted := wire.AppendFrame(nil, &wire.ConnectResponse{Timeout: 4000, Session: 7, Password: make([]byte, 16)})
	asked := wire.AppendFrame(bytes.Clone(hello), &wire.RequestHeader{Xid: 1, Op: wire.OpSync},
		&wire.PathRequest{Path: "/a"})
	answered := wire.AppendFrame(bytes.Clone(granted), &wire.ReplyHeader{Xid: 1, Zxid: 3}, &wire.PathReply{Path: "/a"})
	told := wire.AppendFrame(bytes.Clone(answered), &wire.ReplyHeader{Xid: wire.XidWatch, Zxid: -1},
		&wire.WatcherEvent{Type: 2, State: 3, Path: "/w"})
	f.Add(asked, told, []byte{0})
	f.Add(asked, granted, []byte{0, 0, 1, 2, 3})
	f.Add([]byte("\xff\xff\xff\xff"), told, []byte{})
	f.Add([]byte{}, told, []byte{2})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { listener.Close() })
	f.Fuzz(func(t *testing.T, fromClient, fromServer, draws []byte) {
		d := &drawing{draws: draws}
		p, err := proxy.New(proxy.Config{Servers: []string{listener.Addr().String()}, Director: d.direct})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		client, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		server, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		var heardByServer []byte
		var serving sync.WaitGroup
		serving.Go(func() { heardByServer = speak(server, fromServer, len(fromServer)/3) })
		heardByClient := speak(client, fromClient, len(fromClient)/2)
		serving.Wait()
		p.Close() // then nobody decides any more
		check(t, "server", heardByServer, fromClient, d.discarded)
		check(t, "client", heardByClient, fromServer, d.discarded)
	})
}

// check sees that what was heard is of what was sent.
func check(t *testing.T, who string, heard, sent []byte, discarded bool) {
	t.Helper()
	if whole := wholeFrames(heard); !discarded && !bytes.HasPrefix(sent[:wholeFrames(sent)], heard[:whole]) {
		t.Errorf("the %s heard %q of %q", who, heard, sent)
	}
	if !subsequence(heard[:wholeFrames(heard)], sent) {
		t.Errorf("the %s heard frames %q that are not of %q in order", who, heard, sent)
	}
}

// subsequence reports whether all frames of one stream are in another, in order.
func subsequence(some, all []byte) bool {
	in, of := bytes.NewReader(some), bytes.NewReader(all)
	for {
		want, err := wire.ReadFrame(in, nil, wire.FrameMax)
		if err != nil {
			return true
		}
		for {
			frame, err := wire.ReadFrame(of, nil, wire.FrameMax)
			if err != nil {
				return false
			}
			if bytes.Equal(frame, want) {
				break
			}
		}
	}
}

// drawing is a director that takes each action from bytes, in turn.
type drawing struct {
	mu        sync.Mutex
	draws     []byte
	discarded bool
}

func (d *drawing) direct(_ <-chan struct{}, f *proxy.Frame) proxy.Action {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.draws) == 0 {
		return proxy.Forward
	}
	action := proxy.Action(d.draws[0] % 4)
	d.draws = d.draws[1:]
	d.discarded = d.discarded || action == proxy.Discard
	return action
}
