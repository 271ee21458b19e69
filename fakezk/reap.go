package fakezk

// reapMax is znode.container.maxPerMinute: how many nodes one look removes at most.
const reapMax = 10000

// reapLater schedules the next look at containers and TTL nodes at a multiple of the interval
// (server/ContainerManager.java).
func (e *Ensemble) reapLater(now int64) {
	if e.reapAt == 0 {
		e.reapAt = (now/e.cfg.ReapInterval + 1) * e.cfg.ReapInterval
	}
}

// reap removes empty containers and TTL nodes that were not modified for their TTL, each in a transaction of its own.
func (e *Ensemble) reap(now int64) {
	e.reapAt = 0
	for _, path := range e.reapable(now) {
		e.edits = append(e.edits[:0], edit{op: OpDelete, path: path})
		e.commit(transaction{time: now, edits: e.edits}, nil)
	}
	if len(e.leader().owned[0]) > 0 {
		e.reapLater(now)
	}
}

func (e *Ensemble) reapable(now int64) []string {
	var due []string
	for _, path := range e.leader().ownedBy(0) {
		if e.leader().nodes[path].due(now) && len(due) < reapMax {
			due = append(due, path)
		}
	}
	return due
}

// due tells whether a container or TTL node is to be removed. A container that never had a child is kept.
func (n *node) due(now int64) bool {
	if n.children.count > 0 {
		return false
	}
	if n.owner == ownerContainer {
		return n.created > 0
	}
	return now-n.mtime > n.owner&^ownerTTLMask
}
