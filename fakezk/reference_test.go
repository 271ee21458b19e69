package fakezk_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// reference is ZooKeeper's tree written as plainly as possible: a map of values that is copied
// whole for every transaction. It has no ACLs, watches or replicas, and it counts cversion and
// the sequence number one by one instead of deriving them.
type reference struct {
	nodes map[string]refNode
	zxid  int64
}

type refNode struct {
	data     []byte
	stat     zk.Stat
	sequence int64
}

func newReference() *reference {
	return &reference{nodes: map[string]refNode{
		"/":                 {data: []byte{}, stat: zk.Stat{Cversion: -1, NumChildren: 1}},
		"/zookeeper":        {data: []byte{}, stat: zk.Stat{Cversion: -2, NumChildren: 2}},
		"/zookeeper/quota":  {data: []byte{}},
		"/zookeeper/config": {data: []byte{}, stat: zk.Stat{Aversion: -1}},
	}}
}

func refParent(path string) string {
	return "/" + strings.Join(strings.Split(path, "/")[1:strings.Count(path, "/")], "/")
}

func (f *reference) children(path string) []string {
	names := []string{}
	for other := range f.nodes {
		if other != "/" && refParent(other) == path {
			names = append(names, other[strings.LastIndex(other, "/")+1:])
		}
	}
	slices.Sort(names)
	return names
}

// transact carries out all operations, or none and says which failed.
func (f *reference) transact(now, session int64, ops []fakezk.Request) ([]fakezk.Result, int, wire.Code) {
	f.zxid++
	before := maps.Clone(f.nodes)
	var results []fakezk.Result
	for i := range ops {
		result := f.one(now, session, &ops[i])
		if result.Err != wire.CodeOK {
			f.nodes = before
			return nil, i, result.Err
		}
		results = append(results, result)
	}
	return results, 0, wire.CodeOK
}

func (f *reference) one(now, session int64, r *fakezk.Request) fakezk.Result {
	switch r.Op {
	case wire.OpCreate:
		return f.create(now, session, r)
	case wire.OpDelete:
		return f.delete(r)
	}
	n, ok := f.nodes[r.Path]
	switch {
	case !ok:
		return fakezk.Result{Err: wire.CodeNoNode}
	case r.Version != -1 && r.Version != n.stat.Version:
		return fakezk.Result{Err: wire.CodeBadVersion}
	case r.Op == wire.OpCheck:
		return fakezk.Result{Op: r.Op}
	}
	n.data = r.Data
	n.stat.DataLength = int32(len(r.Data))
	n.stat.Mzxid, n.stat.Mtime = f.zxid, now
	n.stat.Version++
	f.nodes[r.Path] = n
	return fakezk.Result{Op: r.Op, Stat: n.stat}
}

func (f *reference) create(now, session int64, r *fakezk.Request) fakezk.Result {
	parent, ok := f.nodes[refParent(r.Path)]
	if !ok {
		return fakezk.Result{Err: wire.CodeNoNode}
	}
	path := r.Path
	if r.Flags&zk.FlagSequence != 0 {
		path += fmt.Sprintf("%010d", parent.sequence)
	}
	if _, taken := f.nodes[path]; taken {
		return fakezk.Result{Err: wire.CodeNodeExists}
	}
	if parent.stat.EphemeralOwner != 0 {
		return fakezk.Result{Err: wire.CodeNoChildrenForEphemerals}
	}
	n := refNode{data: r.Data, stat: zk.Stat{
		Czxid: f.zxid, Mzxid: f.zxid, Pzxid: f.zxid, Ctime: now, Mtime: now, DataLength: int32(len(r.Data)),
	}}
	if r.Flags&zk.FlagEphemeral != 0 {
		n.stat.EphemeralOwner = session
	}
	parent.sequence++
	parent.stat.Cversion++
	parent.stat.NumChildren++
	parent.stat.Pzxid = f.zxid
	f.nodes[refParent(r.Path)], f.nodes[path] = parent, n
	return fakezk.Result{Op: r.Op, Path: path}
}

