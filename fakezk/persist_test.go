package fakezk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// saved is all that Save writes.
func saved(t rapid.TB, e *fakezk.Ensemble) string {
	t.Helper()
	var b bytes.Buffer
	if err := e.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// overJSON sends a transaction through a file.
func overJSON(t rapid.TB, x fakezk.Transaction) (read fakezk.Transaction) {
	t.Helper()
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestKeptAndTakenUp: what was saved at any moment, and the transactions since then, make the same ensemble, whatever
// was done.
func TestKeptAndTakenUp(t *testing.T) {
	cfg := fakezk.Config{Replicas: 2, TTL: true, ReapInterval: 3}
	rapid.Check(t, func(t *rapid.T) {
		e := fakezk.New(cfg)
		var log []fakezk.Transaction
		e.OnTransaction = func(x fakezk.Transaction) { log = append(log, overJSON(t, x)) }
		snapshot := saved(t, e)
		for now := range int64(rapid.IntRange(1, 30).Draw(t, "steps")) {
			anyStep(t, e, now)
			if rapid.IntRange(0, 9).Draw(t, "save") == 0 {
				snapshot, log = saved(t, e), nil
			}
		}
		again := fakezk.New(cfg)
		if err := again.Load(0, strings.NewReader(snapshot)); err != nil {
			t.Fatal(err)
		}
		for _, x := range log {
			if err := again.Replay(x); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(strings.Split(saved(t, e), "\n"), strings.Split(saved(t, again), "\n")); d != "" {
			t.Fatalf("-was +is:\n%s", d)
		}
		if err := again.CheckInvariants(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(dump(again, 0), dump(again, 1)); d != "" {
			t.Fatalf("the replicas differ: %s", d)
		}
	})
}

// anyStep is a request of a new or an old session, the end of one, or time that passes.
func anyStep(t *rapid.T, e *fakezk.Ensemble, now int64) {
	sessions := e.Sessions()
	switch action := rapid.IntRange(0, 9).Draw(t, "action"); {
	case len(sessions) == 0 || action == 0:
		connect(t, e, rapid.IntRange(0, 1).Draw(t, "replica"), 40000)
	case action == 1:
		e.Expire(now, rapid.SampledFrom(sessions).Draw(t, "session").ID)
	case action == 2:
		e.Tick(now)
	default:
		s := rapid.SampledFrom(sessions).Draw(t, "session")
		r := rapid.OneOf(genAny, genSpecial).Draw(t, "request")
		c, _, err := e.Connect(now, s.Replica, fakezk.ConnectRequest{Timeout: 40000, SessionID: s.ID, Password: fakezk.Password(s.ID)})
		if err != nil {
			t.Fatal(err)
		}
		e.Request(now, c, &r)
		e.Drop(c)
	}
}

var genSpecial = rapid.Custom(func(t *rapid.T) fakezk.Request {
	r := fakezk.Request{Path: genPath.Draw(t, "path"), ACL: open, TTL: 1, Version: -1, Data: genData.Draw(t, "data")}
	r.Op = rapid.SampledFrom([]wire.Op{wire.OpCreateContainer, wire.OpCreateTTL, wire.OpSetACL}).Draw(t, "op")
	r.Flags = map[wire.Op]int32{wire.OpCreateContainer: 4, wire.OpCreateTTL: 5}[r.Op]
	return r
})

// What does not fit changes nothing, and says what it is.
func TestReplayRefuses(t *testing.T) {
	e := fakezk.New(fakezk.Config{})
	connect(t, e, 0, 40000)
	session, before := e.Sessions()[0].ID, saved(t, e)
	for name, test := range map[string]struct {
		zxid  int64
		edits []fakezk.Edit
		says  string
	}{
		"a gap":              {3, nil, "transaction 0x3 after 0x1"},
		"an orphan":          {2, []fakezk.Edit{{Op: wire.OpCreate, Path: "/a"}, {Op: wire.OpCreate, Path: "/b/c"}}, `edit 2: "/b/c" cannot be created`},
		"no path":            {2, []fakezk.Edit{{Op: wire.OpCreate}}, "cannot be created"},
		"a second time":      {2, []fakezk.Edit{{Op: wire.OpCreate, Path: "/zookeeper"}}, "cannot be created"},
		"a parent":           {2, []fakezk.Edit{{Op: wire.OpDelete, Path: "/zookeeper"}}, "cannot be deleted"},
		"nothing":            {2, []fakezk.Edit{{Op: wire.OpSetData, Path: "/none"}}, "is not there"},
		"a session twice":    {2, []fakezk.Edit{{Op: wire.OpCreateSession, Owner: session}}, "is there already"},
		"an unknown request": {2, []fakezk.Edit{{Op: wire.OpPing}}, "no operation 11 in a log"},
	} {
		t.Run(name, func(t *testing.T) {
			err := e.Replay(fakezk.Transaction{Zxid: test.zxid, Edits: test.edits})
			if says := fmt.Sprint(err); !strings.HasPrefix(says, "fakezk: it does not fit: ") || !strings.Contains(says, test.says) {
				t.Errorf("%v, want %q", err, test.says)
			}
			if d := cmp.Diff(before, saved(t, e)); d != "" {
				t.Error(d)
			}
		})
	}
	for _, text := range []string{"", "{", `{"nodes":2}`, `{"nodes":1}` + "\n" + `{"path":"/a/b"}`} {
		err := fakezk.New(fakezk.Config{}).Load(0, strings.NewReader(text))
		if !strings.HasPrefix(fmt.Sprint(err), "fakezk: it does not fit: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A server that is started again has the members that reconfig has made, from the snapshot or the log. One that had
// none has those of its configuration.
func TestMembersOutliveTheServer(t *testing.T) {
	cfg := fakezk.Config{Replicas: 3, Reconfig: true}
	was := fakezk.New(cfg)
	empty := saved(t, was)
	var log []fakezk.Transaction
	was.OnTransaction = func(x fakezk.Transaction) { log = append(log, overJSON(t, x)) }
	left := was.Admin(5, &fakezk.Request{Op: wire.OpReconfig, Leaving: "3", ConfigVersion: 0})
	if left.Err != wire.CodeOK || strings.Contains(string(left.Data), "server.3") {
		t.Fatalf("%+v", left)
	}
	for name, from := range map[string]struct {
		snapshot string
		log      []fakezk.Transaction
	}{"snapshot": {saved(t, was), nil}, "log": {empty, log}} {
		is := fakezk.New(cfg)
		if err := is.Load(0, strings.NewReader(from.snapshot)); err != nil {
			t.Fatal(err)
		}
		for _, x := range from.log {
			if err := is.Replay(x); err != nil {
				t.Fatal(err)
			}
		}
		for _, version := range []int64{0, 1} {
			r := fakezk.Request{Op: wire.OpReconfig, Joining: "server.7=127.0.0.1:1:2;3", ConfigVersion: version}
			want := map[int64]wire.Code{0: wire.CodeBadVersion}[version]
			reply := is.Admin(9, &r)
			if members := string(reply.Data); reply.Err != want || want == 0 && strings.Contains(members, "server.3") {
				t.Errorf("%s, version %d: %d %q, want %d", name, version, reply.Err, members, want)
			}
		}
	}
	alone := saved(t, fakezk.New(fakezk.Config{}))
	is := fakezk.New(cfg)
	if err := is.Load(0, strings.NewReader(alone)); err != nil {
		t.Fatal(err)
	}
	if n, _ := is.Node("/zookeeper/config"); !strings.HasPrefix(string(n.Data), "server.1=") {
		t.Errorf("%q", n.Data)
	}
}
