package fakezk_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
)

var open = zk.WorldACL(zk.PermAll)

func connect(t rapid.TB, e *fakezk.Ensemble, replica int, timeout int64) (fakezk.ConnID, fakezk.ConnectResponse) {
	t.Helper()
	id, answer, err := e.Connect(0, replica, fakezk.ConnectRequest{Timeout: timeout})
	if err != nil || answer.SessionID == 0 {
		t.Fatalf("connect: %+v, error %v", answer, err)
	}
	return id, answer
}

// dump shows everything that a replica's tree holds.
func dump(e *fakezk.Ensemble, replica int) string {
	var b strings.Builder
	e.WalkAt(replica, "/", func(path string, n fakezk.NodeInfo) { fmt.Fprintf(&b, "%s %+v\n", path, n) })
	return b.String()
}

// TestPassword compares with java.util.Random(42), whose first numbers are well known.
func TestPassword(t *testing.T) {
	var want []byte
	for _, n := range []int32{-1170105035, 234785527, -1360544799, 205897768} {
		want = binary.LittleEndian.AppendUint32(want, uint32(n))
	}
	if got := fakezk.Password(42 ^ 0xb3415c00); !slices.Equal(got, want) {
		t.Errorf("password % x, want % x", got, want)
	}
}

// TestExpiryInTime: a session lives between its timeout and one tick more after it was last heard.
func TestExpiryInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tick := rapid.Int64Range(1, 3000).Draw(t, "tick")
		e := fakezk.New(fakezk.Config{Tick: tick})
		now := rapid.Int64Range(0, 1e9).Draw(t, "start")
		timeout := rapid.Int64Range(0, 50*tick).Draw(t, "timeout")
		_, answer, _ := e.Connect(now, 0, fakezk.ConnectRequest{Timeout: timeout})
		heard := now
		for range rapid.IntRange(0, 5).Draw(t, "pings") {
			deadline, ok := e.Deadline()
			if !ok {
				t.Fatal("a session without a deadline")
			}
			now = rapid.Int64Range(now, deadline-1).Draw(t, "now")
			e.Tick(now)
			e.Touch(now, answer.SessionID)
			heard = now
		}
		deadline, _ := e.Deadline()
		e.Tick(deadline - 1)
		if !e.Alive(answer.SessionID) {
			t.Fatalf("expired before its deadline %d", deadline)
		}
		e.Tick(deadline)
		if lived := deadline - heard; e.Alive(answer.SessionID) || lived < answer.Timeout ||
			lived > answer.Timeout+tick {
			t.Fatalf("timeout %d, tick %d: lived %d, alive %t", answer.Timeout, tick, lived, e.Alive(answer.SessionID))
		}
	})
}

// TestChildOrder: child lists come in an order that depends on Config.Order alone, and not always
// in that of the names.
func TestChildOrder(t *testing.T) {
	list := func(order uint64, names string) string {
		e := fakezk.New(fakezk.Config{Order: order})
		c, _ := connect(t, e, 0, 10000)
		for _, name := range names {
			do(e, c, &fakezk.Request{Op: wire.OpCreate, Path: "/" + string(name), ACL: open})
		}
		return strings.Join(do(e, c, &fakezk.Request{Op: wire.OpGetChildren, Path: "/"}).Children, " ")
	}
	orders := map[string]bool{}
	for order := range uint64(20) {
		if list(order, "abcdef") != list(order, "fbdace") {
			t.Errorf("order %d: %q and %q", order, list(order, "abcdef"), list(order, "fbdace"))
		}
		orders[list(order, "abcdef")] = true
	}
	if len(orders) < 15 {
		t.Errorf("20 seeds give %d orders", len(orders))
	}
}

