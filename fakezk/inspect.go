package fakezk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
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
	n := e.leader().nodes[path]
	if n == nil {
		return NodeInfo{}, false
	}
	return n.info(), true
}

// NodeAt is Node on any replica, which may be behind.
func (e *Ensemble) NodeAt(replica int, path string) (NodeInfo, bool) {
	r := e.replica(replica)
	if r == nil || r.nodes[path] == nil {
		return NodeInfo{}, false
	}
	return r.nodes[path].info(), true
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

// Walk calls f for a node and all below it on the leader: a parent before its children, siblings
// by name. f must not change the ensemble.
func (e *Ensemble) Walk(root string, f func(path string, n NodeInfo)) { e.WalkAt(0, root, f) }

// WalkAt is Walk on any replica, which may be behind.
func (e *Ensemble) WalkAt(replica int, root string, f func(path string, n NodeInfo)) {
	if r := e.replica(replica); r != nil && r.nodes[root] != nil {
		r.nodes[root].walk(f)
	}
}

func (n *node) walk(f func(path string, n NodeInfo)) {
	f(n.path, n.info())
	children := slices.Clone(n.children)
	slices.SortFunc(children, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	for _, child := range children {
		child.walk(f)
	}
}

// ErrNoNode is returned by SetSequence when there is no such node.
var ErrNoNode = errors.New("no such node")

// SetSequence makes next the number of the next sequential child of path, so that a test can start
// near 2147483647. It is a transaction of its own. A number that was given out already may
// lead to names that exist. The error is ErrNoNode.
func (e *Ensemble) SetSequence(path string, next int32) error {
	n := e.leader().nodes[path]
	if n == nil {
		return fmt.Errorf("fakezk: set the sequence counter of %s: %w; create it first", path, ErrNoNode)
	}
	e.edits = append(e.edits[:0], edit{op: opSetSequence, path: n.path, owner: int64(next)})
	e.commit(transaction{edits: e.edits}, nil)
	return nil
}

// SessionInfo is a session as the leader has it.
type SessionInfo struct {
	ID        int64
	Timeout   int64 // ms
	Deadline  int64 // ms since 1970; it expires at the first Tick at or after it
	Replica   int   // to which it connected last
	Connected bool  // whether that connection is open
	Conn      ConnID
}

// Sessions lists the sessions that have not ended, by id.
func (e *Ensemble) Sessions() []SessionInfo {
	list := make([]SessionInfo, len(e.sessions))
	for i, s := range e.sessions {
		list[i] = SessionInfo{ID: s.id, Timeout: s.timeout, Deadline: s.deadline, Replica: s.owner, Conn: -1}
		if s.connection != nil {
			list[i].Connected, list[i].Conn = true, s.connection.id
		}
	}
	return list
}

// WatchKind says what a watch waits for.
type WatchKind string

// The kinds of watches. The server does not tell a watch set by exists from one set by getData.
const (
	WatchData       WatchKind = "data"
	WatchChild      WatchKind = "child"
	WatchPersistent WatchKind = "persistent"
	WatchRecursive  WatchKind = "recursive"
)

// WatchInfo is a watch that is armed at a server.
type WatchInfo struct {
	Path    string
	Kind    WatchKind
	Session int64
	Conn    ConnID
	Replica int
}

// WatchesOn lists the watches of all kinds that are armed on exactly this path, on all replicas, by
// session, connection and kind.
func (e *Ensemble) WatchesOn(path string) []WatchInfo {
	var list []WatchInfo
	for _, r := range e.replicas {
		list = appendWatches(list, path, r.data.lists[path], WatchData)
		list = appendWatches(list, path, r.child.lists[path], WatchChild)
	}
	return sortedWatches(list)
}

// Watches lists the one-shot watches that are armed anywhere, by path, session, connection and kind.
func (e *Ensemble) Watches() []WatchInfo {
	var list []WatchInfo
	for _, r := range e.replicas {
		for path, watchers := range r.data.lists {
			list = appendWatches(list, path, watchers, WatchData)
		}
		for path, watchers := range r.child.lists {
			list = appendWatches(list, path, watchers, WatchChild)
		}
	}
	list = slices.DeleteFunc(list, func(w WatchInfo) bool { return w.Kind != WatchData && w.Kind != WatchChild })
	return sortedWatches(list)
}

func appendWatches(list []WatchInfo, path string, watchers []watcher, oneShot WatchKind) []WatchInfo {
	for _, w := range watchers {
		info := WatchInfo{Path: path, Session: w.c.session.id, Conn: w.c.id, Replica: w.c.index}
		for _, mode := range [...]watchModes{modeOneShot, modePersistent, modeRecursive} {
			if w.modes&mode != 0 {
				info.Kind = kindOf(mode, oneShot)
				list = append(list, info)
			}
		}
	}
	return list
}

func kindOf(mode watchModes, oneShot WatchKind) WatchKind {
	switch mode {
	case modePersistent:
		return WatchPersistent
	case modeRecursive:
		return WatchRecursive
	}
	return oneShot
}

// sortedWatches also drops the second entry of a persistent watch, which is in both tables.
func sortedWatches(list []WatchInfo) []WatchInfo {
	slices.SortFunc(list, func(a, b WatchInfo) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Session, b.Session),
			cmp.Compare(a.Conn, b.Conn), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(list)
}
