package fakezk

import "github.com/zktorture/zktorture/fakezk/wire"

// Config describes an ensemble. The zero value is one server with ZooKeeper's defaults.
type Config struct {
	Replicas      int    // servers, 1 to 254; default 1. Replica 0 leads at first; who leads is never behind.
	Tick          int64  // tickTime, ms; default 2000. Session expiry is rounded up to it.
	MinSession    int64  // least session timeout, ms; default 2 ticks
	MaxSession    int64  // greatest session timeout, ms; default 20 ticks
	SyncLimit     int64  // ticks after which a leader notices that it is deposed; default 5, as in zoo_sample.cfg
	ReapInterval  int64  // znode.container.checkIntervalMs; default 60000
	SessionBase   int64  // ids of sessions go on from here below the server's byte; ZooKeeper takes its clock; default 0
	Order         uint64 // seed of the orders that ZooKeeper leaves open, as that of a child list
	SequenceWraps bool   // a counter of sequential children goes on from 2147483647 to -2147483648; else it sticks there, as in 3.8
	BufferMax     int64  // jute.maxbuffer: the longest request, bytes; default 1048575
	TTL           bool   // zookeeper.extendedTypesEnabled: without it createTTL answers CodeUnimplemented
	Super         string // superDigest, "user:base64(sha1(user:password))"; its bearer may do everything
}

const (
	replicasMax = 254     // the top byte of a session id is never 0 and never 0xff
	logMax      = 1 << 16 // transactions that a replica can be behind
	queueMax    = 1 << 16 // messages that a client may leave undelivered
)

// WithDefaults returns the configuration with its defaults filled in.
func (c Config) WithDefaults() Config {
	c.Replicas = min(max(c.Replicas, 1), replicasMax)
	c.Tick = orDefault(c.Tick, 2000)
	c.MinSession = orDefault(c.MinSession, 2*c.Tick)
	c.MaxSession = orDefault(c.MaxSession, 20*c.Tick)
	c.SyncLimit = orDefault(c.SyncLimit, 5)
	c.ReapInterval = orDefault(c.ReapInterval, 60000)
	c.BufferMax = orDefault(c.BufferMax, bufferMax)
	return c
}

func orDefault(v, otherwise int64) int64 {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Hooks are called by an ensemble that changes, and may not call it. nil is none.
type Hooks struct {
	OnCommit func(Change)          // for each elementary change when the leader commits it
	OnEvent  func(ConnID, Message) // when a watch event enters a connection's queue
	OnQueued func(ConnID)          // when anything does, the end of the connection included
}

// Ensemble is the state machine: a cluster of replicas, each with its tree, its watches and the connections to it, and
// what the leader knows. It must be used from one goroutine at a time.
type Ensemble struct {
	Hooks // Reset leaves them as they are

	cfg      Config
	cluster  cluster
	streams  streams
	noQuorum bool

	sessions sessions
	proposer proposer
	edits    []edit // of the transaction that is made; memory
	reaper   reaper
	admin    connection
}

// New returns an ensemble that has no sessions and no nodes but ZooKeeper's own.
func New(cfg Config) *Ensemble {
	e := &Ensemble{proposer: proposer{pending: map[string]record{}}}
	e.streams.hooks, e.proposer.cfg = &e.Hooks, &e.cfg
	e.Reset(cfg)
	return e
}

// Reset makes the ensemble as New would, and keeps memory. Connections are numbered from 0 again.
func (e *Ensemble) Reset(cfg Config) {
	e.cfg = cfg.WithDefaults()
	e.cluster.reset(e.cfg.Replicas, &e.cfg, &e.streams)
	e.admin = connection{replica: e.cluster.leader(), super: true, session: &session{}}
	e.proposer.reset(&e.cluster.leader().tree)
	e.sessions.reset()
	e.streams.list = e.streams.list[:0]
	e.noQuorum, e.reaper.at = false, 0
}

// Zxid returns the last transaction committed.
func (e *Ensemble) Zxid() int64 { return e.cluster.leader().zxid }

// commitOne commits a transaction of one edit.
func (e *Ensemble) commitOne(t transaction, x edit) {
	e.edits = append(e.edits[:0], x)
	t.edits = e.edits
	e.commit(t, nil)
}

// commit appends a transaction to the log; replicas that do not lag apply it at once. results, if not nil, has an
// element for each edit and receives the Stats that are asked for.
func (e *Ensemble) commit(t transaction, results []Result) {
	t.zxid = e.cluster.nextZxid()
	e.cluster.commit(&t, results, func(x *edit, n *node) { e.announce(&t, x, n) })
	clear(t.edits)
}

// announce tells of an edit that the leader carries out: a creation is done, nothing else is.
func (e *Ensemble) announce(t *transaction, x *edit, n *node) {
	if x.op == wire.OpCreate && isReapable(x.owner) {
		e.reaper.later(t.time, e.cfg.ReapInterval)
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

// SetLag makes a replica fall behind: it applies nothing until Apply, SetLag(replica, false), or a write or sync
// through it. The leader never lags, and a deposed one does until it notices.
func (e *Ensemble) SetLag(replica int, lag bool) {
	r := e.cluster.replica(replica)
	if r == nil || r == e.cluster.leader() || e.cluster.old.is(r) {
		return
	}
	r.lagging = lag
	if !lag {
		e.cluster.catchUp(r)
	}
}

// Lags reports whether a replica falls behind by SetLag.
func (e *Ensemble) Lags(replica int) bool {
	r := e.cluster.replica(replica)
	return r != nil && r.lagging && !e.cluster.old.is(r)
}

// ZxidOf returns the last transaction that a replica has applied, 0 for one that does not exist.
func (e *Ensemble) ZxidOf(replica int) int64 {
	r := e.cluster.replica(replica)
	if r == nil {
		return 0
	}
	return r.zxid
}

// Behind returns how many transactions a replica has not applied.
func (e *Ensemble) Behind(replica int) int {
	r := e.cluster.replica(replica)
	if r == nil {
		return 0
	}
	return e.cluster.behind(r)
}

// Apply makes a replica apply one more transaction, and reports whether there was one. A deposed
// leader applies nothing.
func (e *Ensemble) Apply(replica int) bool {
	r := e.cluster.replica(replica)
	if r == nil || e.cluster.behind(r) == 0 || e.cluster.old.is(r) {
		return false
	}
	e.cluster.advance(r)
	e.cluster.trim()
	return true
}

// Check returns how the replicas of an ensemble break the rule by which they agree, which would be a bug of this package.
func Check(e *Ensemble) error { return e.cluster.check() }
