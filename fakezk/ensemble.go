package fakezk

import (
	"math"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Config describes an ensemble. The zero value is one server with ZooKeeper's defaults.
type Config struct {
	Replicas     int    // servers, 1 to 254; default 1. Replica 0 leads at first; who leads is never behind.
	Tick         int64  // tickTime, ms; default 2000. Session expiry is rounded up to it.
	MinSession   int64  // least session timeout, ms; default 2 ticks
	MaxSession   int64  // greatest session timeout, ms; default 20 ticks
	SyncLimit    int64  // ticks after which a leader notices that it is deposed; default 5, as in zoo_sample.cfg
	ReapInterval int64  // znode.container.checkIntervalMs; default 60000
	SessionBase  int64  // ids of sessions go on from here below the server's byte; ZooKeeper takes its clock; default 0
	Order        uint64 // seed of the orders that ZooKeeper leaves open, as that of a child list
	BufferMax    int64  // jute.maxbuffer: the longest request, bytes; default 1048575
	TTL          bool   // zookeeper.extendedTypesEnabled: without it createTTL answers CodeUnimplemented
	Super        string // superDigest, "user:base64(sha1(user:password))"; its bearer may do everything
	Compat       Compat // version of ZooKeeper

	// Members are the initial lines of /zookeeper/config, "server.1=host:port:port[:role][;[host:]port]" as in zoo.cfg.
	// In the order of their numbers they are the replicas. Default: none, as on a standalone server.
	Members []string

	// Reconfig lets the super user change the members (reconfigEnabled). The replicas stay the same. With several
	// replicas, missing Members are made up; a standalone server answers CodeUnimplemented.
	Reconfig bool

	// Users are the names and passwords for SASL DIGEST-MD5, as in the section Server of a JAAS configuration. They
	// enable ACLs of scheme sasl; "super" passes all of them. Default: no login.
	Users map[string]string

	// EnforceQuota makes creations and changes of data beyond a hard limit fail (enforceQuota). Without it limits
	// have no effect, but usage is counted.
	EnforceQuota bool

	// ReadOnly lets servers without a quorum serve clients whose ConnectRequest is ReadOnly (readonlymode.enabled, with
	// localSessionsEnabled: ZooKeeper 3.8 gives a new session there no answer that a client can read otherwise).
	ReadOnly bool
}

const (
	replicasMax = 254     // the top byte of a session id is never 0 and never 0xff
	logMax      = 1 << 16 // transactions that a replica can be behind
	queueMax    = 1 << 16 // messages that a client may leave undelivered
)

func (c Config) filled() Config {
	c.Replicas = min(max(c.Replicas, 1), replicasMax)
	c.Tick = orDefault(c.Tick, 2000)
	c.MinSession = orDefault(c.MinSession, 2*c.Tick)
	c.MaxSession = orDefault(c.MaxSession, 20*c.Tick)
	c.SyncLimit = orDefault(c.SyncLimit, 5)
	c.ReapInterval = orDefault(c.ReapInterval, 60000)
	c.BufferMax = orDefault(c.BufferMax, bufferMax)
	if c.Reconfig && c.Replicas > 1 && len(c.Members) == 0 {
		c.Members = madeUpMembers(c.Replicas)
	}
	return c
}

func orDefault(v, otherwise int64) int64 {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Change is one elementary change at the moment at which the leader commits it.
type Change struct {
	Zxid    int64
	Time    int64  // ms since 1970
	Op      Op     // OpCreate, OpDelete, OpSetData, OpSetACL, OpReconfig, OpCreateSession or OpCloseSession
	Path    string // "" for sessions
	Session int64  // that asked for it, or that has ended; 0: Admin, or a container or TTL node that was reaped
	Owner   int64  // the session that an ephemeral node belongs to; 0 for all others
	Data    []byte // what OpCreate, OpSetData and OpReconfig wrote; not to be changed

	Sequential bool // OpCreate: the server has made the name, by a number

	End      CounterEnd // which counter has come to its end by the change, …
	EndsWith string     // … and of which node
}

// CounterEnd says which 32-bit counter of a node has come to its end, so that the server does otherwise than before.
type CounterEnd uint8

// The ends.
const (
	EndNone     CounterEnd = iota
	EndSticks              // the number of the next sequential child stays, and pzxid, which setWatches compares
	EndNumbers             // that number goes on from 2147483647 to -2147483648
	EndVersion             // the version goes on so
	EndAversion            // the version of the ACL does
	EndCversion            // the version of the children does
)

// endOf returns which counter comes to its end by an edit that the leader carries out: a creation is done, nothing else is.
func endOf(x *edit, n *node, zxid int64) (end CounterEnd, path string) {
	switch x.op {
	case OpCreate:
		p := n.parent
		switch {
		case p.pzxid != zxid:
			return EndSticks, p.path
		case p.created == math.MinInt32:
			return EndNumbers, p.path
		case p.stat().Cversion == math.MinInt32:
			return EndCversion, p.path
		}
	case OpDelete:
		if n.parent.stat().Cversion == math.MaxInt32 {
			return EndCversion, n.parent.path
		}
	case OpSetData:
		if n.version == math.MaxInt32 {
			return EndVersion, n.path
		}
	case OpSetACL:
		if n.aversion == math.MaxInt32 {
			return EndAversion, n.path
		}
	}
	return EndNone, ""
}

// edit is an elementary change in the log. It is valid on the tree that the log has built so far: applying it cannot
// fail.
type edit struct {
	op    Op
	path  string
	data  []byte
	acl   []zk.ACL
	owner int64 // create: ephemeralOwner; sessions: the session; opSetSequence: the counter; opSetVersions: both

	sequential bool // create: see Change
}

// opSetSequence is in the log only, see SetSequence.
const opSetSequence Op = -1000

// opSetVersions is in the log only, see SetVersions.
const opSetVersions Op = -1001

// transaction is one entry of the log. It has no edits if the request failed: a failed write has a zxid too.
type transaction struct {
	zxid, time int64
	session    int64
	edits      []edit
	closer     *connection // asked for the end of its session and will be answered
}

// replica is one server: a tree built from a prefix of the log, and the connections to it.
type replica struct {
	tree
	applied     int // transactions
	lagging     bool
	data, child watchTable
	connections []*connection // open ones
	sessions    int64         // opened here
}

// Ensemble is the state machine. It must be used from one goroutine at a time.
//
// Invariant: log is the suffix of the committed transactions that some replica has not applied; a replica that does
// not lag has applied all.
type Ensemble struct {
	// OnCommit, if set, is called for each elementary change when the leader commits it. OnEvent, if set, is called
	// when a watch event enters a connection's queue, OnQueued when anything does, the end of the connection included.
	// OnTransaction, if set, is called for each transaction before the leader applies it.
	// None may call the Ensemble. Reset leaves them as they are.
	OnCommit func(Change)
	OnEvent  func(ConnID, Message)
	OnQueued func(ConnID)

	OnTransaction func(Transaction)

	cfg         Config
	replicas    []*replica
	leading     int // the replica that was elected last
	epoch       int64
	old         deposed
	committed   int
	log         []transaction
	sessions    []*session // by id
	connections []*connection
	admin       connection
	reapAt      int64 // when containers are looked at next; 0: there are none
	noQuorum    bool
	local       []*session // of read-only servers
	membership  membership

	pending   map[string]record // what the earlier operations of a multi have changed
	edits     []edit            // scratch
	logged    []edit            // memory for the edits of the log
	responses []Response        // not yet given out, as are …
	names     []string          // … these: memory for the lists of children, …
	passwords []byte            // … and these: of passwords
	hits      [2][]*connection  // scratch of fire
	shaper    shaper            // of Shape
}

// New returns an ensemble that has no sessions and no nodes but ZooKeeper's own.
func New(cfg Config) *Ensemble {
	e := &Ensemble{pending: map[string]record{}}
	e.Reset(cfg)
	return e
}

// Reset makes the ensemble as New would, and keeps memory. Connections are numbered from 0 again.
func (e *Ensemble) Reset(cfg Config) {
	e.cfg = cfg.filled()
	e.membership = initialMembers(e.cfg)
	e.replicas = resized(e.replicas, e.cfg.Replicas)
	for _, r := range e.replicas {
		r.reset(e.cfg.Order, e.cfg.Compat)
		r.configure(e.membership.text(), 0, 0)
		r.applied, r.lagging, r.sessions = 0, false, 0
		r.connections = r.connections[:0]
		r.data.reset()
		r.child.reset()
	}
	clear(e.log)
	clear(e.logged)
	clear(e.sessions)
	clear(e.local)
	clear(e.pending)
	e.log, e.sessions, e.local, e.connections = e.log[:0], e.sessions[:0], e.local[:0], e.connections[:0]
	e.committed, e.reapAt, e.noQuorum, e.leading, e.epoch = 0, 0, false, 0, 0
	e.old.forget()
	e.admin = connection{replica: e.leader(), super: true, session: &session{}}
}

func resized(list []*replica, n int) []*replica {
	for len(list) < n {
		list = append(list, &replica{})
	}
	return list[:n]
}

func (e *Ensemble) leader() *replica { return e.replicas[e.leading] }

// replica returns nil if there is no such replica.
func (e *Ensemble) replica(i int) *replica {
	if i < 0 || i >= len(e.replicas) {
		return nil
	}
	return e.replicas[i]
}

// Zxid returns the last transaction committed.
func (e *Ensemble) Zxid() int64 { return e.leader().zxid }

// commit appends a transaction to the log; replicas that do not lag apply it at once. results, if not nil, has an
// element for each edit and receives the Stats that are asked for.
func (e *Ensemble) commit(t transaction, results []Result) {
	t.zxid = e.nextZxid()
	e.committed++
	if e.OnTransaction != nil {
		e.OnTransaction(e.record(&t))
	}
	e.apply(e.leader(), &t, results)
	behind := false
	for _, r := range e.replicas {
		switch {
		case r.lagging:
			behind = true
		case e.behind(r) > 0:
			e.apply(r, &t, nil)
		}
	}
	if behind {
		e.remember(t)
	}
	clear(t.edits)
}

// remember keeps a transaction for the replicas that lag. One that is logMax behind is brought forward, as the leader
// does with a follower that does not keep up (syncLimit); a deposed leader notices it.
func (e *Ensemble) remember(t transaction) {
	t.edits = e.kept(t.edits)
	e.log = append(e.log, t)
	if len(e.log) <= logMax {
		return
	}
	for i, r := range e.replicas {
		switch {
		case e.behind(r) <= logMax:
		case e.isDeposed(i):
			e.Notice()
		default:
			e.advance(r)
		}
	}
	e.trim()
}

// kept returns a copy of a transaction's edits for the log.
func (e *Ensemble) kept(edits []edit) []edit {
	switch {
	case len(e.log) == 0:
		e.logged = e.logged[:0]
	case len(e.logged) > logMax:
		return slices.Clone(edits)
	}
	e.logged = append(e.logged, edits...)
	return e.logged[len(e.logged)-len(edits) : len(e.logged) : len(e.logged)]
}

func (e *Ensemble) behind(r *replica) int { return e.committed - r.applied }

// advance applies the next transaction of the log.
func (e *Ensemble) advance(r *replica) {
	t := e.log[len(e.log)-e.behind(r)]
	e.apply(r, &t, nil)
}

// trim forgets the transactions that every replica has applied.
func (e *Ensemble) trim() {
	most := 0
	for _, r := range e.replicas {
		most = max(most, e.behind(r))
	}
	if drop := len(e.log) - most; drop > 0 {
		e.log = slices.Delete(e.log, 0, drop)
	}
}

// catchUp makes a replica apply all that is committed.
func (e *Ensemble) catchUp(r *replica) {
	if e.behind(r) == 0 {
		return
	}
	for e.behind(r) > 0 {
		e.advance(r)
	}
	e.trim()
}

// SetLag makes a replica fall behind: it applies nothing until Apply, SetLag(replica, false), or a write or sync
// through it. The leader never lags, and a deposed one does until it notices.
func (e *Ensemble) SetLag(replica int, lag bool) {
	r := e.replica(replica)
	if r == nil || replica == e.leading || e.isDeposed(replica) {
		return
	}
	r.lagging = lag
	if !lag {
		e.catchUp(r)
	}
}

// ZxidOf returns the last transaction that a replica has applied, 0 for one that does not exist.
func (e *Ensemble) ZxidOf(replica int) int64 {
	r := e.replica(replica)
	if r == nil {
		return 0
	}
	return r.zxid
}

// Behind returns how many transactions a replica has not applied.
func (e *Ensemble) Behind(replica int) int {
	r := e.replica(replica)
	if r == nil {
		return 0
	}
	return e.behind(r)
}

// Apply makes a replica apply one more transaction, and tells whether there was one. A deposed leader applies nothing.
func (e *Ensemble) Apply(replica int) bool {
	r := e.replica(replica)
	if r == nil || e.behind(r) == 0 || e.isDeposed(replica) {
		return false
	}
	e.advance(r)
	e.trim()
	return true
}

// apply carries a transaction out on a replica: nodes change, watches fire edit by edit, connections of ended
// sessions close.
func (e *Ensemble) apply(r *replica, t *transaction, results []Result) {
	r.applied++
	r.zxid = t.zxid
	for i := range t.edits {
		e.applyEdit(r, t, &t.edits[i])
		if results != nil {
			results[i].Stat = resultStat(r, results[i].Op, t.edits[i].path)
		}
	}
	if len(t.edits) > 0 && t.edits[0].op == OpCloseSession {
		e.disconnect(r, t.edits[0].owner, t.closer)
	}
}

// resultStat is the Stat that a multi answers for an operation just applied.
func resultStat(r *replica, op Op, path string) zk.Stat {
	switch op {
	case OpSetData, OpCreate2:
		return r.nodes[path].stat()
	}
	return zk.Stat{}
}

func (e *Ensemble) applyEdit(r *replica, t *transaction, x *edit) {
	var n *node
	switch x.op {
	case OpCreate:
		n = r.create(x, t.zxid, t.time)
	case OpDelete, OpSetData, OpSetACL, OpReconfig:
		n = r.nodes[x.path]
	case OpCheck:
		return
	case opSetSequence:
		r.nodes[x.path].created = int32(x.owner)
		return
	case opSetVersions:
		r.nodes[x.path].version, r.nodes[x.path].aversion = int32(x.owner), int32(x.owner)
		return
	}
	if r == e.leader() {
		e.announce(t, x, n)
	}
	switch x.op {
	case OpCreate:
		e.fire(r, &r.data, zk.EventNodeCreated, n)
		e.fire(r, &r.child, zk.EventNodeChildrenChanged, n.parent)
	case OpDelete:
		r.remove(n, t.zxid)
		e.fireDeleted(r, n)
		e.fire(r, &r.child, zk.EventNodeChildrenChanged, n.parent)
	case OpSetData:
		r.set(n, x.data, t.zxid, t.time)
		e.fire(r, &r.data, zk.EventNodeDataChanged, n)
	case OpSetACL:
		r.setACL(n, x.acl)
	case OpReconfig:
		r.configure(x.data, t.zxid, t.time)
		e.fire(r, &r.data, zk.EventNodeDataChanged, n)
	}
}

func (e *Ensemble) announce(t *transaction, x *edit, n *node) {
	if x.op == OpCreate && isReapable(x.owner) {
		e.reapLater(t.time)
	}
	if e.OnCommit == nil {
		return
	}
	c := Change{
		Zxid: t.zxid, Time: t.time, Op: x.op, Path: x.path, Session: t.session, Data: x.data, Sequential: x.sequential,
	}
	if n != nil && isEphemeral(n.owner) {
		c.Owner = n.owner
	}
	c.End, c.EndsWith = endOf(x, n, t.zxid)
	e.OnCommit(c)
}
