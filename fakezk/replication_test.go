package fakezk_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// cluster is an ensemble of three with clients, one on each server, and the history of the leader's
// tree by zxid.
type cluster struct {
	servers *fakezk.Ensemble
	conns   []fakezk.ConnID
	past    map[int64]string
	seen    []int64 // zxid of the last reply, by client
	log     []string
}

func newCluster(t rapid.TB, e *fakezk.Ensemble) *cluster {
	w := &cluster{servers: e, past: map[int64]string{0: dump(e, 0)}, seen: make([]int64, 3)}
	for replica := range 3 {
		id, _ := connect(t, e, replica, 40000)
		w.conns = append(w.conns, id)
		w.past[e.Zxid()] = dump(e, 0)
	}
	return w
}

// step is one thing that may happen: its parameters are drawn first, so that the same steps can be
// taken on another ensemble.
type step struct {
	Kind    string
	Client  int
	Request fakezk.Request
}

var genStep = rapid.Custom(func(t *rapid.T) step {
	s := step{Client: rapid.IntRange(0, 2).Draw(t, "client")}
	s.Kind = rapid.SampledFrom([]string{"write", "write", "write", "read", "read", "watch", "watch", "auth", "lag",
		"heal", "apply", "apply", "drop", "expire"}).Draw(t, "kind")
	switch s.Kind {
	case "write":
		s.Request = genAny.Draw(t, "request")
	case "auth":
		op := rapid.SampledFrom([]wire.Op{wire.OpAuth, wire.OpGetACL}).Draw(t, "op")
		s.Request = fakezk.Request{Op: op, Scheme: "digest"}
		s.Request.Auth = rapid.SampledFrom([][]byte{[]byte("u:p"), []byte("v:p")}).Draw(t, "secret")
	case "read", "watch":
		op := rapid.SampledFrom([]wire.Op{wire.OpExists, wire.OpGetData, wire.OpGetChildren2,
			wire.OpAddWatch, wire.OpSync})
		s.Request = fakezk.Request{Op: op.Draw(t, "op"), Path: genPath.Draw(t, "path"), Watch: s.Kind == "watch",
			Kind: rapid.Int32Range(0, 1).Draw(t, "mode")}
	}
	return s
})

func (w *cluster) take(t rapid.TB, s step) {
	e, c := w.servers, w.conns[s.Client]
	before := e.Zxid()
	switch s.Kind {
	case "lag", "heal":
		e.SetLag(s.Client, s.Kind == "lag")
	case "apply":
		e.Apply(s.Client)
	case "drop":
		e.Drop(c)
		w.reconnect(t, s.Client)
	case "expire":
		if sessions := e.Sessions(); len(sessions) > 0 {
			e.Expire(0, sessions[s.Client%len(sessions)].ID)
		}
	default:
		e.Request(0, c, &s.Request)
	}
	if e.Zxid() > before+1 {
		t.Fatalf("%d transactions at once", e.Zxid()-before)
	}
	w.past[e.Zxid()] = dump(e, 0)
	w.drain(t, s)
}

// reconnect opens a new session: the old one goes on until it expires.
func (w *cluster) reconnect(t rapid.TB, client int) {
	w.conns[client], _ = connect(t, w.servers, client, 40000)
	w.seen[client] = 0
}

// drain takes all messages, and checks that zxids never go back on a connection, and that an event
// comes before the first reply that reflects its change.
func (w *cluster) drain(t rapid.TB, s step) {
	for client, c := range w.conns {
		for m, ok := w.servers.Next(c); ok; m, ok = w.servers.Next(c) {
			zxid := m.Zxid
			switch {
			case m.Reply != nil && s.Request.Op == wire.OpAuth: // its reply has no zxid
				zxid = w.seen[client]
			case m.Reply != nil:
				zxid = m.Reply.Zxid
			}
			if !m.Closed && zxid < w.seen[client] {
				t.Fatalf("client %d has seen %d and is sent %+v", client, w.seen[client], m)
			}
			if m.Reply == nil && !m.Closed && zxid <= w.seen[client] {
				t.Fatalf("client %d has seen %d and gets the event %+v", client, w.seen[client], m)
			}
			if m.Reply != nil {
				w.seen[client] = zxid
				w.checkRead(t, client, s, m.Reply)
			}
			w.log = append(w.log, fmt.Sprintf("client %d: %s", client, showMessage(m)))
		}
	}
}

