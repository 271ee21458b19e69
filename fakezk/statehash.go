package fakezk

import (
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/digest"
)

// View says what of several servers cannot matter any more.
type View struct {
	// Forgotten reports, if not nil, of which replicas the state is left out: they will apply the log before they serve
	// anybody.
	Forgotten func(replica int) bool
	// Alike says that no client will meet a server that has not applied what it has seen: so it does not matter what a
	// client has seen of others than what it watches.
	Alike bool
}

// AlikeIn reports whether a single server, or several that look like one, are looked at.
func (v View) AlikeIn(e *Ensemble) bool { return v.Alike || len(e.cluster.replicas) == 1 }

// StateHash hashes everything on which later answers, events and ends of sessions depend, so that ensembles with equal
// hashes answer equal requests alike at equal times. Numbers of connections are left out, as their clients alone know
// them. The order in which different connections have armed their watches is left out too: each has a queue of its own.
//
// What the view says is left out besides, and connections that are looked at apart.
func (v View) StateHash(e *Ensemble, apart ...ConnID) uint64 {
	var d digest.Sum
	d.Ints(int64(e.Leader()), e.cluster.epoch, e.reaper.at, int64(len(e.cluster.replicas)))
	d.Bool(e.noQuorum)
	if d.Int(int64(e.cluster.old.index)); e.cluster.old.index >= 0 {
		d.Int(e.cluster.old.noticeAt)
	}
	behind := 0
	for i, r := range e.cluster.replicas {
		if d.Int(r.sessions); v.Forgotten != nil && v.Forgotten(i) {
			continue
		}
		misses := e.cluster.behind(r)
		behind = max(behind, misses)
		d.Ints(r.zxid, int64(misses))
		d.Bool(r.lagging)
		if r == e.cluster.leader() || misses > 0 {
			d.Int(int64(r.treeHash()))
		}
		d.Ints(int64(r.data.hash()), int64(r.child.hash()))
		var all uint64
		for _, c := range r.connections {
			if !slices.Contains(apart, c.id) {
				all += v.ConnectionHash(e, c.id)
			}
		}
		d.Int(int64(all))
	}
	for i := len(e.cluster.log) - behind; i < len(e.cluster.log); i++ {
		e.cluster.log[i].add(&d)
	}
	for _, all := range [...]sessions{e.sessions, e.cluster.old.sessions} {
		all.addTo(&d)
	}
	return uint64(d)
}

// RemainsHash hashes what is left when all is over: the leader's znodes, and watches.
func (v View) RemainsHash(e *Ensemble) uint64 {
	sum := e.cluster.leader().treeHash()
	for _, r := range e.cluster.replicas {
		sum += digest.Mix(r.data.hash()) + digest.Mix(digest.Mix(r.child.hash()))
	}
	return sum
}

// treeHash does not depend on the order of a map. Names and parents are in the paths, the sequence of siblings and of
// a session's ephemerals in the seed, and usage that counts against quotas is data of nodes.
func (t *tree) treeHash() (sum uint64) {
	for path, n := range t.nodes {
		var d digest.Sum
		d.Text(path)
		d.Ints(n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime, int64(n.version), int64(n.created), int64(n.aversion), n.owner)
		d.Bytes(n.data)
		addACL(&d, n.acl)
		sum += uint64(d)
	}
	return sum
}

func (t *watchTable) hash() (sum uint64) {
	for path, list := range t.lists {
		for _, w := range list {
			var d digest.Sum
			d.Text(path)
			d.Ints(w.c.session.id, int64(w.c.replica.index), int64(w.modes))
			sum += uint64(d)
		}
	}
	return sum
}

func (t *transaction) add(d *digest.Sum) {
	d.Ints(t.zxid, t.time, t.session, int64(len(t.edits)))
	d.Bool(t.closer != nil)
	for i := range t.edits {
		x := &t.edits[i]
		d.Int(int64(x.op))
		d.Text(x.path)
		d.Bytes(x.data)
		addACL(d, x.acl)
		d.Int(x.owner)
		d.Bool(x.sequential)
	}
}

