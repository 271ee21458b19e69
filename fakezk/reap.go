package fakezk

import "github.com/zktorture/zktorture/fakezk/wire"

// reapMax is znode.container.maxPerMinute: how many nodes one look removes at most.
const reapMax = 10000

// reaper is when containers and TTL nodes are looked at.
type reaper struct{ at int64 } // 0: there are none

// later schedules the next look at a multiple of the interval (server/ContainerManager.java).
func (r *reaper) later(now, interval int64) {
	if r.at == 0 {
		r.at = (now/interval + 1) * interval
	}
}

// reap removes empty containers and TTL nodes that were not modified for their TTL, each in a transaction of its own.
func (e *Ensemble) reap(now int64) {
	e.reaper.at = 0
	for _, path := range e.cluster.leader().reapable(now) {
		e.commitOne(transaction{time: now}, edit{op: wire.OpDelete, path: path})
	}
	if len(e.cluster.leader().owned[0]) > 0 {
		e.reaper.later(now, e.cfg.ReapInterval)
	}
}

func (t *tree) reapable(now int64) (due []string) {
	for _, path := range t.ownedBy(0) {
		if t.nodes[path].due(now) && len(due) < reapMax {
			due = append(due, path)
		}
	}
	return due
}

// due reports whether a container or TTL node is to be removed. A container that never had a child is kept.
func (n *node) due(now int64) bool {
	if n.children.count > 0 {
		return false
	}
	if n.owner == ownerContainer {
		return n.created > 0
	}
	return now-n.mtime > n.owner&^ownerTTLMask
}
