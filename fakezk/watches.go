package fakezk

import (
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
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

func (t *watchTable) reset() { t.lists, t.recursive = emptied(t.lists), 0 }

// arm adds a watch. An older one of the connection on the path is replaced.
func (t *watchTable) arm(path string, c *connection, mode watchModes) {
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

// watched reports whether any connection watches a path.
func (t *watchTable) watched(path string, _ *connection) bool {
	return path != "" && len(t.lists[path]) > 0
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

// arm registers a watch in one of the server's tables.
func (c *connection) arm(t *watchTable, path string, mode watchModes) {
	t.arm(path, c, mode)
}

// resumeWatches re-arms the watches of a reconnected client, or tells it at once what it has missed
// (DataTree.setWatches). These events are not filtered by ACL.
func (c *connection) resumeWatches(r *Request) {
	t := c.replica
	for _, path := range r.DataWatches {
		n := t.nodes[path]
		c.resumeWatch(&t.data, path, n, n != nil && n.mzxid > r.RelativeZxid, zk.EventNodeDataChanged)
	}
	for _, path := range r.ExistWatches {
		if t.nodes[path] != nil {
			c.sendEvent(zk.EventNodeCreated, path)
		} else {
			c.arm(&t.data, path, modeOneShot)
		}
	}
	for _, path := range r.ChildWatches {
		n := t.nodes[path]
		c.resumeWatch(&t.child, path, n, n != nil && n.pzxid > r.RelativeZxid, zk.EventNodeChildrenChanged)
	}
	if r.Op == wire.OpSetWatches2 {
		c.armBoth(r.PersistentWatches, modePersistent)
		c.armBoth(r.RecursiveWatches, modeRecursive)
	}
}

func (c *connection) resumeWatch(t *watchTable, path string, n *node, changed bool, event zk.EventType) {
	switch {
	case n == nil:
		c.sendEvent(zk.EventNodeDeleted, path)
	case changed:
		c.sendEvent(event, path)
	default:
		c.arm(t, path, modeOneShot)
	}
}

func (c *connection) armBoth(paths []string, mode watchModes) {
	for _, path := range paths {
		c.arm(&c.replica.data, path, mode)
		c.arm(&c.replica.child, path, mode)
	}
}

// Kinds of checkWatches and removeWatches (Watcher.WatcherType).
const (
	kindChildren = 1
	kindData     = 2
	kindAny      = 3
)

// matchWatches removes the connection's watches of a kind, or for checkWatches, which Java's client sends before it forgets
// one of several watchers, says whether anybody has such a watch (WatchManager.containsWatcher of 3.6 to 3.8).
func (c *connection) matchWatches(r *Request) wire.Code {
	if r.Kind < kindChildren || r.Kind > kindAny {
		return wire.CodeMarshalling
	}
	match := (*watchTable).disarm
	if r.Op == wire.OpCheckWatches {
		match = (*watchTable).watched
	}
	found := false
	if r.Kind != kindData {
		found = match(&c.replica.child, r.Path, c)
	}
	if r.Kind != kindChildren {
		found = match(&c.replica.data, r.Path, c) || found
	}
	if !found {
		return wire.CodeNoWatcher
	}
	return wire.CodeOK
}
