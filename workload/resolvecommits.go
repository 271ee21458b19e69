package workload

import (
	"bytes"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
)

// resolve collects what is known of operations of unknown outcome.
//
// A world that knows the servers' changes knows what became of a request whose reply was lost. That resolves the
// outcome of a removal, but only where no recipe could mean anything else by it: the item was in one znode only, from
// its creation until the operation deleted it. Nothing follows from the absence of a deletion, as a recipe may delete
// in the background, for no operation. Where changes are not known there may be a log of requests, see [resolveQueue].
func (e *queueEpisode) resolve(v *View) resolution {
	if made, known := v.commits(); known {
		return made.removals()
	}
	if seen, known := v.Requests(); known {
		return resolveQueue(e.Path, v.Ops, seen)
	}
	return nil
}

// doubtful: a take that was ended, as all that wait at an empty queue are, matters only if something is missing.
func (e *queueEpisode) doubtful(v *View) bool {
	return slices.ContainsFunc(v.Ops, func(op *sim.Op) bool {
		missing := op.Name == "offer" && op.Outcome == sim.OK && !e.returned(v, op.Arg)
		return missing || undecided(op) && !op.Cancelled
	})
}

// removals resolves the removals whose requests surely removed an item's znode.
func (c commits) removals() resolution {
	found, several := map[int64]string{}, map[int64]bool{}
	for _, op := range c.ops {
		if op.Name != "offer" || ambiguous(c.ops, op.Arg) {
			continue
		}
		by := soleRemover(c.all, []byte(op.Arg))
		several[by] = several[by] || found[by] != ""
		found[by] = op.Arg
	}
	s := resolution{}
	for _, op := range c.ops {
		value := found[op.Number]
		if value != "" && !several[op.Number] && removes(op) && undecided(op) && op.Result == "" {
			s[op.Number] = resolved{value: value, why: "its request removed the item's znode"}
		}
	}
	return s
}

func removes(op *sim.Op) bool {
	return linearizability.KindOf(op.Name).Role == linearizability.RoleRemoval
}

// ambiguous tells whether the value is also part of another's text.
func ambiguous(ops []*sim.Op, value string) bool {
	return slices.ContainsFunc(ops, func(op *sim.Op) bool {
		return op.Name == "offer" && op.Arg != value && strings.Contains(op.Arg, value)
	})
}

// soleRemover returns the operation that deleted the only znode that ever held the value; 0 if there
// were several, or it is there still, or no operation deleted it.
func soleRemover(changes []sim.Change, value []byte) (by int64) {
	var holder string
	for _, c := range changes {
		switch {
		case (c.Op == fakezk.OpCreate || c.Op == fakezk.OpSetData) && bytes.Contains(c.Data, value):
			if holder != "" {
				return 0
			}
			holder = c.Path
		case c.Path == holder && holder != "":
			if c.Op != fakezk.OpDelete {
				return 0
			}
			by = c.By
			holder = c.Path + "\x00" // whatever is made there later is another znode
		}
	}
	return by
}
