package conformance_test

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// TestRawTranscripts plays the scripts of testdata/raw: requests without a client library between,
// so that there can be some that go-zookeeper has no method for, or would not send.
func TestRawTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/raw/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in testdata/raw (error %v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			with := setupOf(file)
			t.Run("real", func(t *testing.T) {
				testkit.NeedServers(t)
				playRawFile(t, file, newRawReal(t, with), *rewrite)
			})
			t.Run("served", func(t *testing.T) { playRawFile(t, file, newRawServed(t, with), false) })
		})
	}
}

func playRawFile(t *testing.T, file string, side *rawSide, rewrite bool) {
	playText(t, file, func(text string) (string, error) { return playRaw(side, text) }, rewrite)
}

// rawSide is a server to play with.
type rawSide struct {
	// connect opens a session, or takes one up again. The response is nil if the server closes the connection
	// instead; the rawConn is nil unless there is a session.
	connect func(wire.ConnectRequest) (rawConn, *wire.ConnectResponse, error)
}

// rawConn sends a request, unless it is nil, and returns what comes up to its reply, or up to the end of the
// connection.
type rawConn func(*wireFrame) ([]fakezk.Message, error)

// rawClient is a client of a script.
type rawClient struct {
	do      rawConn
	session wire.ConnectResponse // of the last connection
}

