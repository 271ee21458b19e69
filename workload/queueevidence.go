package workload

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim"
)

// removals are the items whose znodes were surely removed on behalf of an operation, by its number.
//
// The fake knows what became of a request whose reply was lost. What it knows settles the outcome of
// a removal, though only where no recipe could mean anything else by it: the item was in one znode
// only, from its creation until the operation deleted it. Nothing follows from the absence of a
// deletion, as a recipe may delete in the background, on behalf of nobody.
type removals map[int64]string

// evidence collects what the servers know of removals; nothing of real servers.
func (e *queueEpisode) evidence(v *view) removals {
	if v.world == nil {
		return nil
	}
	found, several := removals{}, map[int64]bool{}
	for _, op := range v.ops {
		if op.Name != "offer" || ambiguous(v.ops, op.Arg) {
			continue
		}
		by := soleRemover(v.world.Changes(), []byte(op.Arg))
		several[by] = several[by] || found[by] != ""
		found[by] = op.Arg
	}
	maps.DeleteFunc(found, func(by int64, _ string) bool { return by == 0 || several[by] })
	return found
}

// ambiguous tells whether the value is also part of another's text.
func ambiguous(ops []*sim.Op, value string) bool {
	return slices.ContainsFunc(ops, func(op *sim.Op) bool {
		return op.Name == "offer" && op.Arg != value && strings.Contains(op.Arg, value)
	})
}

// soleRemover returns the operation that deleted the only znode that ever held the value; 0 if there
// were several, or it is there still, or nobody's operation deleted it.
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

// removedBy returns the item that an operation of unknown outcome removed, if that is known.
func (r removals) removedBy(op *sim.Op) string {
	if op.Name != "poll" && op.Name != "take" || op.Outcome != sim.Unknown && op.Outcome != sim.Running {
		return ""
	}
	return r[op.Number]
}
