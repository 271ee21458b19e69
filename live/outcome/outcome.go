// Package outcome resolves unknown outcomes of operations on real servers, by what their users asked ZooKeeper for and
// the tree that was left.
//
// Where the servers' changes are not known, it is not known either what became of a request whose reply was lost. But
// every request that was sent is known, and the tree at the end of a round. Often the two leave one possibility. The
// rules below are used only where they hold for every recipe, whatever it does in the background. If a round contains
// anything that they do not cover, no outcome is resolved in it.
//
// All rules account for changes. Each change of the tree is ascribed to the handle, and so to the user, whose request
// made it: the only one that was sent for it and not refused. A change that an operation of outcome ok has reported is
// paid for. The changes that are left were made for operations that did not report them. Hence:
//
//   - No effect. If no change that is left can be an operation's, it had none. A request that is still on the way does
//     not matter: if it is carried out after the tree was read, that is after every operation of the history, which
//     cannot tell it from one that is never carried out.
//   - The effect. If of the changes that are left only one can be an operation's, and all requests for it were sent
//     after that operation began and before its user's next one did, it is its effect: the operation did this or
//     nothing else. An operation before it may have asked for it in the background: of that one nothing is resolved.
//
// A change can be an operation's if it was asked for through the handle of its user after the operation began.
// Suppose that it was meant by a later operation, for which the recipe had fetched something beforehand. Then the
// first rule may be wrong about the later one, and does no harm. An operation of unknown outcome takes effect at any
// time from its call on, so an order that explains the history with the later one explains it with the earlier one
// too, of which nothing wrong is said.
//
// The tree is read by a session that has written before, so that the server which answers has everything that was
// carried out before (ZooKeeper Programmer's Guide, "Consistency Guarantees": a client sees its own updates; all are
// ordered). A sync alone would not do while leaders change.
package outcome

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// rules are those of a kind of recipe.
type rules struct {
	resolve func(path string, ops []*world.Op, seen *Requests) map[int64]workload.Resolved
	// matters reports whether an unknown outcome could matter: not whether anything is unknown, but whether the history
	// could be explained in more than one way by that.
	matters func(ops []*world.Op) bool
}

// byKind are the kinds whose outcomes can be resolved.
var byKind = map[string]rules{
	"queue":         {resolveQueue, itemsMissing},
	"priorityqueue": {resolveQueue, itemsMissing},
	"counter":       {resolveCounter, func(ops []*world.Op) bool { return slices.ContainsFunc(ops, undecided) }},
}

// undecided reports whether the outcome of an operation that may change something is not known.
func undecided(op *world.Op) bool {
	return op.Outcome == world.Unknown || op.Outcome == world.Running
}

// open returns the operations of a sort whose outcomes are not known.
func open(ops []*world.Op, of func(*world.Op) bool) []*world.Op {
	return slices.DeleteFunc(slices.Clone(ops), func(op *world.Op) bool { return !undecided(op) || !of(op) })
}

// Requests is what was seen of a round from outside of ZooKeeper: all requests, and the tree after
// them. The log was copied when the tree had been read.
type Requests struct {
	rules rules
	path  string // the object's
	log   []logEntry
	tree  map[string]Znode
}

// Resolve returns what is known of operations on the object whose outcomes are unknown; nil of nil.
func (o *Requests) Resolve(ops []*world.Op) map[int64]workload.Resolved {
	if o == nil {
		return nil
	}
	return o.rules.resolve(o.path, ops, o)
}

// Znode is one as the tree holds it.
type Znode struct {
	Data string
	Stat zk.Stat
}

// requests are those of the log, by their places in it.
func (o *Requests) requests() iter.Seq2[int, *logEntry] {
	return func(yield func(int, *logEntry) bool) {
		for i := range o.log {
			if e := &o.log[i]; e.began == 0 && !yield(i, e) {
				return
			}
		}
	}
}

// paths lists the tree.
func (o *Requests) paths() []string { return slices.Sorted(maps.Keys(o.tree)) }

// effect is a change of the tree that no operation has reported.
type effect struct {
	arg   string // of the operation that has it; "": any
	value string // what that has returned
	by    []cause
	why   string
}

