package fakezk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// electorate is an ensemble of three that elects leaders, with clients that keep their sessions; the reference has what
// was answered.
type electorate struct {
	servers *fakezk.Ensemble
	want    *reference
	clients []*voter
	epoch   int64            // elections so far
	past    map[int64]string // the leader's tree by zxid
	deposed string           // the tree of the election
}

type voter struct {
	conn     fakezk.ConnID
	session  fakezk.ConnectResponse
	lastZxid int64
}

func newElectorate(t rapid.TB) *electorate {
	w := &electorate{servers: fakezk.New(fakezk.Config{Replicas: 3}), want: newReference(), past: map[int64]string{}}
	for replica := range 3 {
		id, session := connect(t, w.servers, replica, 40000)
		w.clients = append(w.clients, &voter{conn: id, session: session})
		w.past[w.servers.Zxid()] = dump(w.servers, 0)
	}
	return w
}

var genElection = rapid.Custom(func(t *rapid.T) step {
	s := step{Client: rapid.IntRange(0, 2).Draw(t, "client")}
	s.Kind = rapid.SampledFrom([]string{"write", "write", "write", "read", "read", "read", "read", "read",
		"connect", "connect", "connect", "connect", "connect", "depose", "depose", "notice", "outage",
		"lag", "heal", "apply"}).Draw(t, "kind")
	switch s.Kind {
	case "write":
		s.Request = genAny.Draw(t, "request")
	case "read":
		op := rapid.SampledFrom([]wire.Op{wire.OpExists, wire.OpGetData, wire.OpGetChildren2, wire.OpSync,
			wire.OpSync})
		s.Request = fakezk.Request{Op: op.Draw(t, "op"), Path: genPath.Draw(t, "path")}
	case "connect", "depose", "lag", "heal", "apply":
		s.Request.Version = rapid.Int32Range(-1, 2).Draw(t, "server")
	}
	return s
})

func (w *electorate) take(t rapid.TB, s step) {
	e, server := w.servers, int(s.Request.Version)
	if server < 0 {
		server = max(0, e.Deposed())
	}
	switch s.Kind {
	case "write", "read":
		w.ask(t, w.clients[s.Client], &s.Request)
	case "connect":
		w.connect(t, w.clients[s.Client], server)
	case "depose":
		w.depose(t, server)
	case "notice":
		e.Notice()
	case "outage":
		e.LoseQuorum()
		e.RegainQuorum(0)
		w.epoch++
	case "lag", "heal":
		e.SetLag(server, s.Kind == "lag")
	case "apply":
		e.Apply(server)
	}
}

func (w *electorate) depose(t rapid.TB, successor int) {
	e, leader, zxid := w.servers, w.servers.Leader(), w.servers.Zxid()
	if !e.Depose(0, successor) {
		return
	}
	w.epoch++
	if e.Leader() != successor || e.Deposed() != leader || e.Zxid() != zxid {
		t.Fatalf("server %d leads, %d does not know it, at zxid %d; before it was %d at %d", e.Leader(), e.Deposed(),
			e.Zxid(), leader, zxid)
	}
}

// ask sends a request. A write that is answered is what the reference does next, and has the zxid that follows; one
// that is not has no effect. No client is answered from before what it has seen, and each read is of one moment.
func (w *electorate) ask(t rapid.TB, c *voter, r *fakezk.Request) {
	e, before, hung := w.servers, w.servers.Zxid(), w.servers.Hangs(c.conn)
	e.Request(0, c.conn, r)
	m, ok := e.Next(c.conn)
	switch {
	case hung && ok && m.Reply != nil:
		t.Fatalf("%+v is answered behind a write that is not", r)
	case !ok || m.Reply == nil:
		if e.Zxid() != before && m.Closed {
			w.want.zxid = e.Zxid() // of a session that had moved: a failed write
		} else if e.Zxid() != before {
			t.Fatalf("%+v was not answered, and carried out", r)
		}
		return
	case m.Reply.Zxid < c.lastZxid:
		t.Fatalf("%+v is answered at %d to a client that has seen %d", r, m.Reply.Zxid, c.lastZxid)
	}
	c.lastZxid = m.Reply.Zxid
	if e.Zxid() == before {
		return
	}
	if w.want.zxid = e.Zxid() - 1; e.Zxid() != max(before, w.epoch<<32)+1 {
		t.Fatalf("transaction 0x%x after 0x%x, in epoch %d", e.Zxid(), before, w.epoch)
	}
	if d := cmp.Diff(expected(w.want, 0, c.session.SessionID, r), m.Reply); d != "" {
		t.Fatalf("reply to %+v (-want +got):\n%s", r, d)
	}
	w.past[e.Zxid()] = dump(e, e.Leader())
}

// connect takes a session up at a server. None is ever lost by elections.
func (w *electorate) connect(t rapid.TB, c *voter, server int) {
	e := w.servers
	e.Drop(c.conn)
	id, answer, err := e.Connect(0, server, fakezk.ConnectRequest{Timeout: 40000, LastZxid: c.lastZxid,
		SessionID: c.session.SessionID, Password: c.session.Password})
	if err == nil && answer.SessionID != c.session.SessionID {
		t.Fatalf("server %d refuses session 0x%x", server, c.session.SessionID)
	}
	if c.conn = -1; err == nil {
		c.conn = id
	}
}

// check: the leader has what the reference has, and each server what the leader had at one moment.
func (w *electorate) check(t *rapid.T) {
	e := w.servers
	compareTrees(t, e, w.want)
	w.past[e.Zxid()] = dump(e, e.Leader())
	for replica := range 3 {
		if d := cmp.Diff(w.past[e.ReplicaZxid(replica)], dump(e, replica)); d != "" {
			t.Fatalf("replica %d at %d (-leader then +replica now):\n%s", replica, e.ReplicaZxid(replica), d)
		}
	}
	if old := e.Deposed(); old < 0 {
		w.deposed = ""
	} else if now := dump(e, old); w.deposed == "" {
		w.deposed = now
	} else if d := cmp.Diff(w.deposed, now); d != "" {
		t.Fatalf("the deposed leader learns (-then +now):\n%s", d)
	}
}

// TestElections: whatever is elected, writes that are answered happen in the order of their answers and nothing else
// happens, each server has a prefix of that, a deposed leader one that does not grow, and no client sees time go back.
func TestElections(t *testing.T) {
	stale := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newElectorate(t)
		w.depose(t, 1)
		for _, s := range rapid.SliceOfN(genElection, 30, 90).Draw(t, "steps") {
			w.take(t, s)
			w.check(t)
			if old := w.servers.Deposed(); old >= 0 && w.servers.Behind(old) > 0 {
				stale++
			}
		}
		w.servers.Notice()
		for replica := range 3 {
			w.servers.SetLag(replica, false)
			if dump(w.servers, replica) != dump(w.servers, w.servers.Leader()) {
				t.Fatalf("replica %d has not converged", replica)
			}
		}
	})
	if stale == 0 {
		t.Error("no deposed leader was ever behind")
	}
}
