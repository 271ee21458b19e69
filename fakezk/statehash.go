package fakezk

import (
	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/digest"
)

// View says what of several servers cannot matter any more.
type View struct {
	// Forgotten tells, if not nil, of which replicas the state is left out: they will apply the log before they serve
	// anybody.
	Forgotten func(replica int) bool
	// Alike says that no client will meet a server that has not applied what it has seen: so it does not matter what a
	// client has seen of others than what it watches.
	Alike bool
}

// alike tells whether a single server, or several that look like one, are looked at.
func (v View) alike(e *Ensemble) bool { return v.Alike || len(e.replicas) == 1 }

// StateHash hashes everything on which later answers, events and ends of sessions depend, so that ensembles with equal
// hashes answer equal requests alike at equal times. Numbers of connections are left out, as their clients alone know
// them. The order in which different connections have armed their watches is left out too: each has a queue of its own.
//
// v says what is left out besides.
func (e *Ensemble) StateHash(v View) uint64 {
	var d digest.Sum
	d.Ints(int64(e.leading), e.epoch, e.reapAt, int64(len(e.replicas)))
	d.Bool(e.noQuorum)
	if d.Int(int64(e.old.index)); e.old.index >= 0 {
		d.Int(e.old.noticeAt)
	}
	behind := 0
	for i, r := range e.replicas {
		if d.Int(r.sessions); v.Forgotten == nil || !v.Forgotten(i) {
			e.addReplica(&d, r, v)
			behind = max(behind, e.behind(r))
		}
	}
	for i := len(e.log) - behind; i < len(e.log); i++ {
		e.log[i].add(&d)
	}
	addSessions(&d, e.sessions)
	addSessions(&d, e.local)
	addSessions(&d, e.old.sessions)
	return uint64(d)
}

func (e *Ensemble) addReplica(d *digest.Sum, r *replica, v View) {
	d.Ints(r.zxid, int64(e.behind(r)))
	d.Bool(r.lagging)
	if r == e.leader() || e.behind(r) > 0 {
		d.Int(int64(r.treeHash()))
	}
	d.Ints(int64(r.data.hash()), int64(r.child.hash()))
	var all uint64
	for _, c := range r.connections {
		all += e.ConnectionHash(c.id, v)
	}
	d.Int(int64(all))
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
			d.Ints(w.c.session.id, int64(w.c.index), int64(w.modes))
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

func addSessions(d *digest.Sum, list []*session) {
	d.Int(int64(len(list)))
	for _, s := range list {
		d.Ints(s.id, s.timeout, s.deadline, int64(s.owner))
	}
}

// ConnectionHash hashes a connection with what the server has sent on it and the client has not received; 0 if there is
// none. The zxid of a reply counts where servers are not alike only: else none refuses a client for what it has seen.
func (e *Ensemble) ConnectionHash(id ConnID, v View) uint64 {
	c := e.connection(id)
	if c == nil {
		return 0
	}
	var d digest.Sum
	d.Ints(c.session.id, int64(c.index), c.timeout)
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
		d.Int(int64(c.queue[c.head+i].Hash(!v.alike(e))))
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
		m.Reply.add(&d, zxid)
	}
	return uint64(d)
}