func (f *reference) delete(r *fakezk.Request) fakezk.Result {
	n, ok := f.nodes[r.Path]
	switch {
	case !ok:
		return fakezk.Result{Err: wire.CodeNoNode}
	case r.Version != -1 && r.Version != n.stat.Version:
		return fakezk.Result{Err: wire.CodeBadVersion}
	case n.stat.NumChildren > 0:
		return fakezk.Result{Err: wire.CodeNotEmpty}
	}
	delete(f.nodes, r.Path)
	parent := f.nodes[refParent(r.Path)]
	parent.stat.Cversion++
	parent.stat.NumChildren--
	parent.stat.Pzxid = f.zxid
	f.nodes[refParent(r.Path)] = parent
	return fakezk.Result{Op: r.Op}
}

// Generators: few names, so that requests meet.

var (
	genName = rapid.SampledFrom([]string{"a", "b", "n-", "n-0000000000", "n-0000000001"})
	genPath = rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(genName, 1, 3).Draw(t, "names"), "/")
	})
	genData  = rapid.SampledFrom([][]byte{nil, {}, []byte("x"), []byte("long")})
	genWrite = rapid.Custom(func(t *rapid.T) fakezk.Request {
		r := fakezk.Request{Path: genPath.Draw(t, "path"), ACL: open}
		r.Op = rapid.SampledFrom([]wire.Op{
			wire.OpCreate, wire.OpCreate, wire.OpCreate, wire.OpDelete, wire.OpSetData,
		}).Draw(t, "op")
		r.Data = genData.Draw(t, "data")
		r.Flags = rapid.SampledFrom([]int32{0, 0, 0, 1, 2, 3}).Draw(t, "flags")
		r.Version = rapid.SampledFrom([]int32{-1, -1, 0, 1}).Draw(t, "version")
		return r
	})
	genCheck = rapid.Custom(func(t *rapid.T) fakezk.Request {
		return fakezk.Request{Op: wire.OpCheck, Path: genPath.Draw(t, "path"),
			Version: rapid.Int32Range(-1, 1).Draw(t, "version")}
	})
	genMulti = rapid.Custom(func(t *rapid.T) fakezk.Request {
		ops := rapid.SliceOfN(rapid.OneOf(genWrite, genWrite, genCheck), 0, 4).Draw(t, "ops")
		return fakezk.Request{Op: wire.OpMulti, Ops: ops}
	})
	genAny = rapid.OneOf(genWrite, genWrite, genWrite, genMulti)
)

// TestReference: random operations give the results, Stats, children and data of the reference.
func TestReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, want := fakezk.New(fakezk.Config{}), newReference()
		c, session := connect(t, e, 0, 40000)
		want.zxid = e.Zxid()
		for now := range int64(rapid.IntRange(1, 25).Draw(t, "operations")) {
			r := genAny.Draw(t, "request")
			e.Request(now, c, &r)
			m, _ := e.Next(c)
			if d := cmp.Diff(expected(want, now, session.SessionID, &r), m.Reply); d != "" {
				t.Fatalf("reply to %+v (-want +got):\n%s", r, d)
			}
		}
		compareTrees(t, e, want)
		e.Expire(99, session.SessionID)
		for path, n := range want.nodes {
			if n.stat.EphemeralOwner == 0 {
				continue
			}
			if _, there := e.Node(path); there {
				t.Fatalf("%s has outlived its session", path)
			}
		}
	})
}

// expected is the reply that the reference gives.
func expected(f *reference, now, session int64, r *fakezk.Request) *fakezk.Response {
	if r.Op != wire.OpMulti {
		results, _, code := f.transact(now, session, []fakezk.Request{*r})
		reply := &fakezk.Response{Zxid: f.zxid, Err: code}
		if code == wire.CodeOK {
			reply.Path, reply.Stat = results[0].Path, results[0].Stat
		}
		return reply
	}
	results, failed, code := f.transact(now, session, r.Ops)
	if code != wire.CodeOK {
		results = make([]fakezk.Result, len(r.Ops))
		for i := range results {
			results[i] = fakezk.Result{Op: -1, Err: wire.CodeRuntimeInconsistency}
			if i < failed {
				results[i].Err = wire.CodeOK
			}
		}
		results[failed].Err = code
	}
	if results == nil {
		results = []fakezk.Result{}
	}
	return &fakezk.Response{Zxid: f.zxid, Results: results}
}

