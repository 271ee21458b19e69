package fakezk_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

var rewrite = flag.Bool("rewrite", false, "replace the answers in testdata/*.txt by what the servers answer now")

// TestTranscripts plays the scripts in testdata. A line at the margin is a command (or a comment);
// the indented lines below it are what it led to: its own result, then all messages that reached
// any client, by client. The commands are the cases of transcript.control and transcript.client.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in testdata (error %v)", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { playFile(t, file) })
	}
}

func playFile(t *testing.T, file string) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := play(t, string(want))
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s (-want +got; run with -rewrite if the change is meant):\n%s", file, d)
	}
}

// transcript is the state of a script: an ensemble, its clock, and named clients.
type transcript struct {
	t       *testing.T
	servers *fakezk.Ensemble
	now     int64
	clients map[string]*player
	names   []string // of the clients, in order of appearance
	out     strings.Builder
}

type player struct {
	conn     fakezk.ConnID
	session  int64
	password []byte
}

func play(t *testing.T, script string) string {
	x := &transcript{t: t, servers: fakezk.New(fakezk.Config{}), clients: map[string]*player{}}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&x.out, line)
		if line != "" && line[0] != '#' {
			x.command(words(t, line))
			x.deliver()
		}
	}
	return x.out.String()
}

func (x *transcript) say(format string, args ...any) { fmt.Fprintf(&x.out, "  "+format+"\n", args...) }

// words splits a line at spaces; a word may be a Go string.
func words(t *testing.T, line string) []string {
	var list []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		word, rest, _ := strings.Cut(line, " ")
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			word, _ = strconv.Unquote(quoted)
			rest = line[len(quoted):]
		}
		list, line = append(list, word), rest
	}
	return list
}

// options are the words of the form key=value.
type options map[string]string

func (x *transcript) options(words []string) options {
	o := options{}
	for _, word := range words {
		if key, value, ok := strings.Cut(word, "="); ok {
			o[key] = value
		}
	}
	return o
}

func (x *transcript) number(o options, key string, otherwise int64) int64 {
	s, ok := o[key]
	if !ok {
		return otherwise
	}
	return x.parse(s)
}

func (x *transcript) parse(s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		x.t.Fatalf("a number is needed: %v", err)
	}
	return n
}

func (x *transcript) command(w []string) {
	if !x.control(w) {
		x.client(w[0], w[1:])
	}
}

// control carries out what is not a client's.
func (x *transcript) control(w []string) bool {
	switch w[0] {
	case "ensemble": // replicas=1 tick=2000 ttl=false super=… compat=3.8.0-debian wraps=false
		x.reset(x.options(w[1:]))
	case "time": // the clock is at so many milliseconds
		x.now = x.parse(w[1])
		x.servers.Tick(x.now)
	case "deadline":
		at, ok := x.servers.Deadline()
		x.say("%d %t", at, ok)
	case "expire":
		x.say("%t", x.servers.Expire(x.now, x.clients[w[1]].session))
	case "touch":
		x.servers.Touch(x.now, x.clients[w[1]].session)
	case "lag":
		x.servers.SetLag(int(x.parse(w[1])), w[2] == "on")
	case "apply":
		x.say("%t, %d to go", x.servers.Apply(int(x.parse(w[1]))), x.servers.Behind(int(x.parse(w[1]))))
	case "depose":
		x.say("%t", x.servers.Depose(x.now, int(x.parse(w[1]))))
	case "notice":
		x.say("%t", x.servers.Notice())
	case "quorum": // lost or back
		if w[1] == "lost" {
			x.servers.LoseQuorum()
		} else {
			x.servers.RegainQuorum(x.now)
		}
	case "leader":
		x.say("%d, deposed %d", x.servers.Leader(), x.servers.Deposed())
	case "sequence":
		if err := x.servers.SetSequence(w[1], int32(x.parse(w[2]))); err != nil {
			x.say("%v", err)
		}
	case "admin":
		reply := x.servers.Admin(x.now, x.request(w[1:]))
		x.say("admin: %s", showReply(&reply))
	default:
		return x.look(w)
	}
	return true
}