func (l sessions) addTo(d *digest.Sum) {
	d.Int(int64(len(l)))
	for _, s := range l {
		d.Ints(s.id, s.timeout, s.deadline, int64(s.owner))
	}
}

// ConnectionHash hashes a connection with what the server has sent on it and the client has not received; 0 if there is
// none. The zxid of a reply counts where servers are not alike only: else none refuses a client for what it has seen.
func (v View) ConnectionHash(e *Ensemble, id ConnID) uint64 {
	c := e.streams.byID(id)
	if c == nil {
		return 0
	}
	var d digest.Sum
	d.Ints(c.session.id, int64(c.replica.index), c.timeout)
	d.Bool(c.open)
	d.Bool(c.hangs)
	d.Bool(c.super)
	d.Bool(c.session.closed)
	d.Text(c.address)
	for _, id := range c.ids {
		d.Text(id.scheme)
		d.Text(id.id)
	}
	for i := range c.queue[c.head:] {
		d.Int(int64(c.queue[c.head+i].Hash(!v.AlikeIn(e))))
	}
	return uint64(d)
}

// Hash hashes a message, the zxid of a reply only if asked for.
func (m *Message) Hash(zxid bool) uint64 {
	var d digest.Sum
	d.Ints(int64(m.Event), m.Zxid)
	d.Text(m.Path)
	d.Bool(m.Closed)
	if m.Reply != nil {
		m.Reply.AddTo(&d, zxid)
	}
	return uint64(d)
}

// AddTo adds the answer to a hash, its zxid only if asked for.
func (r *Response) AddTo(d *digest.Sum, zxid bool) {
	if zxid {
		d.Int(r.Zxid)
	}
	d.Ints(int64(r.Err))
	d.Text(r.Path)
	d.Bytes(r.Data)
	addStat(d, &r.Stat)
	d.Texts(r.Children)
	addACL(d, r.ACL)
	for i := range r.Results {
		x := &r.Results[i]
		d.Ints(int64(x.Op), int64(x.Err))
		d.Text(x.Path)
		addStat(d, &x.Stat)
	}
}

func addStat(d *digest.Sum, s *zk.Stat) {
	d.Ints(s.Czxid, s.Mzxid, s.Ctime, s.Mtime, int64(s.Version), int64(s.Cversion), int64(s.Aversion), s.EphemeralOwner,
		int64(s.DataLength), int64(s.NumChildren), s.Pzxid)
}

func addACL(d *digest.Sum, list []zk.ACL) {
	d.Int(int64(len(list)))
	for _, a := range list {
		d.Int(int64(a.Perms))
		d.Text(a.Scheme)
		d.Text(a.ID)
	}
}

// AddTo adds the request to a hash.
func (r *Request) AddTo(d *digest.Sum) {
	d.Ints(int64(r.Op), int64(r.Flags), r.TTL, int64(r.Version), int64(r.Kind), r.RelativeZxid)
	d.Bool(r.Watch)
	for _, text := range [...]string{r.Path, r.Scheme} {
		d.Text(text)
	}
	for _, b := range [...][]byte{r.Data, r.Auth} {
		d.Bool(b == nil)
		d.Bytes(b)
	}
	addACL(d, r.ACL)
	for _, list := range [...][]string{r.DataWatches, r.ExistWatches, r.ChildWatches, r.PersistentWatches, r.RecursiveWatches} {
		d.Texts(list)
	}
	d.Int(int64(len(r.Ops)))
	for i := range r.Ops {
		r.Ops[i].AddTo(d)
	}
}

// ChangedSince reports whether a znode, and the list of its children, have changed after a transaction.
func (v View) ChangedSince(e *Ensemble, zxid int64, path string) (data, children bool) {
	n := e.cluster.leader().nodes[path]
	return n != nil && n.mzxid > zxid, n != nil && n.pzxid > zxid
}