// checkRead compares an answer with the replica's own tree, which check has compared with the past.
func (w *cluster) checkRead(t rapid.TB, client int, s step, reply *fakezk.Response) {
	n, ok := w.servers.NodeAt(client, s.Request.Path)
	switch s.Request.Op {
	case wire.OpGetData:
		if ok != (reply.Err == wire.CodeOK) || ok && (string(n.Data) != string(reply.Data) || n.Stat != reply.Stat) {
			t.Fatalf("read %+v; the replica has %+v", reply, n)
		}
	case wire.OpGetChildren2:
		if ok != (reply.Err == wire.CodeOK) ||
			!slices.Equal(slices.Sorted(slices.Values(reply.Children)), n.Children) {
			t.Fatalf("read %+v; the replica has %+v", reply, n)
		}
	case wire.OpSync, wire.OpCreate, wire.OpDelete, wire.OpSetData, wire.OpMulti:
		if reply.Zxid != w.servers.Zxid() {
			t.Fatalf("%+v answered at zxid %d by %d", s.Request, reply.Zxid, w.servers.Zxid())
		}
	}
}

// check: each replica has the tree that the leader had at that replica's zxid.
func (w *cluster) check(t rapid.TB) {
	for replica := range 3 {
		zxid := w.servers.ReplicaZxid(replica)
		if d := cmp.Diff(w.past[zxid], dump(w.servers, replica)); d != "" {
			t.Fatalf("replica %d at %d of %d (-leader then +replica now):\n%s", replica, zxid, w.servers.Zxid(), d)
		}
		if behind := w.servers.Zxid() - zxid; behind != int64(w.servers.Behind(replica)) {
			t.Fatalf("replica %d is %d behind, says %d", replica, behind, w.servers.Behind(replica))
		}
	}
	if err := w.servers.CheckInvariants(); err != nil {
		t.Fatal(err)
	}
}

// TestReplicas: every replica always has a prefix of the log, answers from it, and ends with the
// leader's tree.
func TestReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newCluster(t, fakezk.New(fakezk.Config{Replicas: 3}))
		for _, s := range rapid.SliceOfN(genStep, 1, 40).Draw(t, "steps") {
			w.take(t, s)
			w.check(t)
		}
		for replica := range 3 {
			w.servers.SetLag(replica, false)
			if w.servers.Behind(replica) != 0 || dump(w.servers, replica) != dump(w.servers, 0) {
				t.Fatalf("replica %d has not converged", replica)
			}
		}
	})
}

// TestDeterminism: a used ensemble after Reset answers exactly as a new one does.
func TestDeterminism(t *testing.T) {
	used := fakezk.New(fakezk.Config{Replicas: 3, Order: 5})
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Uint64().Draw(t, "order")
		used.Reset(fakezk.Config{Replicas: 3, Order: order})
		a, b := newCluster(t, used), newCluster(t, fakezk.New(fakezk.Config{Replicas: 3, Order: order}))
		for _, s := range rapid.SliceOfN(genStep, 1, 30).Draw(t, "steps") {
			a.take(t, s)
			b.take(t, s)
		}
		if d := cmp.Diff(a.log, b.log); d != "" {
			t.Fatalf("messages (-used +new):\n%s", d)
		}
		for replica := range 3 {
			if d := cmp.Diff(dump(a.servers, replica), dump(b.servers, replica)); d != "" {
				t.Fatalf("replica %d (-used +new):\n%s", replica, d)
			}
		}
	})
}