// look shows the state of the servers.
func (x *transcript) look(w []string) bool {
	switch w[0] {
	case "sessions":
		for _, s := range x.servers.Sessions() {
			x.say("0x%x timeout %d deadline %d replica %d connected %t", s.ID, s.Timeout, s.Deadline, s.Replica,
				s.Connected)
		}
	case "watches":
		for _, s := range x.servers.Watches() {
			x.say("%s %s 0x%x replica %d", s.Path, s.Kind, s.Session, s.Replica)
		}
	case "watcheson":
		for _, s := range x.servers.WatchesOn(w[1]) {
			x.say("%s %s 0x%x replica %d", s.Path, s.Kind, s.Session, s.Replica)
		}
	case "node":
		n, ok := x.servers.Node(w[1])
		x.say("%t %q %s sequence %d container %t ttl %d", ok, n.Data, showStat(n.Stat), n.Sequence, n.Container, n.TTL)
	case "tree":
		x.servers.Walk("/", func(path string, n fakezk.NodeInfo) { x.say("%s %q", path, n.Data) })
	case "zxid":
		x.say("%d", x.servers.Zxid())
	default:
		return false
	}
	return true
}

func (x *transcript) reset(o options) {
	x.now, x.clients, x.names = 0, map[string]*player{}, nil
	x.servers.Reset(fakezk.Config{
		Replicas: int(x.number(o, "replicas", 1)), Tick: x.number(o, "tick", 0),
		TTL: o["ttl"] == "true", Super: o["super"], SequenceWraps: o["wraps"] == "true",
	})
}

// client carries out a client's command: connect, drop, or a request.
func (x *transcript) client(name string, w []string) {
	if len(w) == 0 || w[0] != "connect" && x.clients[name] == nil {
		x.t.Fatalf("%q is neither a command nor a client that has connected", name)
	}
	switch w[0] {
	case "connect": // replica=0 timeout=10000 zxid=0 session=<client> password=wrong address=…
		x.connect(name, x.options(w[1:]))
	case "drop":
		x.servers.Drop(x.clients[name].conn)
	default:
		x.servers.Request(x.now, x.clients[name].conn, x.request(w))
	}
}

func (x *transcript) connect(name string, o options) {
	r := fakezk.ConnectRequest{Timeout: x.number(o, "timeout", 10000), LastZxid: x.number(o, "zxid", 0),
		Address: o["address"]}
	if old, ok := x.clients[o["session"]]; ok {
		r.SessionID, r.Password = old.session, old.password
	}
	if o["password"] == "wrong" {
		r.Password = []byte("0123456789abcdef")
	}
	id, answer, err := x.servers.Connect(x.now, int(x.number(o, "replica", 0)), r)
	switch {
	case err != nil:
		x.say("%v", err)
	case answer.SessionID == 0:
		x.say("refused")
	default:
		x.say("session 0x%x timeout %d", answer.SessionID, answer.Timeout)
		if x.clients[name] == nil {
			x.names = append(x.names, name)
		}
		x.clients[name] = &player{id, answer.SessionID, answer.Password}
	}
}

var operations = map[string]wire.Op{
	"create": wire.OpCreate, "create2": wire.OpCreate2, "container": wire.OpCreateContainer,
	"ttl":    wire.OpCreateTTL,
	"delete": wire.OpDelete, "set": wire.OpSetData, "setacl": wire.OpSetACL, "check": wire.OpCheck,
	"multi":  wire.OpMulti,
	"exists": wire.OpExists, "get": wire.OpGetData, "ls": wire.OpGetChildren, "ls2": wire.OpGetChildren2,
	"getacl": wire.OpGetACL,
	"sync":   wire.OpSync, "ping": wire.OpPing, "close": wire.OpCloseSession,
	"auth":       wire.OpAuth,
	"setwatches": wire.OpSetWatches, "setwatches2": wire.OpSetWatches2, "addwatch": wire.OpAddWatch,
	"checkwatches": wire.OpCheckWatches, "removewatches": wire.OpRemoveWatches, "unknown": 77,
}