func (r *Response) add(d *digest.Sum, zxid bool) {
	if zxid {
		d.Int(r.Zxid)
	}
	d.Ints(int64(r.Err), int64(r.Number))
	d.Text(r.Path)
	d.Bytes(r.Data)
	addStat(d, &r.Stat)
	d.Texts(r.Children)
	addACL(d, r.ACL)
	for i := range r.Results {
		x := &r.Results[i]
		d.Ints(int64(x.Op), int64(x.Err))
		d.Text(x.Path)
		d.Bytes(x.Data)
		addStat(d, &x.Stat)
		d.Texts(x.Children)
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

func (r *Request) add(d *digest.Sum) {
	d.Ints(int64(r.Op), int64(r.Flags), r.TTL, int64(r.Version), int64(r.Kind), r.RelativeZxid, r.ConfigVersion)
	d.Bool(r.Watch)
	for _, text := range [...]string{r.Path, r.Joining, r.Leaving, r.Scheme} {
		d.Text(text)
	}
	for _, b := range [...][]byte{r.Data, r.Members, r.Auth} {
		d.Bool(b == nil)
		d.Bytes(b)
	}
	addACL(d, r.ACL)
	for _, list := range r.watchLists() {
		d.Texts(*list)
	}
	d.Int(int64(len(r.Ops)))
	for i := range r.Ops {
		r.Ops[i].add(d)
	}
}

// StateHash hashes everything on which depends what the client will do, but for what its goroutines remember. tag names
// the operation behind a [Call.Tag]: tags themselves may differ where nothing else does.
func (c *Client) StateHash(v View, tag func(int64) int64) uint64 {
	var d digest.Sum
	d.Ints(c.session.Load(), int64(c.server.Load()), int64(c.state.Load()), c.timeout, int64(len(c.creds)))
	for _, b := range [...]bool{c.connected, c.silent, c.closing.Load(), c.closed.Load(), c.killed.Load()} {
		d.Bool(b)
	}
	if c.connected {
		d.Int(int64(c.servers.ConnectionHash(c.conn, v)))
	}
	for _, list := range [...][]*Call{c.unsent, c.sent, c.waiting} {
		d.Int(int64(len(list)))
		for _, call := range list {
			d.Ints(c.requestHash(v, call.Request), int64(call.User), tag(call.Tag))
			d.Bool(call.internal)
		}
	}
	c.addSeen(&d, v)
	c.addWatches(&d, tag)
	c.addEvents(&d)
	c.addLate(&d, v, tag)
	return uint64(d)
}

// addLate adds what lies in the channels of stalled users.
func (c *Client) addLate(d *digest.Sum, v View, tag func(int64) int64) {
	d.Ints(int64(len(c.stalled)), int64(len(c.late)), int64(c.expiries))
	for _, user := range c.stalled {
		d.Int(int64(user))
	}
	for i := range c.late {
		l := &c.late[i]
		if d.Bool(l.Call == nil); l.Call != nil {
			d.Ints(c.requestHash(v, l.Call.Request), tag(l.Call.Tag))
		}
		d.Text(l.watch.path)
		d.Ints(int64(l.watch.kind), int64(l.watch.user), tag(l.watch.tag), int64(len(l.behind)))
		d.Bool(l.ends)
		d.Int(int64(l.Told.Hash()))
		for j := range l.behind {
			d.Int(int64(l.behind[j].Hash()))
		}
	}
}

// Hash hashes what a goroutine is told.
func (t *Told) Hash() uint64 {
	var d digest.Sum
	d.Ints(int64(t.User), t.Knew.Session, int64(t.Knew.Expiries), int64(EventHash(t.Event)))
	if t.Err != nil {
		d.Text(t.Err.Error())
	}
	if t.Call != nil && t.Call.reply != nil {
		t.Call.reply.add(&d, false)
	}
	return uint64(d)
}

// addSeen adds what the client has seen of the servers. Servers that are alike look at it only to tell whether a
// watched node has changed since.
func (c *Client) addSeen(d *digest.Sum, v View) {
	if !v.alike(c.servers) {
		d.Int(c.lastZxid)
		return
	}
	for _, w := range c.watches {
		c.addChanged(d, w.path, c.lastZxid)
	}
}

func (c *Client) addChanged(d *digest.Sum, path string, zxid int64) {
	n := c.servers.leader().nodes[path]
	d.Bool(n != nil && n.mzxid > zxid)
	d.Bool(n != nil && n.pzxid > zxid)
}

// requestHash hashes a request under way, what it says that the client has seen as addSeen does.
func (c *Client) requestHash(v View, r Request) int64 {
	var d digest.Sum
	if r.RelativeZxid != 0 && v.alike(c.servers) {
		for _, list := range r.watchLists() {
			for _, path := range *list {
				c.addChanged(&d, path, r.RelativeZxid)
			}
		}
		r.RelativeZxid = 0
	}
	r.add(&d)
	return int64(d)
}

func (c *Client) addWatches(d *digest.Sum, tag func(int64) int64) {
	for _, w := range c.watches {
		d.Text(w.path)
		d.Ints(int64(w.kind), int64(w.user), tag(w.tag), int64(len(w.ch)))
	}
}

func (c *Client) addEvents(d *digest.Sum) {
	d.Int(int64(len(c.events)))
	addEvents(d, c.latest)
	for _, r := range c.readersNow() {
		d.Ints(int64(r.user), int64(len(r.ch)))
		addEvents(d, r.held)
	}
}

func addEvents(d *digest.Sum, list []zk.Event) {
	d.Int(int64(len(list)))
	for i := range list {
		d.Int(int64(EventHash(list[i])))
	}
}

// EventHash hashes an event as a recipe sees it.
func EventHash(e zk.Event) uint64 {
	var d digest.Sum
	d.Ints(int64(e.Type), int64(e.State))
	d.Text(e.Path)
	d.Text(e.Server)
	if e.Err != nil {
		d.Text(e.Err.Error())
	}
	return uint64(d)
}
