package fakezk

import (
	"fmt"
	"slices"
)

// CheckInvariants returns how the ensemble breaks one of the invariants that its types state.
func (e *Ensemble) CheckInvariants() error {
	for i, r := range e.cluster.replicas {
		if err := r.checkTree(); err != nil {
			return fmt.Errorf("replica %d: %w", i, err)
		}
		if err := r.checkWatches(); err != nil {
			return fmt.Errorf("replica %d: %w", i, err)
		}
	}
	if len(e.proposer.pending) != 0 {
		return fmt.Errorf("%d records of a multi are left", len(e.proposer.pending))
	}
	return e.cluster.check()
}

func (s *siblings) check() error {
	list := slices.Collect(s.all())
	if !slices.IsSortedFunc(list, compareOrder) || len(list) != s.count {
		return fmt.Errorf("%d of %d, in order: %v", len(list), s.count, slices.IsSortedFunc(list, compareOrder))
	}
	for i, block := range s.blocks {
		if len(block) > blockMax || len(block) == 0 && len(s.blocks) > 1 {
			return fmt.Errorf("block %d has %d of them", i, len(block))
		}
	}
	return nil
}

func (t *tree) checkTree() error {
	owned := 0
	for path, n := range t.nodes {
		if path != n.path && path != "" {
			return fmt.Errorf("%s is stored as %s", n.path, path)
		}
		if n != t.root && (n.parent != t.nodes[parentOf(path)] || !slices.Contains(slices.Collect(n.parent.children.all()), n)) {
			return fmt.Errorf("%s is not linked to its parent", path)
		}
		if err := n.children.check(); err != nil {
			return fmt.Errorf("the children of %s: %w", path, err)
		}
		if n.owner != 0 {
			owned++
			if list := t.owned[ownerKey(n.owner)]; n.slot >= len(list) || list[n.slot] != n {
				return fmt.Errorf("%s is not with its owner", path)
			}
		}
	}
	for _, list := range t.owned {
		owned -= len(list)
	}
	if owned != 0 || len(t.nodes) != int(t.root.descendants())+2 {
		return fmt.Errorf("%d nodes are owned and not listed; %d paths for %d nodes", owned, len(t.nodes),
			t.root.descendants())
	}
	return nil
}

func (r *replica) checkWatches() error {
	count := map[*connection]int{}
	for _, t := range []*watchTable{&r.data, &r.child} {
		recursive := 0
		for path, list := range t.lists {
			if len(list) == 0 {
				return fmt.Errorf("an empty list of watches on %s", path)
			}
			for _, w := range list {
				count[w.c]++
				recursive += int(w.modes & modeRecursive / modeRecursive)
			}
		}
		if recursive != t.recursive {
			return fmt.Errorf("%d recursive watches, %d counted", recursive, t.recursive)
		}
	}
	for _, c := range r.connections {
		if !c.open || c.watches != count[c] || c.replica != r {
			return fmt.Errorf("connection %d: open %t, %d watches, %d counted", c.id, c.open, count[c], c.watches)
		}
		delete(count, c)
	}
	if len(count) > 0 {
		return fmt.Errorf("%d closed connections have watches", len(count))
	}
	return nil
}

const (
	LogMax   = logMax
	QueueMax = queueMax
)

// Password is the password of a session.
func Password(session int64) []byte { return password(session) }

// ReplicaZxid is the last transaction that a replica has applied.
func (e *Ensemble) ReplicaZxid(replica int) int64 { return e.cluster.replicas[replica].zxid }

// NodeAt is Node on any replica, which may be behind.
func (e *Ensemble) NodeAt(replica int, path string) (NodeInfo, bool) {
	n := e.cluster.replicas[replica].nodes[path]
	if n == nil {
		return NodeInfo{}, false
	}
	return n.info(), true
}

// WalkAt is Walk on any replica, which may be behind.
func (e *Ensemble) WalkAt(replica int, root string, f func(path string, n NodeInfo)) {
	e.cluster.replicas[replica].nodes[root].walk(f)
}

// WatchesOn lists the watches of all kinds that are armed on exactly this path.
func (e *Ensemble) WatchesOn(path string) []WatchInfo {
	return slices.DeleteFunc(e.AllWatches(), func(w WatchInfo) bool { return w.Path != path })
}

// descendants counts the nodes below n.
func (n *node) descendants() int32 {
	count := int32(n.children.count)
	for child := range n.children.all() {
		count += child.descendants()
	}
	return count
}
