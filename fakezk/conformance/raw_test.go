package conformance_test

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/wire"
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
				if testing.Short() {
					t.Skip("starts a server")
				}
				playRawFile(t, file, newRawReal(t, with), *rewrite)
			})
			t.Run("fake", func(t *testing.T) { playRawFile(t, file, newRawFake(with), false) })
			t.Run("served", func(t *testing.T) { playRawFile(t, file, newRawServed(t, with), false) })
		})
	}
}

func playRawFile(t *testing.T, file string, side *rawSide, rewrite bool) {
	playText(t, file, func(text string) (string, error) { return playRaw(side, text) }, rewrite)
}

// TestRawRandomScripts is for raw requests what TestRandomScripts is for go-zookeeper's.
func TestRawRandomScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	real_, fakes := newRawReal(t, setup{}), map[string]*rawSide{"fake": newRawFake(setup{}), "served": newRawServed(t, setup{})}
	rapid.Check(t, func(t *rapid.T) {
		script := drawRawScript(t)
		want, err := playRaw(real_, script)
		if err != nil {
			t.Fatal(err)
		}
		for name, fake := range fakes {
			got, err := playRaw(fake, script)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
				t.Fatalf("the %s differs from the real server (-real +%[1]s):\n%s\n"+
					"The script, as the real server answers it:\n%s", name, d, want)
			}
		}
	})
}

// drawRawScript leaves no znodes behind, but for what it may find of an earlier one, and that is the
// same on both sides.
func drawRawScript(t *rapid.T) string {
	pick := func(from ...string) string { return rapid.SampledFrom(from).Draw(t, "pick") }
	text := rapid.Custom(func(t *rapid.T) string {
		var s strings.Builder
		for range rapid.IntRange(0, 5).Draw(t, "pieces") {
			s.WriteString(rapid.SampledFrom([]string{"a", "é", "\uffff", "\ue000", "😀", "\xed\xa0\xbd",
				"\xed\xb8\x80", "\xff", "\xc0\x80",
				"\xe0", "\xe0\x80", "\xe2\x82", "\xed\xa0", "\xed", "\xf0\x9f", "\xf0\x9f\x98", "\xf0\x80\x80\x80",
				"\xf4\x90\x80\x80", "\xf5", "\x80", "\xc3"}).Draw(t, "piece"))
		}
		return s.String()
	})
	path := func() string { return pick(`""`, "/", "/p", "/p", "/p", "/p/q", "/p/q", "/zookeeper", "/none") }
	lines := []string{"a connect", "b connect"}
	for range rapid.IntRange(1, 20).Draw(t, "commands") {
		command := ""
		switch rapid.IntRange(0, 11).Draw(t, "command") {
		case 0:
			command = "create " + pick("/p", "/p/q") + ` ""`
		case 1:
			command = "delete " + pick("/p", "/p/q") + " -1"
		case 2:
			command = "set " + path() + " x -1"
		case 3:
			command = pick("exists ", "get ", "children ") + path() + " watch"
		case 4:
			command = "addwatch " + path() + pick(" 0", " 1", " 2")
		case 5, 6:
			command = pick("checkwatches ", "checkwatches ", "removewatches ") + path() + pick(" 1", " 2", " 3", " 4")
		case 7:
			command = "count " + path()
		case 8:
			command = "reconfig"
		case 9:
			command = fmt.Sprintf("sync %q", text.Draw(t, "text"))
		case 10:
			command = fmt.Sprintf(`setacl /p -1 acl="world:anyone:cdrwa,digest:%s:x:r"`,
				strings.Trim(fmt.Sprintf("%+q", text.Draw(t, "text")), `"`))
		case 11:
			command = "acl " + path()
		}
		lines = append(lines, pick("a ", "b ")+command)
	}
	return strings.Join(append(lines, "a close", "b close"), "\n") + "\n"
}

// rawSide is a server to play with.
type rawSide struct {
	// connect opens a session, or takes one up again. The response is nil if the server closes the connection
	// instead; the rawConn is nil unless there is a session.
	connect   func(wire.ConnectRequest) (rawConn, *wire.ConnectResponse, error)
	quorum    func(there bool) error // takes the majority away, or gives it back
	countless bool                   // transactions are not shown
}

var replyZxid = regexp.MustCompile(`^zxid [0-9]+`)

// rawConn sends a request, unless it is nil, and returns what comes up to its reply, or up to the end of the
// connection.
type rawConn func(*fakezk.Request) ([]fakezk.Message, error)

// rawClient is a client of a script.
type rawClient struct {
	do      rawConn
	session wire.ConnectResponse // of the last connection
	login   saslClient
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
	if line == "quorum lost" || line == "quorum back" {
		return side.quorum(line == "quorum back")
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
		return c.connect(out, side, words[1:])
	}
	if c == nil || c.do == nil {
		return errors.New("a client that has connected is needed")
	}
	request, err := rawRequest(words[1], &arguments{words: words[2:]}, &c.login)
	if err != nil {
		return err
	}
	messages, err := c.do(request)
	for _, m := range messages {
		shown := showMessage(m)
		if side.countless {
			shown = replyZxid.ReplaceAllString(shown, "zxid")
		}
		fmt.Fprintln(out, "  "+c.login.show(shown, m.Reply))
	}
	return err
}

