package fakezk

import (
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// watchModes is a set of the ways in which a connection watches a path.
type watchModes uint8

const (
	modeOneShot    watchModes = 1 << iota // by exists, getData, getChildren: one event
	modePersistent                        // by addWatch 0: until it is removed
	modeRecursive                         // by addWatch 1: the whole subtree, no childrenChanged
)

type watcher struct {
	c     *connection
	modes watchModes
}

// watchTable is one of a server's two tables, data and child (server/watch/WatchManager.java). A connection is in the
// list of a path at most once: two GetW give one event.
type watchTable struct {
	lists     map[string][]watcher // in the order of arming
	recursive int                  // watchers that are recursive
	spare     [][]watcher
}

func (t *watchTable) reset() {
	t.lists, t.recursive = emptied(t.lists), 0
}

// arm adds a watch. An older one of the connection on the path is replaced, or with Compat.WatchModesApart kept.
func (t *watchTable) arm(path string, c *connection, mode watchModes, apart bool) {
	list := t.lists[path]
	i := slices.IndexFunc(list, func(w watcher) bool { return w.c == c })
	if i < 0 {
		if list == nil {
			list = t.spareList()
		}
		t.lists[path] = append(list, watcher{c, mode})
		c.watches++
		t.recount(0, mode)
		return
	}
	old := list[i].modes
	if apart {
		mode |= old
	}
	list[i].modes = mode
	t.recount(old, mode)
}

func (t *watchTable) recount(old, now watchModes) {
	t.recursive += int(now&modeRecursive/modeRecursive) - int(old&modeRecursive/modeRecursive)
}

func (t *watchTable) spareList() []watcher {
	n := len(t.spare)
	if n == 0 {
		return make([]watcher, 0, 2)
	}
	list := t.spare[n-1]
	t.spare = t.spare[:n-1]
	return list
}

// put stores what is left of a list.
func (t *watchTable) put(path string, list []watcher) {
	if len(list) > 0 {
		t.lists[path] = list
		return
	}
	delete(t.lists, path)
	if len(t.spare) < 64 {
		t.spare = append(t.spare, list)
	}
}

func (t *watchTable) has(path string, c *connection) bool {
	return slices.ContainsFunc(t.lists[path], func(w watcher) bool { return w.c == c })
}

// disarm removes a connection's watches of all modes from a path.
func (t *watchTable) disarm(path string, c *connection) bool {
	list := t.lists[path]
	i := slices.IndexFunc(list, func(w watcher) bool { return w.c == c })
	if i < 0 {
		return false
	}
	t.recount(list[i].modes, 0)
	c.watches--
	t.put(path, slices.Delete(list, i, i+1))
	return true
}

// forget removes a connection from the table. The order of the map does not matter.
func (t *watchTable) forget(c *connection) {
	for path := range t.lists {
		t.disarm(path, c)
	}
}

// trigger collects the connections that an event concerns, once each, and uses their one-shot watches up.
func (t *watchTable) trigger(path string, event zk.EventType, hits []*connection) []*connection {
	if len(t.lists) == 0 {
		return hits
	}
	if list := t.lists[path]; list != nil {
		hits = t.triggerPath(path, list, event, hits)
	}
	if t.recursive > 0 && event != zk.EventNodeChildrenChanged {
		for at := path; at != "/" && strings.IndexByte(at, '/') >= 0; {
			at = parentOf(at)
			hits = appendRecursive(t.lists[at], hits)
		}
	}
	return hits
}

// triggerPath is for the watchers of the path itself.
func (t *watchTable) triggerPath(path string, list []watcher, event zk.EventType, hits []*connection) []*connection {
	kept := list[:0]
	for _, w := range list {
		concerns := w.modes &^ modeRecursive
		if event != zk.EventNodeChildrenChanged {
			concerns = w.modes
		}
		if concerns != 0 {
			hits = append(hits, w.c)
		}
		if w.modes &^= modeOneShot; w.modes != 0 {
			kept = append(kept, w)
		} else {
			w.c.watches--
		}
	}
	clear(list[len(kept):])
	if len(kept) < len(list) {
		t.put(path, kept)
	}
	return hits
}

func appendRecursive(list []watcher, hits []*connection) []*connection {
	for _, w := range list {
		if w.modes&modeRecursive != 0 && !slices.Contains(hits, w.c) {
			hits = append(hits, w.c)
		}
	}
	return hits
}

// arm registers a watch of a connection in one of its replica's tables.
func (e *Ensemble) arm(t *watchTable, path string, c *connection, mode watchModes) {
	t.arm(path, c, mode, e.cfg.Compat.WatchModesApart)
}

// fire sends an event of a node to the connections that watch it in one of the tables.
func (e *Ensemble) fire(r *replica, t *watchTable, event zk.EventType, n *node) {
	e.hits[0] = t.trigger(n.path, event, e.hits[0][:0])
	e.send(e.hits[0], nil, event, n, r.zxid)
}

// fireDeleted sends NodeDeleted once to a connection that is in both tables (DataTree.deleteNode).
func (e *Ensemble) fireDeleted(r *replica, n *node) {
	e.fire(r, &r.data, zk.EventNodeDeleted, n)
	e.hits[1] = r.child.trigger(n.path, zk.EventNodeDeleted, e.hits[1][:0])
	e.send(e.hits[1], e.hits[0], zk.EventNodeDeleted, n, r.zxid)
}

// send queues an event at the connections hit, except those suppressed and those that may not read the node
// (CVE-2024-23944): their watches are used up all the same.
func (e *Ensemble) send(hits, suppressed []*connection, event zk.EventType, n *node, zxid int64) {
	for _, c := range hits {
		if slices.Contains(suppressed, c) {
			continue
		}
		if e.cfg.Compat.NoEventACLFilter || c.admits(n.acl, zk.PermRead) {
			e.sendTo(c, event, n.path, zxid)
		}
	}
}

func (e *Ensemble) sendTo(c *connection, event zk.EventType, path string, zxid int64) {
	m := Message{Event: event, Path: path, Zxid: zxid}
	e.push(c, m)
	if e.OnEvent != nil {
		e.OnEvent(c.id, m)
	}
}

// resumeWatches re-arms the watches of a reconnected client, or tells it at once what it has missed
// (DataTree.setWatches). These events are not filtered by ACL.
func (e *Ensemble) resumeWatches(c *connection, r *Request) {
	t := c.replica
	for _, path := range r.DataWatches {
		n := t.nodes[path]
		e.resumeWatch(c, &t.data, path, n, n != nil && n.mzxid > r.RelativeZxid, zk.EventNodeDataChanged)
	}
	for _, path := range r.ExistWatches {
		if t.nodes[path] != nil {
			e.sendTo(c, zk.EventNodeCreated, path, t.zxid)
		} else {
			e.arm(&t.data, path, c, modeOneShot)
		}
	}
	for _, path := range r.ChildWatches {
		n := t.nodes[path]
		e.resumeWatch(c, &t.child, path, n, n != nil && n.pzxid > r.RelativeZxid, zk.EventNodeChildrenChanged)
	}
	if r.Op == OpSetWatches2 {
		e.armBoth(c, r.PersistentWatches, modePersistent)
		e.armBoth(c, r.RecursiveWatches, modeRecursive)
	}
}

func (e *Ensemble) resumeWatch(c *connection, t *watchTable, path string, n *node, changed bool, event zk.EventType) {
	switch {
	case n == nil:
		e.sendTo(c, zk.EventNodeDeleted, encoded(path), c.replica.zxid)
	case changed:
		e.sendTo(c, event, path, c.replica.zxid)
	default:
		e.arm(t, path, c, modeOneShot)
	}
}

func (e *Ensemble) armBoth(c *connection, paths []string, mode watchModes) {
	for _, path := range paths {
		e.arm(&c.replica.data, path, c, mode)
		e.arm(&c.replica.child, path, c, mode)
	}
}

// Kinds of checkWatches and removeWatches (Watcher.WatcherType).
const (
	kindChildren = 1
	kindData     = 2
	kindAny      = 3
)

// matchWatches looks for watches of a kind, or removes them.
func (e *Ensemble) matchWatches(c *connection, r *Request) Code {
	if r.Kind < kindChildren || r.Kind > kindAny {
		return CodeMarshalling
	}
	match := (*watchTable).disarm
	if r.Op == OpCheckWatches {
		match = e.cfg.Compat.checkWatches()
		if e.cfg.Compat.climbs() && (r.Kind != kindData && c.replica.child.climbsOut(r.Path) ||
			r.Kind != kindChildren && c.replica.data.climbsOut(r.Path)) {
			return CodeMarshalling
		}
	}
	found := false
	if r.Kind != kindData {
		found = match(&c.replica.child, r.Path, c)
	}
	if r.Kind != kindChildren {
		found = match(&c.replica.data, r.Path, c) || found
	}
	if !found {
		return CodeNoWatcher
	}
	return CodeOK
}

// climbs tells whether checkWatches looks at the parents of a path, as from 3.6 to 3.8 (WatchManager.containsWatcher).
func (c Compat) climbs() bool { return !c.NoOps36 && !c.WatchModesApart }

// climbsOut tells whether the look at parents ends in an exception: they need a slash (PathParentIterator.next).
func (t *watchTable) climbsOut(path string) bool {
	if path == "" || path[0] == '/' {
		return false
	}
	return !strings.Contains(path, "/") || len(t.lists[path]) == 0 && t.recursive > 0
}

// checkWatches is what checkWatches asks of a table. From 3.6 to 3.8 a watch of any connection will do
// (WatchManager.containsWatcher), but none under the root's empty name (PathParentIterator).
func (c Compat) checkWatches() func(t *watchTable, path string, c *connection) bool {
	if !c.climbs() {
		return (*watchTable).has
	}
	return func(t *watchTable, path string, _ *connection) bool { return path != "" && len(t.lists[path]) > 0 }
}