// cause is a request that may have made a change, or the beginning of an operation.
type cause struct {
	handle, at int   // through which handle, and where it is in the log
	during     int64 // the last operation that had begun there
}

// cause returns what the log has at a place as a cause.
func (o *Requests) cause(at int) cause {
	c := cause{handle: o.log[at].handle, at: at}
	for i := at; i >= 0 && c.during == 0; i-- {
		if o.log[i].handle == c.handle {
			c.during = o.log[i].began
		}
	}
	return c
}

// fits reports whether an operation can have had the effect, by what it is.
func (e *effect) fits(op *world.Op) bool {
	return (op.Result == "" || op.Result == e.value) && (e.arg == "" || e.arg == op.Arg)
}

// after reports whether it may have been asked for through the handle of an operation after it began.
func (e *effect) after(began cause) bool {
	return slices.ContainsFunc(e.by, func(c cause) bool { return c.handle == began.handle && c.at > began.at })
}

// during reports whether all that may have caused the effect was asked for while an operation was the
// last that had begun.
func (e *effect) during(op *world.Op) bool {
	return !slices.ContainsFunc(e.by, func(c cause) bool { return c.during != op.Number })
}

// ascribe resolves operations of unknown outcome by the effects that are left. Nothing is resolved if
// there is an effect that can be no operation's: then something has happened that the rules do not know.
func ascribe(o *Requests, ops []*world.Op, effects []effect) map[int64]workload.Resolved {
	began := o.beginnings()
	of, anybody := make([][]*effect, len(ops)), make([]bool, len(effects))
	for i, op := range ops {
		start, known := began[op.Number]
		if !known {
			return nil
		}
		for k := range effects {
			if x := &effects[k]; x.after(start) && x.fits(op) {
				of[i] = append(of[i], x)
				anybody[k] = true
			}
		}
	}
	if slices.Contains(anybody, false) {
		return nil
	}
	found := map[int64]workload.Resolved{}
	for i, op := range ops {
		switch {
		case len(of[i]) == 0:
			found[op.Number] = workload.Resolved{None: true, Why: noEffect}
		case len(of[i]) == 1 && of[i][0].during(op):
			found[op.Number] = workload.Resolved{Value: of[i][0].value, Why: "resolved: " + of[i][0].why}
		}
	}
	return found
}

const noEffect = "resolved: it had no effect: " +
	"all that its user's requests have changed is accounted for by other operations"

// beginnings returns where in the log operations began, by number.
func (o *Requests) beginnings() map[int64]cause {
	began := map[int64]cause{}
	for i := range o.log {
		if e := &o.log[i]; e.began != 0 {
			began[e.began] = o.cause(i)
		}
	}
	return began
}

// notes returns the paths that are written only together with a change of the object, in one transaction: notes of
// that change. They say nothing else, so nothing else can be lost with them. ok is false if one is also written by
// itself. change tells of a request whether it changes the object.
func (o *Requests) notes(change func(*logEntry) bool) (paths map[string]bool, ok bool) {
	bundles := map[int]bool{}
	for _, e := range o.requests() {
		if e.bundle != 0 && change(e) {
			bundles[e.bundle] = true
		}
	}
	paths = map[string]bool{}
	for _, e := range o.requests() {
		if e.kind != requestSet || change(e) {
			continue
		}
		switch {
		case bundles[e.bundle]:
			paths[e.path] = true
		case e.changes():
			return nil, false
		}
	}
	return paths, true
}

// blank reports whether a request only makes an empty place: the object's directory, or one above it, or
// that of a note. The latter must be ephemeral: what goes with its session is nowhere to keep that an
// item was taken or a number changed.
func blank(e *logEntry, object string, notes map[string]bool) bool {
	if e.kind != requestCreate || e.data != "" {
		return false
	}
	return above(e.path, object) || notes[e.path] && e.flags == zk.FlagEphemeral
}

// above reports whether a path is the object's or one above it.
func above(p, object string) bool {
	return p == object || p == "/" || strings.HasPrefix(object, p+"/")
}