func compareTrees(t *rapid.T, e *fakezk.Ensemble, want *reference) {
	count := 0
	e.Walk("/", func(path string, n fakezk.NodeInfo) {
		count++
		w, ok := want.nodes[path]
		if !ok {
			t.Fatalf("%s should not exist", path)
		}
		if d := cmp.Diff(w.stat, n.Stat) + cmp.Diff(w.data, n.Data) +
			cmp.Diff(want.children(path), n.Children); d != "" {
			t.Fatalf("%s (-want +got):\n%s", path, d)
		}
	})
	if count != len(want.nodes) {
		t.Fatalf("%d nodes, want %d", count, len(want.nodes))
	}
	if err := e.CheckInvariants(); err != nil {
		t.Fatal(err)
	}
}

// TestMultiAllOrNothing: a multi that fails changes nothing and fires nothing; one that succeeds
// has the effect of its operations one by one.
func TestMultiAllOrNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		together, single := fakezk.New(fakezk.Config{}), fakezk.New(fakezk.Config{})
		a, _ := connect(t, together, 0, 40000)
		b, _ := connect(t, single, 0, 40000)
		for _, c := range []struct {
			e  *fakezk.Ensemble
			id fakezk.ConnID
		}{{together, a}, {single, b}} {
			do(c.e, c.id, &fakezk.Request{Op: wire.OpAddWatch, Path: "/", Kind: 1})
		}
		for range rapid.IntRange(1, 8).Draw(t, "multis") {
			r := genMulti.Draw(t, "multi")
			before := names(together)
			together.Request(0, a, &r)
			ok, fired := outcome(together, a)
			if !ok {
				if names(together) != before || len(fired) > 0 {
					t.Fatalf("a failed multi left\n%s and fired %v; before\n%s", names(together), fired, before)
				}
				continue
			}
			var alone []string
			for i := range r.Ops {
				if r.Ops[i].Op != wire.OpCheck {
					single.Request(0, b, &r.Ops[i])
					_, more := outcome(single, b)
					alone = append(alone, more...)
				}
			}
			if names(single) != names(together) || !slices.Equal(alone, fired) {
				t.Fatalf("together\n%s%v\none by one\n%s%v", names(together), fired, names(single), alone)
			}
		}
	})
}

// outcome takes the messages of one request: whether it succeeded, and the events.
func outcome(e *fakezk.Ensemble, c fakezk.ConnID) (ok bool, fired []string) {
	ok = true
	for m, more := e.Next(c); more; m, more = e.Next(c) {
		if m.Reply == nil {
			fired = append(fired, m.Event.String()+" "+m.Path)
			continue
		}
		ok = ok && m.Reply.Err == wire.CodeOK
		for _, r := range m.Reply.Results {
			ok = ok && r.Op != -1
		}
	}
	return ok, fired
}

// names shows the tree without zxids, which differ between a multi and single operations.
func names(e *fakezk.Ensemble) string {
	var b strings.Builder
	e.Walk("/", func(path string, n fakezk.NodeInfo) {
		fmt.Fprintf(&b, "%s %q version %d cversion %d owner %x\n", path, n.Data, n.Stat.Version, n.Stat.Cversion,
			n.Stat.EphemeralOwner)
	})
	return b.String()
}

// TestSequenceNumbers: %010d of any counter, as Java prints it.
func TestSequenceNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 9, 10, math.MaxInt32})
		n := rapid.OneOf(rapid.Int32(), edges).Draw(t, "counter")
		e := fakezk.New(fakezk.Config{})
		if err := e.SetSequence("/", n); err != nil {
			t.Fatal(err)
		}
		got := e.Admin(0, &fakezk.Request{Op: wire.OpCreate, Path: "/x", Flags: zk.FlagSequence, ACL: open})
		if want := fmt.Sprintf("/x%010d", n); got.Path != want {
			t.Fatalf("%q, want %q", got.Path, want)
		}
	})
}
