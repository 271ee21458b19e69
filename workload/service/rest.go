package service

import (
	"math"
	"path"
	"slices"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Expiry is what an instance does when a session has expired by which it had ephemeral znodes, and it has been told.
type Expiry uint8

// What it may do. 0 says nothing.
const (
	_       Expiry = iota
	Dies           // Start returns
	Rejoins        // below the parent of each of them it has one again, unless it has deleted one there since
)

// settled is how long, without faults, a service needs at most for what it does about something.
const settled = calm / 2

// resting is the world of a service at rest.
type resting struct {
	*world.World
	present []*Instance
	starts  map[int64]*world.Op // the call of Start that has used a session first, as far as is known, by the session
}

// look finds what is wrong with what a service at rest follows and has in the servers: of each property the first.
func (e *episode) look(w *world.World) {
	r := resting{w, e.present, map[int64]*world.Op{}}
	calls := map[int64]*world.Op{} // of Start, by the number of an operation within
	for _, op := range w.Ops() {
		for _, start := range e.starts {
			if inOneLife(start, op) && start.Call <= op.Call {
				calls[op.Number] = start
			}
		}
	}
	for _, c := range w.Changes() {
		if start := calls[c.By]; start != nil && r.starts[c.Session] == nil {
			r.starts[c.Session] = start
		}
	}
	for _, found := range slices.Concat(r.outOfDate(calls), r.orphans(), r.notUndone(e.done), r.silentEnds(e.of.Expiry), r.missing(e.of.Registers)) {
		if !slices.ContainsFunc(e.found, func(v sim.Violation) bool { return v.Property == found.Property }) {
			e.found = append(e.found, found)
		}
	}
}

// hasSettled reports whether what happened at a stamp is so long ago that a service has done what it does about it.
func (r resting) hasSettled(stamp int64) bool {
	faultFree, _ := r.FaultFree(stamp, math.MaxInt64)
	return faultFree >= settled
}

// runs returns the instance of a call of Start, as it is now, and reports whether the call is under way.
func (r resting) runs(start *world.Op) (i *Instance, is bool) {
	i = r.present[start.Client]
	return i, i.starts == start && start.Outcome == world.Running
}

// outOfDate: what is followed is so by a call of Start that is under way.
func (r resting) outOfDate(calls map[int64]*world.Op) []sim.Violation {
	return slices.DeleteFunc(world.OutOfDate(r.World, settled), func(found sim.Violation) bool {
		if len(found.Ops) == 0 || calls[found.Ops[0].Number] == nil {
			return true
		}
		_, runs := r.runs(calls[found.Ops[0].Number])
		return !runs
	})
}

// orphans are ephemeral znodes of a process that lives, by a session of a call of Start that has returned.
func (r resting) orphans() (found []sim.Violation) {
	r.Servers().Walk("/", func(path string, n fakezk.NodeInfo) {
		start := r.starts[n.Stat.EphemeralOwner]
		if start == nil || start.Outcome == world.Running || !r.hasSettled(start.Return) {
			return
		}
		if _, crashed := r.Crash(start.Client, start.Incarnation); !crashed {
			found = append(found, sim.Violation{Property: "orphan", Ops: []*world.Op{start}}.Saying(
				"%s is still there, by %v, although %s's start, called at step %d, returned at step %d",
				world.Path(path), r.Owner(n.Stat.EphemeralOwner), workload.Who(start), world.StepOf(start.Call), world.StepOf(start.Return)))
		}
	})
	return found
}

// notUndone are ephemeral znodes that failed operations of processes that live have made.
func (r resting) notUndone(done []*world.Op) (found []sim.Violation) {
	for _, op := range done {
		if _, crashed := r.Crash(op.Client, op.Incarnation); crashed || op.Err == nil || !r.hasSettled(op.Return) {
			continue
		}
		for _, made := range op.Made {
			if n, there := r.Servers().Node(made.Path); there && n.Stat.Czxid == made.Zxid {
				found = append(found, sim.Violation{Property: "orphan", Ops: []*world.Op{op}}.Saying(
					"%s is still there, by %v, although %s's %s, which made it, failed at step %d with %q",
					world.Path(made.Path), r.Owner(made.Owner), workload.Who(op), op.Name, world.StepOf(op.Return), op.Err))
			}
		}
	}
	return found
}

// missing are instances that are ready and have no ephemeral znode, although no session has expired since their start.
func (r resting) missing(registers bool) (found []sim.Violation) {
	for _, i := range r.present {
		start := i.starts
		_, crashed := r.Crash(start.Client, start.Incarnation)
		told := world.StampOf(i.user.(observed).LastExpiryStep())
		if registers && !crashed && i.ready && start.Outcome == world.Running && told < start.Call && r.hasSettled(start.Call) && !r.hasBelow("/", start) {
			found = append(found, sim.Violation{Property: "missing", Ops: []*world.Op{start}}.Saying(
				"%s is ready since its start at step %d, no session of it has expired, and it has no ephemeral znode",
				workload.Who(start), world.StepOf(start.Call)))
		}
	}
	return found
}

// hasBelow reports whether the process of a call of Start has, or may have, an ephemeral znode below a path.
func (r resting) hasBelow(root string, start *world.Op) (has bool) {
	r.Servers().Walk(root, func(p string, n fakezk.NodeInfo) {
		owner := r.starts[n.Stat.EphemeralOwner]
		has = has || n.Stat.EphemeralOwner != 0 && (root == "/" || path.Dir(p) == root) && (owner == nil || inOneLife(owner, start))
	})
	return has
}

// silentEnds are ephemeral znodes that went with a session that expired, whose instance has been told and does not do what
// it is to do then.
func (r resting) silentEnds(does Expiry) (found []sim.Violation) {
	for _, c := range r.Changes() {
		start := r.starts[c.Owner]
		if c.Op != wire.OpDelete || c.Owner == 0 || c.Session != c.Owner || c.By != 0 || start == nil {
			continue
		}
		i, runs := r.runs(start)
		_, crashed := r.Crash(start.Client, start.Incarnation)
		told := world.StampOf(i.user.(observed).LastExpiryStep())
		if crashed || i.starts.Outcome != world.Running || told < world.StampOf(c.Step) || !r.hasSettled(max(told, i.starts.Call)) {
			continue
		}
		what := world.Say("%s has been told that session %v expired at step %d, with %s", workload.Who(start),
			world.SessionID(c.Owner), c.Step, world.Path(c.Path))
		switch {
		case does == Dies && runs:
			found = append(found, sim.Violation{Property: "silent-end", Ops: []*world.Op{start}}.Saying(
				"%v, and its start goes on, which was to return then", what))
		case does == Rejoins && !r.hasAgain(c, start):
			found = append(found, sim.Violation{Property: "silent-end", Ops: []*world.Op{i.starts}}.Saying(
				"%v, and it has not made another one in its place", what))
		}
	}
	return found
}

// hasAgain reports whether the process of a call of Start has, or may have, an ephemeral znode below the same parent as one
// that it has lost, or has deleted one there since.
func (r resting) hasAgain(lost world.Change, start *world.Op) bool {
	own := func(other *world.Op) bool { return other == nil || inOneLife(other, start) }
	return r.hasBelow(path.Dir(lost.Path), start) || slices.ContainsFunc(r.Changes(), func(c world.Change) bool {
		return c.Op == wire.OpDelete && c.By != 0 && c.Step >= lost.Step && c.Owner != 0 &&
			path.Dir(c.Path) == path.Dir(lost.Path) && own(r.starts[c.Session])
	})
}

// inOneLife reports whether two operations are of one life of a process.
func inOneLife(a, b *world.Op) bool { return a.Client == b.Client && a.Incarnation == b.Incarnation }

// observed is a user of a simulated world, who knows it.
type observed interface {
	World() *world.World
	LastExpiryStep() int
}