// request reads: operation [path] [w] [data=…] [flags=n] [version=n] [ttl=ms] [kind=n] [acl=perms/scheme/id,…]
// [scheme=… auth=…] [zxid=n data=/p,… exist=/p,… child=/p,…]. A multi's operations follow, between semicolons.
func (x *transcript) request(w []string) *fakezk.Request {
	op, ok := operations[w[0]]
	for code := wire.Op(0); !ok && code < 200; code++ { // or its own name
		op, ok = code, code.String() == w[0]
	}
	if !ok {
		x.t.Fatalf("unknown command %q", strings.Join(w, " "))
	}
	if op == wire.OpMulti {
		return &fakezk.Request{Op: op, Ops: x.requests(w[1:])}
	}
	o := x.options(w[1:])
	r := &fakezk.Request{
		Op: op, Flags: int32(x.number(o, "flags", 0)), Version: int32(x.number(o, "version", -1)),
		TTL:  x.number(o, "ttl", 0),
		Kind: int32(x.number(o, "kind", 0)), ACL: x.acl(o), Watch: slices.Contains(w, "w"),
		Scheme: o["scheme"], Auth: []byte(o["auth"]), RelativeZxid: x.number(o, "zxid", 0),
	}
	if len(w) > 1 && !strings.Contains(w[1], "=") {
		r.Path = w[1]
	}
	if op == wire.OpSetWatches || op == wire.OpSetWatches2 {
		r.DataWatches, r.ExistWatches, r.ChildWatches = o.list("data"), o.list("exist"), o.list("child")
		r.PersistentWatches, r.RecursiveWatches = o.list("persistent"), o.list("recursive")
	} else if data, ok := o["data"]; ok {
		r.Data = []byte(data)
	}
	return r
}

func (o options) list(key string) []string {
	if o[key] == "" {
		return nil
	}
	return strings.Split(o[key], ",")
}

func (x *transcript) requests(w []string) []fakezk.Request {
	var list []fakezk.Request
	for len(w) > 0 {
		end := slices.Index(w, ";")
		if end < 0 {
			return append(list, *x.request(w))
		}
		list, w = append(list, *x.request(w[:end])), w[end+1:]
	}
	return list
}

func (x *transcript) acl(o options) []zk.ACL {
	if _, ok := o["acl"]; !ok {
		return zk.WorldACL(zk.PermAll)
	}
	var acl []zk.ACL
	for _, one := range o.list("acl") {
		part := strings.SplitN(one, "/", 3)
		acl = append(acl, zk.ACL{Perms: int32(x.parse(part[0])), Scheme: part[1], ID: part[2]})
	}
	return acl
}

// deliver shows every message that has reached a client.
func (x *transcript) deliver() {
	for _, name := range x.names {
		for {
			m, ok := x.servers.Next(x.clients[name].conn)
			if !ok {
				break
			}
			x.say("%s: %s", name, showMessage(m))
		}
	}
}

func showMessage(m fakezk.Message) string {
	switch {
	case m.Closed:
		return "closed"
	case m.Reply != nil:
		return showReply(m.Reply)
	}
	return fmt.Sprintf("event %s %q at %d", strings.TrimPrefix(m.Event.String(), "Event"), m.Path, m.Zxid)
}

func showReply(r *fakezk.Response) string {
	s := fmt.Sprintf("zxid %d", r.Zxid)
	if r.Err != wire.CodeOK {
		s += fmt.Sprintf(" error %d", r.Err)
	}
	s += showResult(r.Path, r.Data, r.Children, r.Stat)
	for _, a := range r.ACL {
		s += fmt.Sprintf(" %d/%s/%s", a.Perms, a.Scheme, a.ID)
	}
	if r.Results != nil {
		s += fmt.Sprintf(" %d results", len(r.Results))
	}
	for _, one := range r.Results {
		s += fmt.Sprintf("\n    type %d error %d%s", one.Op, one.Err,
			showResult(one.Path, nil, nil, one.Stat))
	}
	return s
}

func showResult(path string, data []byte, children []string, stat zk.Stat) string {
	s := ""
	if path != "" {
		s += fmt.Sprintf(" path %q", path)
	}
	if data != nil {
		s += fmt.Sprintf(" data %q", data)
	}
	if children != nil {
		sorted := slices.Sorted(slices.Values(children))
		s += fmt.Sprintf(" children %q", sorted)
	}
	if stat != (zk.Stat{}) {
		s += " " + showStat(stat)
	}
	return s
}

func showStat(s zk.Stat) string {
	return fmt.Sprintf("stat c%d/m%d/p%d times %d/%d versions %d/%d/%d owner 0x%x length %d children %d",
		s.Czxid, s.Mzxid, s.Pzxid, s.Ctime, s.Mtime, s.Version, s.Cversion, s.Aversion, uint64(s.EphemeralOwner),
		s.DataLength, s.NumChildren)
}