func playRaw(side *rawSide, script string) (string, error) {
	var out strings.Builder
	clients := map[string]*rawClient{}
	for number, line := range strings.Split(strings.TrimSuffix(script, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue // an outcome
		}
		fmt.Fprintln(&out, line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := rawStep(&out, side, clients, line); err != nil {
			return out.String(), fmt.Errorf("line %d: %s: %w", number+1, line, err)
		}
	}
	return out.String(), nil
}

func rawStep(out *strings.Builder, side *rawSide, clients map[string]*rawClient, line string) error {
	words, err := split(line)
	if err != nil {
		return err
	}
	if len(words) < 2 {
		return errors.New("a client and a command are needed")
	}
	c := clients[words[0]]
	if strings.HasSuffix(words[1], "connect") {
		if c == nil {
			c = &rawClient{}
			clients[words[0]] = c
		}
		return c.connect(out, side, words[1])
	}
	if c == nil || c.do == nil {
		return errors.New("a client that has connected is needed")
	}
	request, err := rawRequest(words[1], &arguments{words: words[2:]})
	if err != nil {
		return err
	}
	messages, err := c.do(request)
	for _, m := range messages {
		fmt.Fprintln(out, "  "+showMessage(m))
	}
	return err
}

// connect opens a session, reconnect takes the last one up again.
func (c *rawClient) connect(out *strings.Builder, side *rawSide, how string) error {
	asked := wire.ConnectRequest{Timeout: int32(patience.Milliseconds()), Password: make([]byte, 16)}
	if how == "reconnect" {
		asked.Session, asked.Password = c.session.Session, c.session.Password
	}
	do, granted, err := side.connect(asked)
	c.do = do
	switch {
	case err != nil:
		return err
	case granted == nil:
		fmt.Fprintln(out, "  closed")
		return nil
	case granted.Session == 0:
		fmt.Fprintln(out, "  expired")
		return nil
	}
	c.session = *granted
	return nil
}

func rawRequest(verb string, args *arguments) (*wireFrame, error) {
	r := &wireFrame{}
	switch verb {
	case "create":
		r.op = wire.OpCreate
		r.body = &wire.CreateRequest{Path: args.text(), Data: args.data(), Flags: args.mode(), ACL: args.acl()}
	case "delete":
		r.op, r.body = wire.OpDelete, &wire.PathVersionRequest{Path: args.text(), Version: args.number()}
	case "set":
		r.op, r.body = wire.OpSetData, &wire.SetDataRequest{Path: args.text(), Data: args.data(), Version: args.number()}
	case "exists", "get", "children":
		r.op = map[string]wire.Op{"exists": wire.OpExists, "get": wire.OpGetData, "children": wire.OpGetChildren}[verb]
		r.body = &wire.WatchRequest{Path: args.text(), Watch: args.take("watch")}
	case "acl":
		r.op, r.body = wire.OpGetACL, &wire.PathRequest{Path: args.text()}
	case "setacl":
		r.op, r.body = wire.OpSetACL, &wire.SetACLRequest{Path: args.text(), Version: args.number(), ACL: args.acl()}
	case "sync":
		r.op, r.body = wire.OpSync, &wire.PathRequest{Path: args.text()}
	case "addwatch", "removewatches":
		r.op = map[string]wire.Op{"addwatch": wire.OpAddWatch, "removewatches": wire.OpRemoveWatches}[verb]
		r.body = &wire.PathTypeRequest{Path: args.text(), Type: args.number()}
	case "datawatches":
		r.op = wire.OpSetWatches
		r.body = &wire.SetWatchesRequest{Data: []string{args.text()}, Exist: []string{}, Childs: []string{}}
	case "reconfig":
		r.op, r.body = wire.OpReconfig, &wire.ReconfigRequest{Joining: "server.1=localhost:1:2;3", Config: -1}
	case "auth":
		r.op, r.body = wire.OpAuth, &wire.AuthRequest{Scheme: args.text(), Auth: args.data()}
	case "end": // nothing is asked, only what comes is shown
		return nil, args.err
	case "close":
		r.op = wire.OpCloseSession
	default:
		return nil, fmt.Errorf("no such command: %+q", verb)
	}
	if args.err == nil && len(args.words) > 0 {
		args.err = fmt.Errorf("too many words: %+q", args.words)
	}
	return r, args.err
}

func showMessage(m fakezk.Message) string {
	switch r := m.Reply; {
	case m.Closed:
		return "closed"
	case r == nil:
		return fmt.Sprintf("event %s %+q", strings.TrimPrefix(m.Event.String(), "Event"), m.Path)
	case r.Err != wire.CodeOK:
		return fmt.Sprintf("zxid %d error %d", showZxid(r.Zxid), r.Err)
	default:
		s := fmt.Sprintf("zxid %d", showZxid(r.Zxid))
		if r.Data != nil {
			s += fmt.Sprintf(" data %+q version %d", string(r.Data), r.Stat.Version)
		}
		if r.Path != "" {
			s += fmt.Sprintf(" path %+q", r.Path)
		}
		if r.ACL != nil {
			s += fmt.Sprintf(" acl %s", showACL(r.ACL))
		}
		return s
	}
}

// newRawReal starts servers of its own, which end with the test.
func newRawReal(t testing.TB, with setup) *rawSide {
	t.Helper()
	return &rawSide{connectRaw(t, startReal(t, with).Servers()[0])}
}

// newRawServed is the fake behind a port.
func newRawServed(t testing.TB, with setup) *rawSide {
	s := fakezktest.Start(t, server.Config{Ensemble: with.fake()})
	return &rawSide{connectRaw(t, s.Addr(0))}
}

func connectRaw(t testing.TB, server string) func(wire.ConnectRequest) (rawConn, *wire.ConnectResponse, error) {
	return func(asked wire.ConnectRequest) (rawConn, *wire.ConnectResponse, error) {
		conn, err := net.DialTimeout("tcp", server, patience)
		if err != nil {
			return nil, nil, err
		}
		t.Cleanup(func() { conn.Close() })
		s := &rawSocket{Conn: conn}
		if err := s.send(wire.AppendFrame(nil, &asked)); err != nil {
			return nil, nil, err
		}
		frame, err := wire.ReadFrame(s, nil, wire.FrameMax)
		if err != nil {
			return nil, nil, nil
		}
		var granted wire.ConnectResponse
		_, err = wire.Parse(frame, &granted)
		return s.do, &granted, err
	}
}

// rawSocket speaks the protocol, one request at a time.
type rawSocket struct {
	net.Conn
	xid int32
}

func (s *rawSocket) send(frame []byte) error {
	if err := s.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := s.Write(frame)
	return err
}

// isLast reports whether nothing follows a message that a request has led to, or that came without one.
func isLast(r *wireFrame, m fakezk.Message) bool {
	return m.Closed || m.Reply != nil && (r == nil || r.op != wire.OpCloseSession)
}

// do sends a request. A server that closes the connection does so before it has read a frame that is too long.
func (s *rawSocket) do(r *wireFrame) ([]fakezk.Message, error) {
	op := wire.OpPing
	if r != nil {
		s.xid++
		op, r.xid = r.op, s.xid
		if frame := r.bytes(0); s.send(frame) != nil && len(frame) < 1<<20 {
			return nil, errors.New("the request cannot be sent")
		}
	}
	var got []fakezk.Message
	for {
		m, err := s.receive(op)
		if err != nil {
			return got, err
		}
		if got = append(got, m); isLast(r, m) {
			return got, nil
		}
	}
}

// receive reads a message; an end of the connection of whatever kind is Closed.
func (s *rawSocket) receive(op wire.Op) (fakezk.Message, error) {
	frame, err := wire.ReadFrame(s, nil, wire.FrameMax)
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return fakezk.Message{}, err
	}
	if err != nil {
		return fakezk.Message{Closed: true}, nil
	}
	var header wire.ReplyHeader
	if frame, err = wire.Parse(frame, &header); err != nil {
		return fakezk.Message{}, err
	}
	if header.Xid == wire.XidWatch {
		var event wire.WatcherEvent
		_, err := wire.Parse(frame, &event)
		return fakezk.Message{Event: zk.EventType(event.Type), Path: event.Path}, err
	}
	reply := &fakezk.Response{Zxid: header.Zxid, Err: wire.Code(header.Err)}
	if header.Err == 0 {
		err = rawReply(reply, op, frame)
	}
	return fakezk.Message{Reply: reply}, err
}

// rawReply reads what transcripts show.
func rawReply(reply *fakezk.Response, op wire.Op, frame []byte) error {
	record := wire.NewReply(op)
	if record == nil {
		return nil
	}
	_, err := wire.Parse(frame, record)
	switch r := record.(type) {
	case *wire.PathReply:
		reply.Path = r.Path
	case *wire.ACLReply:
		reply.ACL = r.ACL
	case *wire.DataReply:
		reply.Data, reply.Stat = r.Data, r.Stat
	}
	return err
}
