package workload

import (
	"bytes"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/sim/world"
)

// resolved is the item that a removal of unknown outcome has surely removed; "" if that is not known.
type resolved string

// apply puts the item into the history's operation, whose outcome stays unknown, because its caller was not told.
func (known resolved) apply(o *linearizability.Operation, value func(string) linearizability.Value) {
	if known == "" {
		return
	}
	o.Note = strings.TrimPrefix(o.Note+"; its request removed the item's znode", "; ")
	o.Result = value(string(known))
}

// resolve collects what is known of operations of unknown outcome.
//
// A world that knows the servers' changes knows what became of a request whose reply was lost. That resolves the
// outcome of a removal, but only where no recipe could mean anything else by it: the item was in one znode only, from
// its creation until the operation deleted it. Nothing follows from the absence of a deletion, as a recipe may delete
// in the background, for no operation.
func (e *queueEpisode) resolve(v *View) map[int64]resolved {
	if made, known := v.commits(); known {
		return made.removals()
	}
	return nil
}

// removals resolves the removals whose requests surely removed an item's znode.
func (c commits) removals() map[int64]resolved {
	if !slices.ContainsFunc(c.ops, unresolved) {
		return nil
	}
	found, several := map[int64]string{}, map[int64]bool{}
	for _, op := range c.ops {
		if op.Name != "offer" || ambiguous(c.ops, op.Arg) {
			continue
		}
		by := soleRemover(c.all, []byte(op.Arg))
		several[by] = several[by] || found[by] != ""
		found[by] = op.Arg
	}
	s := map[int64]resolved{}
	for _, op := range c.ops {
		value := found[op.Number]
		if value != "" && !several[op.Number] && unresolved(op) {
			s[op.Number] = resolved(value)
		}
	}
	return s
}

// undecided reports whether the outcome of an operation that may change something is not known.
func undecided(op *world.Op) bool { return op.Outcome == world.Unknown || op.Outcome == world.Running }

// unresolved reports whether it is not known what a removal has removed.
func unresolved(op *world.Op) bool { return removes(op) && undecided(op) && op.Result == "" }

func removes(op *world.Op) bool { return operations.Of(op.Name).Role == operations.Removal }

// ambiguous reports whether the value is also part of another's text.
func ambiguous(ops []*world.Op, value string) bool {
	return slices.ContainsFunc(ops, func(op *world.Op) bool {
		return op.Name == "offer" && op.Arg != value && strings.Contains(op.Arg, value)
	})
}

// soleRemover returns the operation that deleted the only znode that ever held the value; 0 if there
// were several, or it is there still, or no operation deleted it.
func soleRemover(changes []world.Change, value []byte) (by int64) {
	var holder string
	for _, c := range changes {
		switch {
		case (c.Op == wire.OpCreate || c.Op == wire.OpSetData) && bytes.Contains(c.Data, value):
			if holder != "" {
				return 0
			}
			holder = c.Path
		case c.Path == holder && holder != "":
			if c.Op != wire.OpDelete {
				return 0
			}
			by = c.By
			holder = c.Path + "\x00" // whatever is made there later is another znode
		}
	}
	return by
}
