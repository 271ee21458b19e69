package fakezk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	zkwire "github.com/zktorture/zktorture/wire"
)

// TestSize compares the size that the fake reckons with what package wire writes.
func TestSize(t *testing.T) {
	for op := range sized {
		t.Run(zkwire.Op(op).String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				r := drawRequest(t, op)
				records := []zkwire.Record{&zkwire.RequestHeader{Op: zkwire.Op(op)}}
				if body := sized[op](r); body != nil {
					records = append(records, body)
				}
				if want := len(zkwire.AppendFrame(nil, records...)) - 4; r.Size() != want {
					t.Errorf("%+v: size %d, want %d", r, r.Size(), want)
				}
			})
		})
	}
}

func drawRequest(t *rapid.T, op fakezk.Op) *fakezk.Request {
	text := rapid.StringN(0, 9, -1)
	texts := rapid.SliceOfN(text, 0, 4)
	r := &fakezk.Request{
		Op: op, Path: text.Draw(t, "path"), Data: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "data"),
		Scheme: text.Draw(t, "scheme"), Auth: []byte(text.Draw(t, "auth")),
		DataWatches: texts.Draw(t, "data watches"), ExistWatches: texts.Draw(t, "exist"),
		ChildWatches:      texts.Draw(t, "child"),
		PersistentWatches: texts.Draw(t, "persistent"), RecursiveWatches: texts.Draw(t, "recursive"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "entries") {
		r.ACL = append(r.ACL, zk.ACL{Scheme: text.Draw(t, "scheme"), ID: text.Draw(t, "id")})
	}
	if op == fakezk.OpMulti {
		for range rapid.IntRange(0, 4).Draw(t, "operations") {
			part := rapid.SampledFrom([]fakezk.Op{fakezk.OpCreate, fakezk.OpCreateTTL, fakezk.OpSetData,
				fakezk.OpDelete, fakezk.OpCheck})
			r.Ops = append(r.Ops, *drawRequest(t, part.Draw(t, "operation")))
		}
	}
	return r
}

// sized has what goes over the wire for a request of each operation.
var sized map[fakezk.Op]func(*fakezk.Request) zkwire.Record

func init() {
	create := func(r *fakezk.Request) zkwire.Record {
		return &zkwire.CreateRequest{Path: r.Path, Data: r.Data, ACL: r.ACL}
	}
	path := func(r *fakezk.Request) zkwire.Record { return &zkwire.PathRequest{Path: r.Path} }
	watch := func(r *fakezk.Request) zkwire.Record { return &zkwire.WatchRequest{Path: r.Path} }
	version := func(r *fakezk.Request) zkwire.Record { return &zkwire.PathVersionRequest{Path: r.Path} }
	kind := func(r *fakezk.Request) zkwire.Record { return &zkwire.PathTypeRequest{Path: r.Path} }
	nothing := func(*fakezk.Request) zkwire.Record { return nil }
	sized = map[fakezk.Op]func(*fakezk.Request) zkwire.Record{
		fakezk.OpCreate: create, fakezk.OpCreate2: create, fakezk.OpCreateContainer: create,
		fakezk.OpCreateTTL: func(r *fakezk.Request) zkwire.Record {
			return &zkwire.CreateTTLRequest{CreateRequest: zkwire.CreateRequest{Path: r.Path, Data: r.Data, ACL: r.ACL}}
		},
		fakezk.OpSetData: func(r *fakezk.Request) zkwire.Record {
			return &zkwire.SetDataRequest{Path: r.Path, Data: r.Data}
		},
		fakezk.OpSetACL: func(r *fakezk.Request) zkwire.Record {
			return &zkwire.SetACLRequest{Path: r.Path, ACL: r.ACL}
		},
		fakezk.OpGetACL: path, fakezk.OpSync: path, fakezk.OpGetEphemerals: path, fakezk.OpAllChildren: path,
		fakezk.OpExists: watch, fakezk.OpGetData: watch, fakezk.OpGetChildren: watch, fakezk.OpGetChildren2: watch,
		fakezk.OpDelete: version, fakezk.OpCheck: version,
		fakezk.OpAddWatch: kind, fakezk.OpCheckWatches: kind, fakezk.OpRemoveWatches: kind,
		fakezk.OpPing: nothing, fakezk.OpCloseSession: nothing, fakezk.OpWhoAmI: nothing,
		fakezk.OpReconfig: func(*fakezk.Request) zkwire.Record { return &zkwire.ReconfigRequest{} },
		fakezk.OpSetAuth: func(r *fakezk.Request) zkwire.Record {
			return &zkwire.AuthRequest{Scheme: r.Scheme, Auth: r.Auth}
		},
		fakezk.OpSetWatches: func(r *fakezk.Request) zkwire.Record {
			return &zkwire.SetWatchesRequest{Data: r.DataWatches, Exist: r.ExistWatches, Childs: r.ChildWatches}
		},
		fakezk.OpSetWatches2: func(r *fakezk.Request) zkwire.Record {
			one := zkwire.SetWatchesRequest{Data: r.DataWatches, Exist: r.ExistWatches, Childs: r.ChildWatches}
			return &zkwire.SetWatches2Request{SetWatchesRequest: one, Persistent: r.PersistentWatches,
				Recursive: r.RecursiveWatches}
		},
		fakezk.OpMulti: func(r *fakezk.Request) zkwire.Record {
			var ops []zkwire.MultiOp
			for i := range r.Ops {
				ops = append(ops, zkwire.MultiOp{Op: zkwire.Op(r.Ops[i].Op), Err: -1,
					Record: sized[r.Ops[i].Op](&r.Ops[i])})
			}
			return &zkwire.MultiRequest{Ops: ops}
		},
	}
}