// connect opens a session, reconnect takes the last one up again. What comes of that is shown if more than a session
// was asked for.
func (c *rawClient) connect(out *strings.Builder, side *rawSide, words []string) error {
	asked := wire.ConnectRequest{Timeout: int32(patience.Milliseconds()), Password: make([]byte, 16)}
	if words[0] == "reconnect" {
		asked.Session, asked.Password = c.session.Session, c.session.Password
	}
	if len(words) > 1 {
		asked.ReadOnly = new(bool)
		*asked.ReadOnly = words[1] == "readonly"
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
	case len(words) > 1:
		fmt.Fprintf(out, "  readonly %v\n", *granted.ReadOnly)
	}
	c.session = *granted
	return nil
}

func rawRequest(verb string, args *arguments, login *saslClient) (*fakezk.Request, error) {
	r := &fakezk.Request{}
	switch verb {
	case "create":
		r.Op, r.Path, r.Data, r.Flags, r.ACL = fakezk.OpCreate, args.text(), args.data(), args.mode(), args.acl()
	case "delete":
		r.Op, r.Path, r.Version = fakezk.OpDelete, args.text(), args.number()
	case "set":
		r.Op, r.Path, r.Data, r.Version = fakezk.OpSetData, args.text(), args.data(), args.number()
	case "exists", "get", "children":
		r.Op = map[string]fakezk.Op{"exists": fakezk.OpExists, "get": fakezk.OpGetData,
			"children": fakezk.OpGetChildren}[verb]
		r.Path, r.Watch = args.text(), args.take("watch")
	case "acl":
		r.Op, r.Path = fakezk.OpGetACL, args.text()
	case "setacl":
		r.Op, r.Path, r.Version, r.ACL = fakezk.OpSetACL, args.text(), args.number(), args.acl()
	case "sync":
		r.Op, r.Path = fakezk.OpSync, args.text()
	case "count":
		r.Op, r.Path = fakezk.OpAllChildren, args.text()
	case "addwatch", "checkwatches", "removewatches":
		r.Op = map[string]fakezk.Op{"addwatch": fakezk.OpAddWatch, "checkwatches": fakezk.OpCheckWatches,
			"removewatches": fakezk.OpRemoveWatches}[verb]
		r.Path, r.Kind = args.text(), args.number()
	case "datawatches":
		r.Op, r.DataWatches = fakezk.OpSetWatches, []string{args.text()}
	case "reconfig":
		r.Op, r.ConfigVersion, r.Members = fakezk.OpReconfig, args.version(), []byte(args.optional("members="))
		if r.Joining, r.Leaving = args.optional("joining="), args.optional("leaving="); r.Joining+r.Leaving != "" {
			r.Members = nil
		}
	case "auth":
		r.Op, r.Scheme, r.Auth = fakezk.OpSetAuth, args.text(), args.data()
	case "end": // nothing is asked, only what comes is shown
		return nil, args.err
	case "whoami":
		r.Op = fakezk.OpWhoAmI
	case "token":
		r.Op, r.Auth = fakezk.OpSASL, args.data()
	case "login":
		r.Op, r.Auth = fakezk.OpSASL, login.respond(args.text(), args.text(), args.words...)
		args.words = nil
	case "close":
		r.Op = fakezk.OpCloseSession
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
	case r.Err != fakezk.CodeOK:
		return fmt.Sprintf("zxid %d error %d", showZxid(r.Zxid), r.Err)
	default:
		s := fmt.Sprintf("zxid %d", showZxid(r.Zxid))
		if r.Data != nil {
			s += fmt.Sprintf(" data %+q version %d", showConfig(string(r.Data)), r.Stat.Version)
		}
		if r.Path != "" {
			s += fmt.Sprintf(" path %+q", r.Path)
		}
		if r.ACL != nil {
			s += fmt.Sprintf(" acl %s", showACL(r.ACL))
		}
		if r.Number != 0 {
			s += fmt.Sprintf(" number %d", r.Number)
		}
		return s
	}
}

func newRawFake(with setup) *rawSide {
	servers := fakezk.New(with.fake())
	do := func(id fakezk.ConnID) rawConn {
		return func(r *fakezk.Request) ([]fakezk.Message, error) {
			var got []fakezk.Message
			if r != nil {
				servers.Request(0, id, r)
			}
			for m, ok := servers.Next(id); ok; m, ok = servers.Next(id) {
				if got = append(got, m); isLast(r, m) {
					break
				}
			}
			return got, nil
		}
	}
	return &rawSide{
		countless: with.countless, connect: func(asked wire.ConnectRequest) (rawConn, *wire.ConnectResponse, error) {
			id, granted, err := servers.Connect(0, 0, fakezk.ConnectRequest{
				Timeout: int64(asked.Timeout), SessionID: asked.Session, Password: asked.Password, ReadOnly: asked.ReadOnly != nil && *asked.ReadOnly,
			})
			if err != nil {
				return nil, nil, nil
			}
			return do(id), &wire.ConnectResponse{Session: granted.SessionID, Password: granted.Password, ReadOnly: &granted.ReadOnly}, nil
		},
		quorum: func(there bool) error {
			if there {
				servers.RegainQuorum(0)
			} else {
				servers.LoseQuorum()
			}
			return nil
		},
	}
}