// TestRepliesAreOwned: what a client does to its request or reply changes nothing at the server. The data of a raw
// reply is the server's; that which a Conn returns is not.
func TestRepliesAreOwned(t *testing.T) {
	e := fakezk.New(fakezk.Config{})
	c, _ := connect(t, e, 0, 10000)
	acl := []zk.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}, {Perms: 1, Scheme: "ip", ID: "1.1.1.1"}}
	create := fakezk.Request{Op: wire.OpCreate, Path: "/a", Data: []byte("data"), ACL: acl}
	do(e, c, &create)
	before := dump(e, 0)
	create.Data[0], acl[0].Perms = 'X', 0
	do(e, c, &fakezk.Request{Op: wire.OpGetACL, Path: "/a"}).ACL[0].Perms = 0
	do(e, c, &fakezk.Request{Op: wire.OpGetChildren, Path: "/"}).Children[0] = "X"
	if after := dump(e, 0); after != before {
		t.Errorf("was\n%sis\n%s", before, after)
	}
	conn, _, _ := goclient.NewLocal(fakezk.Config{}).Connect(time.Second)
	conn.Create("/a", []byte("data"), 0, open)
	for _, get := range []func() []byte{
		func() []byte { data, _, _ := conn.Get("/a"); return data },
		func() []byte { data, _, _, _ := conn.GetW("/a"); return data },
	} {
		clear(get())
		if data := get(); string(data) != "data" {
			t.Errorf("the data of a client's reply is the server's: %q", data)
		}
	}
}