// TestTooLong: what is longer than the server allows costs the connection, at once and whole; what is
// longer than go-zookeeper's buffer is not sent.
func TestTooLong(t *testing.T) {
	l := fakezk.NewLocal(fakezk.Config{})
	conn, _, _ := l.Connect(time.Second)
	if err := create(conn, "/x", 0)(); err != nil {
		t.Fatal(err)
	}
	session := conn.SessionID()
	for size, want := range map[int]error{1_000_000: nil, 1_100_000: zk.ErrConnectionClosed,
		3_000_000: zk.ErrShortBuffer} {
		if _, err := conn.Set("/x", make([]byte, size), -1); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
	}
	if _, stat, err := conn.Exists("/x"); err != nil || stat.DataLength != 1_000_000 {
		t.Errorf("afterwards the znode has %+v, error %v", stat, err)
	}
	if conn.SessionID() != session {
		t.Error("the session did not survive its connection")
	}
	small, _, _ := fakezk.NewLocal(fakezk.Config{BufferMax: 100}).Connect(time.Second)
	if _, err := small.Create("/x", make([]byte, 100), 0, zk.WorldACL(zk.PermAll)); err != zk.ErrConnectionClosed {
		t.Errorf("a small buffer: %v", err)
	}
}

// TestClientThatIsHungUpOnForEver: a Local does not connect a client for ever whose every request is too long.
func TestClientThatIsHungUpOnForEver(t *testing.T) {
	l := fakezk.NewLocal(fakezk.Config{BufferMax: 40})
	conn, _, _ := l.Connect(time.Second)
	path := "/" + strings.Repeat("x", 20)
	if _, _, _, err := conn.ExistsW(path); err != nil {
		t.Fatal(err)
	}
	l.Disconnect(conn)
	l.Reconnect(conn) // its setWatches has 48 bytes
	if _, connected := conn.Connected(); connected {
		t.Error("the client is connected")
	}
}

// TestManyWatchesAreSetAgain: the watches that a client sets again are sent in parts of 128 kB, as a server
// would hang up on all of them at once.
func TestManyWatchesAreSetAgain(t *testing.T) {
	l := fakezk.NewLocal(fakezk.Config{})
	conn, _, _ := l.Connect(time.Second)
	other, _, _ := l.Connect(time.Second)
	var watches []<-chan zk.Event
	path := func(i int) string { return fmt.Sprintf("/%0999d", i) }
	for i := range 1200 {
		_, _, ch, err := conn.ExistsW(path(i))
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, ch)
	}
	l.Disconnect(conn)
	l.Reconnect(conn)
	for i, ch := range watches {
		if err := create(other, path(i), 0)(); err != nil {
			t.Fatal(err)
		}
		select {
		case e := <-ch:
			if e.Type != zk.EventNodeCreated {
				t.Fatalf("watch %d: %v", i, e)
			}
		default:
			t.Fatalf("watch %d was not set again", i)
		}
	}
}
