package fakezk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// NodeInfo is a node as the leader has it. Its slices are not to be changed.
type NodeInfo struct {
	Data      []byte
	Stat      zk.Stat
	ACL       []zk.ACL
	Children  []string // sorted
	Sequence  int32    // the number that the next sequential child gets
	Container bool
	TTL       int64 // ms; 0: none
}

// Node returns the leader's truth about a path; false if there is no such node.
func (e *Ensemble) Node(path string) (NodeInfo, bool) {
	n := e.cluster.leader().nodes[path]
	if n == nil {
		return NodeInfo{}, false
	}
	return n.info(), true
}

// Czxid returns the transaction that created a node that is there on the leader; 0 if there is none.
func (e *Ensemble) Czxid(path string) int64 {
	if n := e.cluster.leader().nodes[path]; n != nil {
		return n.czxid
	}
	return 0
}

func (n *node) info() NodeInfo {
	info := NodeInfo{
		Data: n.data, Stat: n.stat(), ACL: n.acl, Children: n.names(),
		Sequence: n.created, Container: n.owner == ownerContainer,
	}
	if isTTL(n.owner) {
		info.TTL = n.owner &^ ownerTTLMask
	}
	slices.Sort(info.Children)
	return info
}

// Walk calls f for a node and all below it on the leader: parents before children, siblings by name. f must not
// change the ensemble.
func (e *Ensemble) Walk(root string, f func(path string, n NodeInfo)) {
	if n := e.cluster.leader().nodes[root]; n != nil {
		n.walk(f)
	}
}

func (n *node) walk(f func(path string, n NodeInfo)) {
	f(n.path, n.info())
	children := slices.Collect(n.children.all())
	slices.SortFunc(children, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	for _, child := range children {
		child.walk(f)
	}
}

// ErrNoNode is returned by SetSequence when there is no such node.
var ErrNoNode = errors.New("no such node")

// SetSequence sets the number of the next sequential child of path, so that a test can start near 2147483647. It is a
// transaction of its own. A number that was given out already may lead to names that exist. The error is ErrNoNode.
func (e *Ensemble) SetSequence(path string, next int32) error {
	return setCounters(e, opSetSequence, path, next)
}

// SetVersions sets the versions of data and ACL of path, as SetSequence does the counter. As by many sets Mzxid changes, too.
func (e *Ensemble) SetVersions(path string, version int32) error {
	return setCounters(e, opSetVersions, path, version)
}

func setCounters(e *Ensemble, op wire.Op, path string, counter int32) error {
	n := e.cluster.leader().nodes[path]
	if n == nil {
		return fmt.Errorf("fakezk: set the counters of %s: %w; create it first", path, ErrNoNode)
	}
	e.commitOne(transaction{}, edit{op: op, path: n.path, owner: int64(counter)})
	return nil
}

// SessionInfo is a session as the leader has it.
type SessionInfo struct {
	ID        int64
	Timeout   int64 // ms
	Deadline  int64 // ms since 1970; it expires at the first Tick at or after it
	Replica   int   // to which it connected last
	Connected bool  // whether that connection is open
}

// Sessions lists the sessions that have not ended, by id.
func (e *Ensemble) Sessions() []SessionInfo {
	connected := map[*session]bool{}
	for _, r := range e.cluster.replicas {
		for _, c := range r.connections {
			if r.index == c.session.owner {
				connected[c.session] = true
			}
		}
	}
	list := make([]SessionInfo, len(e.sessions))
	for i, s := range e.sessions {
		list[i] = SessionInfo{s.id, s.timeout, s.deadline, s.owner, connected[s]}
	}
	return list
}

// WatchKind says what a watch waits for.
type WatchKind string

// The kinds of watches. The server does not tell a watch set by exists from one set by getData.
const (
	watchData       WatchKind = "data"
	WatchChild      WatchKind = "child"
	watchPersistent WatchKind = "persistent"
	watchRecursive  WatchKind = "recursive"
)

// WatchInfo is a watch that is armed at a server.
type WatchInfo struct {
	Path    string
	Kind    WatchKind
	Session int64
	Conn    ConnID
	Replica int
}

// Watches lists the one-shot watches that are armed anywhere, by path, session, connection and kind.
func (e *Ensemble) Watches() []WatchInfo {
	persists := func(w WatchInfo) bool { return w.Kind == watchPersistent || w.Kind == watchRecursive }
	return slices.DeleteFunc(e.AllWatches(), persists)
}

// AllWatches lists the watches of all kinds that are armed anywhere, in the same order. A persistent watch, which is in
// both tables of its server, is listed once.
func (e *Ensemble) AllWatches() (list []WatchInfo) {
	for _, r := range e.cluster.replicas {
		list = r.child.appendTo(r.data.appendTo(list, modeOneShot, watchData), modeOneShot, WatchChild)
		for _, t := range [...]*watchTable{&r.data, &r.child} {
			list = t.appendTo(t.appendTo(list, modePersistent, watchPersistent), modeRecursive, watchRecursive)
		}
	}
	return slices.Compact(sortedWatches(list))
}

// appendTo appends the watches of one mode to a list.
func (t *watchTable) appendTo(list []WatchInfo, mode watchModes, kind WatchKind) []WatchInfo {
	for path, watchers := range t.lists {
		for _, w := range watchers {
			if w.modes&mode != 0 {
				list = append(list, WatchInfo{path, kind, w.c.session.id, w.c.id, w.c.replica.index})
			}
		}
	}
	return list
}

func sortedWatches(list []WatchInfo) []WatchInfo {
	slices.SortFunc(list, func(a, b WatchInfo) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Session, b.Session),
			cmp.Compare(a.Conn, b.Conn), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// Counts is how much a replica has.
type Counts struct {
	Nodes, Ephemerals int
	Watches           int   // of all kinds, a persistent one counted twice, as it is in both tables
	Bytes             int64 // of paths and data
}

// Count counts what a replica has; zeros for one that does not exist.
func (e *Ensemble) Count(replica int) (n Counts) {
	r := e.cluster.replica(replica)
	if r == nil {
		return n
	}
	for _, c := range r.connections {
		n.Watches += c.watches
	}
	for path, node := range r.nodes {
		n.Nodes++
		n.Bytes += int64(len(path) + len(node.data))
		if isEphemeral(node.owner) {
			n.Ephemerals++
		}
	}
	return n
}