// TestBounds: a follower that lags too far is brought forward, a client that does not read is
// disconnected.
func TestBounds(t *testing.T) {
	e := fakezk.New(fakezk.Config{Replicas: 2})
	c, _ := connect(t, e, 0, 10000)
	do(e, c, &fakezk.Request{Op: wire.OpAddWatch, Path: "/", Kind: 1})
	e.SetLag(1, true)
	set := fakezk.Request{Op: wire.OpSetData, Path: "/", Version: -1}
	for range max(fakezk.LogMax, fakezk.QueueMax) + 10 {
		e.Admin(0, &set)
	}
	if e.Behind(1) != fakezk.LogMax {
		t.Errorf("a follower is %d behind", e.Behind(1))
	}
	if n := e.Pending(c); n != fakezk.QueueMax+1 {
		t.Errorf("%d messages wait", n)
	}
	last := fakezk.Message{}
	for m, ok := e.Next(c); ok; m, ok = e.Next(c) {
		last = m
	}
	if !last.Closed || len(e.WatchesOn("/")) != 0 {
		t.Errorf("last message %+v, watches %v", last, e.WatchesOn("/"))
	}
	if err := e.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// TestOutOfRange: numbers that name nothing are answered, not panicked at.
func TestOutOfRange(t *testing.T) {
	e := fakezk.New(fakezk.Config{Replicas: -1})
	for _, id := range []fakezk.ConnID{-1, 0, 1 << 30} {
		e.Request(0, id, &fakezk.Request{Op: wire.OpPing})
		e.Drop(id)
		if _, ok := e.Next(id); ok || e.Pending(id) != 0 {
			t.Errorf("connection %d exists", id)
		}
	}
	if _, _, err := e.Connect(0, 1, fakezk.ConnectRequest{}); !errors.Is(err, fakezk.ErrNoReplica) {
		t.Errorf("error %v", err)
	}
	if e.Behind(-1) != 0 || e.Apply(7) || e.Alive(0) || e.Expire(0, 5) {
		t.Error("something exists that should not")
	}
	if err := e.SetSequence("/none", 1); !errors.Is(err, fakezk.ErrNoNode) {
		t.Errorf("error %v", err)
	}
}

// A server that lags behind [fakezk.Ensemble.SetVersions] shows another Mzxid than those that do not: two versions with one
// would be taken for one state by clients that compare transactions.
func TestVersionsThatAreSetAreOfALaterTransaction(t *testing.T) {
	e := fakezk.New(fakezk.Config{})
	if r := e.Admin(1, &fakezk.Request{Op: wire.OpCreate, Path: "/a", ACL: zk.WorldACL(zk.PermAll)}); r.Err != wire.CodeOK {
		t.Fatal(r.Err)
	}
	before, _ := e.Node("/a")
	if err := e.SetVersions("/a", 7); err != nil {
		t.Fatal(err)
	}
	if after, _ := e.Node("/a"); after.Stat.Version != 7 || after.Stat.Mzxid <= before.Stat.Mzxid {
		t.Errorf("%+v, then %+v", before.Stat, after.Stat)
	}
}

// Versions that a set has [fakezk.Request.Since] are seen with its data or not at all, also by who reads from a server
// that lags behind. Those of a set that fails are never seen.
func TestVersionsSinceComeWithTheData(t *testing.T) {
	e := fakezk.New(fakezk.Config{Replicas: 3})
	set := &fakezk.Request{Op: wire.OpSetData, Path: "/a", Data: []byte("new"), Version: -1, Since: 7}
	if r := e.Admin(1, set); r.Err != wire.CodeNoNode {
		t.Fatal(r.Err)
	}
	e.Admin(1, &fakezk.Request{Op: wire.OpCreate, Path: "/a", Data: []byte("old"), ACL: zk.WorldACL(zk.PermAll)})
	before, _ := e.Node("/a")
	zxid := e.Zxid()
	r := e.Admin(2, set)
	if after, _ := e.Node("/a"); before.Stat.Version != 0 || r.Stat != after.Stat || after.Stat.Version != 8 ||
		after.Stat.Aversion != 7 || string(after.Data) != "new" || e.Zxid() != zxid+1 {
		t.Errorf("%+v, then %+v by transactions %d to %d", before, after, zxid+1, e.Zxid())
	}
	r = e.Admin(3, &fakezk.Request{Op: wire.OpMulti, Ops: []fakezk.Request{*set, {Op: wire.OpCheck, Path: "/a", Version: 8}}})
	if len(r.Results) != 2 || r.Results[1].Err != wire.CodeOK {
		t.Errorf("a check after a set in one multi: %+v", r)
	}
}

// TestHooks: every elementary change is announced once, in order, and every event.
func TestHooks(t *testing.T) {
	e := fakezk.New(fakezk.Config{Replicas: 3})
	var changes []string
	e.OnCommit = func(c fakezk.Change) {
		changes = append(changes, fmt.Sprintf("%d op %d %s by %x of %x", c.Zxid, c.Op, c.Path, c.Session, c.Owner))
	}
	seen := 0
	e.OnEvent = func(fakezk.ConnID, fakezk.Message) { seen++ }
	c, session := connect(t, e, 1, 10000)
	do(e, c, &fakezk.Request{Op: wire.OpExists, Path: "/a", Watch: true})
	do(e, c, &fakezk.Request{Op: wire.OpCreate, Path: "/a", Flags: zk.FlagEphemeral, ACL: open})
	do(e, c, &fakezk.Request{Op: wire.OpMulti, Ops: []fakezk.Request{
		{Op: wire.OpSetData, Path: "/a", Version: 0}, {Op: wire.OpCheck, Path: "/a", Version: 1},
		{Op: wire.OpSetData, Path: "/zookeeper/quota", Version: 0},
	}})
	do(e, c, &fakezk.Request{Op: wire.OpDelete, Path: "/none"})
	e.Expire(0, session.SessionID)
	want := []string{
		"1 op -10  by 200000000000001 of 0",
		"2 op 1 /a by 200000000000001 of 200000000000001",
		"3 op 5 /a by 200000000000001 of 200000000000001",
		"3 op 5 /zookeeper/quota by 200000000000001 of 0",
		"5 op -11  by 200000000000001 of 0",
		"5 op 2 /a by 200000000000001 of 200000000000001",
	}
	if !slices.Equal(changes, want) || seen != 1 {
		t.Errorf("changes\n%s\nevents %d", strings.Join(changes, "\n"), seen)
	}
}
