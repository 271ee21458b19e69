package fakezk

import (
	"cmp"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// replica is one server: a tree built from a prefix of the log, its watches, and the connections to it.
type replica struct {
	tree
	index       int
	applied     int // transactions
	lagging     bool
	data, child watchTable
	streams     *streams
	connections []*connection    // open ones
	sessions    int64            // opened here
	hits        [2][]*connection // scratch of fire
}

func (r *replica) reset(cfg *Config) {
	r.tree.reset(cfg.Order, cfg.SequenceWraps)
	r.applied, r.lagging, r.sessions = 0, false, 0
	r.connections = r.connections[:0]
	r.data.reset()
	r.child.reset()
}

// apply carries a transaction out: nodes change, watches fire edit by edit, connections of ended sessions close.
// announce, if not nil, is told of each edit. results are those of commit.
func (r *replica) apply(t *transaction, results []Result, announce func(*edit, *node)) {
	r.applied++
	r.zxid = t.zxid
	for i := range t.edits {
		r.applyEdit(t, &t.edits[i], announce)
		if results != nil {
			results[i].Stat = r.resultStat(results[i].Op, t.edits[i].path)
		}
	}
	if len(t.edits) > 0 && t.edits[0].op == wire.OpCloseSession {
		r.disconnect(t.edits[0].owner, t.closer)
	}
}

// resultStat is the Stat that a multi answers for an operation just applied.
func (r *replica) resultStat(op wire.Op, path string) zk.Stat {
	switch op {
	case wire.OpSetData, wire.OpCreate2:
		return r.nodes[path].stat()
	}
	return zk.Stat{}
}

func (r *replica) applyEdit(t *transaction, x *edit, announce func(*edit, *node)) {
	var n *node
	switch x.op {
	case wire.OpCreate:
		n = r.create(x, t.zxid, t.time)
	case wire.OpDelete, wire.OpSetData, wire.OpSetACL:
		n = r.nodes[x.path]
		n.version, n.aversion = cmp.Or(int32(x.owner), n.version), cmp.Or(int32(x.owner), n.aversion) // Since, which a setData alone may have
	case wire.OpCheck:
		return
	case opSetSequence:
		r.nodes[x.path].created = int32(x.owner)
		return
	case opSetVersions:
		r.nodes[x.path].version, r.nodes[x.path].aversion, r.nodes[x.path].mzxid = int32(x.owner), int32(x.owner), t.zxid
		return
	}
	if announce != nil {
		announce(x, n)
	}
	switch x.op {
	case wire.OpCreate:
		r.fire(&r.data, zk.EventNodeCreated, n)
		r.fire(&r.child, zk.EventNodeChildrenChanged, n.parent)
	case wire.OpDelete:
		r.remove(n, t.zxid)
		r.fireDeleted(n)
		r.fire(&r.child, zk.EventNodeChildrenChanged, n.parent)
	case wire.OpSetData:
		r.set(n, x.data, t.zxid, t.time)
		r.fire(&r.data, zk.EventNodeDataChanged, n)
	case wire.OpSetACL:
		r.setACL(n, x.acl)
	}
}

// fire sends an event of a node to the connections that watch it in one of the tables.
func (r *replica) fire(t *watchTable, event zk.EventType, n *node) {
	r.hits[0] = t.trigger(n.path, event, r.hits[0][:0])
	r.send(r.hits[0], nil, event, n)
}

// fireDeleted sends NodeDeleted once to a connection that is in both tables (DataTree.deleteNode).
func (r *replica) fireDeleted(n *node) {
	r.fire(&r.data, zk.EventNodeDeleted, n)
	r.hits[1] = r.child.trigger(n.path, zk.EventNodeDeleted, r.hits[1][:0])
	r.send(r.hits[1], r.hits[0], zk.EventNodeDeleted, n)
}

// send queues an event at the connections hit, except those suppressed and those that may not read the node
// (CVE-2024-23944): their watches are used up all the same.
func (r *replica) send(hits, suppressed []*connection, event zk.EventType, n *node) {
	for _, c := range hits {
		if slices.Contains(suppressed, c) {
			continue
		}
		if c.admits(n.acl, zk.PermRead) {
			c.sendEvent(event, n.path)
		}
	}
}

// hangUpAll closes all connections of the server.
func (r *replica) hangUpAll() {
	for len(r.connections) > 0 {
		r.connections[len(r.connections)-1].hangUp()
	}
}