// newRawReal starts servers of its own, which end with the test.
func newRawReal(t testing.TB, with setup) *rawSide {
	t.Helper()
	e := startReal(t, with)
	return &rawSide{connect: connectRaw(t, e.Servers()[0]), quorum: func(there bool) error { return realQuorum(t, e, there) }, countless: with.countless}
}

// newRawServed is the fake behind a port.
func newRawServed(t testing.TB, with setup) *rawSide {
	s := fakezktest.Start(t, server.Config{Ensemble: with.fake()})
	return &rawSide{
		countless: with.countless, connect: connectRaw(t, s.Addr(0)),
		quorum: func(there bool) error {
			if there {
				s.RegainQuorum()
			} else {
				s.LoseQuorum()
			}
			return nil
		},
	}
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

// isLast tells whether nothing follows a message that a request has led to, or that came without one.
func isLast(r *fakezk.Request, m fakezk.Message) bool {
	return m.Closed || m.Reply != nil && (r == nil || r.Op != fakezk.OpCloseSession)
}

func (s *rawSocket) do(r *fakezk.Request) ([]fakezk.Message, error) {
	op := fakezk.OpPing
	if r != nil {
		op = r.Op
		if err := s.request(r); err != nil {
			return nil, err
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

// request sends a request. A server that closes the connection does so before it has read a frame that is too long.
func (s *rawSocket) request(r *fakezk.Request) error {
	s.xid++
	records := []wire.Record{&wire.RequestHeader{Xid: s.xid, Op: wire.Op(r.Op)}}
	if body := rawBody(r); body != nil {
		records = append(records, body)
	}
	if err := s.send(wire.AppendFrame(nil, records...)); err != nil && len(r.Data) == 0 {
		return err
	}
	return nil
}

func rawBody(r *fakezk.Request) wire.Record {
	switch r.Op {
	case fakezk.OpCreate:
		return &wire.CreateRequest{Path: r.Path, Data: r.Data, ACL: r.ACL, Flags: r.Flags}
	case fakezk.OpDelete:
		return &wire.PathVersionRequest{Path: r.Path, Version: r.Version}
	case fakezk.OpSetData:
		return &wire.SetDataRequest{Path: r.Path, Data: r.Data, Version: r.Version}
	case fakezk.OpExists, fakezk.OpGetData, fakezk.OpGetChildren:
		return &wire.WatchRequest{Path: r.Path, Watch: r.Watch}
	case fakezk.OpSetACL:
		return &wire.SetACLRequest{Path: r.Path, ACL: r.ACL, Version: r.Version}
	case fakezk.OpGetACL, fakezk.OpSync, fakezk.OpAllChildren:
		return &wire.PathRequest{Path: r.Path}
	case fakezk.OpAddWatch, fakezk.OpCheckWatches, fakezk.OpRemoveWatches:
		return &wire.PathTypeRequest{Path: r.Path, Type: r.Kind}
	case fakezk.OpSetWatches:
		return &wire.SetWatchesRequest{Data: r.DataWatches, Exist: []string{}, Childs: []string{}}
	case fakezk.OpReconfig:
		return &wire.ReconfigRequest{Joining: r.Joining, Leaving: r.Leaving, Members: r.Members, Config: r.ConfigVersion}
	case fakezk.OpSetAuth:
		return &wire.AuthRequest{Scheme: r.Scheme, Auth: r.Auth}
	case fakezk.OpSASL:
		return &wire.TokenRecord{Token: r.Auth}
	}
	return nil
}

// receive reads a message; an end of the connection of whatever kind is Closed.
func (s *rawSocket) receive(op fakezk.Op) (fakezk.Message, error) {
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
	reply := &fakezk.Response{Zxid: header.Zxid, Err: fakezk.Code(header.Err)}
	if header.Err == 0 {
		err = rawReply(reply, op, frame)
	}
	return fakezk.Message{Reply: reply}, err
}

// rawReply reads what transcripts show.
func rawReply(reply *fakezk.Response, op fakezk.Op, frame []byte) error {
	record := wire.NewReply(wire.Op(op))
	if record == nil {
		return nil
	}
	_, err := wire.Parse(frame, record)
	switch r := record.(type) {
	case *wire.PathReply:
		reply.Path = r.Path
	case *wire.ACLReply:
		reply.ACL = r.ACL
	case *wire.CountReply:
		reply.Number = r.Count
	case *wire.DataReply:
		reply.Data, reply.Stat = r.Data, r.Stat
	case *wire.TokenRecord:
		reply.Data = r.Token
	case *wire.WhoAmIReply:
		for _, x := range r.Identities {
			reply.ACL = append(reply.ACL, zk.ACL{Scheme: x.Scheme, ID: x.User})
		}
	}
	return err
}
