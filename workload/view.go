package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
)

// view is what a judge knows of an episode: what the clients saw, and, in simulation, the truth.
type view struct {
	ops     []*sim.Op
	waiting []*sim.Op
	world   *sim.World // nil on real servers
	path    string     // the object's
	left    []liveNode // on real servers, when somebody waits for ever: what is there
	stale   []Watched  // on real servers, if they can be asked: watches on what does not exist
	seen    *observed  // on real servers, when an outcome is unknown: what can settle it
	values  bool       // a persistent znode may be the object itself
	notes   bool       // users may keep ephemeral znodes as long as their session lives: see notesOf
	faulty  bool       // faults struck, so that errors are to be expected
	// session tells until when a session was surely alive, if it has ended, and gone since when it surely
	// was no more, if that is known. In simulation these are the same moment.
	session func(id int64) (end int64, ended bool)
	gone    func(id int64) (since int64, known bool)
	life    func(client, life int) (end int64, ended bool)
}

func newView(w *sim.World, path string) *view {
	return &view{
		path: path,
		ops:  w.Ops(), waiting: w.Waiting(), world: w, faulty: w.Struck() > 0,
		session: w.SessionEnd, gone: w.SessionEnd, life: w.LifeEnd,
	}
}

// who names the user of an operation.
func who(op *sim.Op) string {
	name := fmt.Sprintf("c%d", op.Client+1)
	if op.User > 0 {
		name += fmt.Sprintf(" (user %d)", op.User+1)
	}
	return name
}

// at prints a stamp: a step in simulation, else seconds since the start.
func (v *view) at(stamp int64) string {
	if v.world == nil {
		return fmt.Sprintf("%.6f s", float64(stamp)/1e9)
	}
	return fmt.Sprintf("step %d", sim.StepOf(stamp))
}

// when prints when an operation was called and returned.
func (v *view) when(op *sim.Op) string {
	if op.Return == 0 {
		return v.at(op.Call)
	}
	if v.world == nil {
		return v.at(op.Call) + " to " + v.at(op.Return)
	}
	return fmt.Sprintf("steps %d to %d", sim.StepOf(op.Call), sim.StepOf(op.Return))
}

// history turns operations into a history; convert says what each contributes.
func (v *view) history(convert func(op *sim.Op, add func(linearizability.Operation))) linearizability.History {
	var h linearizability.History
	for _, op := range v.ops {
		convert(op, func(o linearizability.Operation) { h = append(h, o) })
	}
	return h
}

// base is the part of a history's operation that is the same for all kinds.
func base(v *view, op *sim.Op) linearizability.Operation {
	o := linearizability.Operation{
		Client: clientID(op), Op: op.Name, Call: op.Call, Return: op.Return,
		Outcome: outcomes[op.Outcome],
	}
	if op.Err != nil {
		o.Note = op.Err.Error()
	}
	if op.Outcome == sim.Unknown || op.Outcome == sim.Running {
		o.Return = linearizability.Forever
	}
	return o
}

var outcomes = map[sim.Outcome]linearizability.Outcome{
	sim.OK: linearizability.OK, sim.Fail: linearizability.Fail,
	sim.Unknown: linearizability.Unknown, sim.Running: linearizability.Unknown,
}

// clientID numbers users over all clients and lives.
func clientID(op *sim.Op) int { return op.Life*1000 + op.Client*10 + op.User }

// maker returns the operation that created a znode.
func (v *view) maker(path string) *sim.Op {
	_, maker := v.creation(path)
	return maker
}

// creation returns the last creation of a znode, and the operation that asked for it; nil if none did.
func (v *view) creation(path string) (made sim.Change, maker *sim.Op) {
	for _, c := range v.world.Changes() {
		if c.Op == fakezk.OpCreate && c.Path == path {
			made = c
		}
	}
	return made, v.numbered(made.By)
}

func (v *view) numbered(n int64) *sim.Op {
	if n == 0 {
		return nil
	}
	for _, op := range v.ops {
		if op.Number == n {
			return op
		}
	}
	return nil
}

// created returns the znodes that an operation created and that still exist, oldest first.
func (v *view) created(op *sim.Op) []string {
	var paths []string
	for _, c := range v.world.Changes() {
		if c.Op == fakezk.OpCreate && c.By == op.Number {
			if n, ok := v.world.Servers().Node(c.Path); ok && n.Stat.Czxid == c.Zxid {
				paths = append(paths, c.Path)
			}
		}
	}
	return paths
}

func parentOf(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 1)]
}

// errorsOf reports operations that failed with an error that nothing explains.
func (v *view) errorsOf(tolerated func(op *sim.Op) bool) []sim.Violation {
	for _, op := range v.ops {
		if op.Err == nil || op.Cancelled || tolerated(op) {
			continue
		}
		if surprising(op.Err) {
			return []sim.Violation{{Property: "unexpected-error", Ops: []*sim.Op{op}, Message: fmt.Sprintf(
				"%s's %s(%s) at %s failed with %q, an answer that the recipe itself has to deal with",
				who(op), op.Name, op.Arg, v.when(op), op.Err)}}
		}
		if !v.faulty {
			return []sim.Violation{{Property: "unexpected-error", Ops: []*sim.Op{op}, Message: fmt.Sprintf(
				"%s's %s(%s) at %s failed with %q although no fault had struck", who(op), op.Name, op.Arg, v.when(op), op.Err)}}
		}
	}
	return nil
}

// leaks reports what is left in the tree after everybody has finished.
func (v *view) leaks() []sim.Violation {
	switch {
	case len(v.waiting) > 0:
		return nil
	case v.world == nil:
		return v.staleWatches()
	}
	return append(v.leftNodes(), v.leftWatches()...)
}

// leftNodes finds ephemerals that a finished operation of a living session left behind, and
// persistent znodes that are litter.
func (v *view) leftNodes() (found []sim.Violation) {
	notes := map[int64]int{} // by session
	v.world.Servers().Walk("/", func(path string, n fakezk.NodeInfo) {
		made, maker := v.creation(path)
		if maker == nil || len(found) > 0 {
			return
		}
		switch {
		case made.Owner != 0 && v.notes && notes[made.Owner] < v.notesOf(maker.Client):
			notes[made.Owner]++
		case made.Owner != 0:
			found = append(found, sim.Violation{Property: "orphan", Ops: []*sim.Op{maker}, Message: fmt.Sprintf(
				"znode %s, made by %s's %s at %s, is still there although that operation is over and its %s is alive",
				path, who(maker), maker.Name, v.when(maker), v.world.Owner(n.Stat.EphemeralOwner))})
		case len(n.Children) == 0 && !v.values && v.litter(made, maker):
			found = append(found, sim.Violation{Property: "leak", Ops: []*sim.Op{maker}, Message: fmt.Sprintf(
				"znode %s, made by %s's %s at %s, was left behind", path, who(maker), maker.Name, v.when(maker))})
		}
	})
	return found
}

// litter tells whether a persistent znode without children can only be what an operation that is over has left: its
// name says that it is that operation's alone, or nobody has any use for it. What a recipe makes once for all, its
// directories, numbers and flags, is no litter, and what a process has left that died cannot be tidied up by it.
func (v *view) litter(made sim.Change, maker *sim.Op) bool {
	name := made.Path[strings.LastIndexByte(made.Path, '/')+1:]
	n, _ := v.world.Servers().Node(made.Path)
	switch {
	case maker.Return == 0 || made.Path == v.path || n.Stat.EphemeralOwner != 0 || v.world.HadChildren(made.Path):
		return false // the last but one: the servers tidy up containers and what has a time to live
	case made.Sequential || v.world.Identified(name):
		return true
	}
	return maker.Outcome == sim.OK && len(made.Data) == 0 && v.world.Unused(made.Path) && !v.besideOthers(made)
}

// besideOthers tells whether a znode stands beside directories that were used: a recipe with several need not use all.
func (v *view) besideOthers(made sim.Change) bool {
	return slices.ContainsFunc(v.world.Changes(), func(c sim.Change) bool {
		return c.Op == fakezk.OpCreate && c.Path != made.Path && parentOf(c.Path) == parentOf(made.Path) && v.world.HadChildren(c.Path)
	})
}

// notesOf is how many notes a client may keep: one for each user, and one for each operation that has failed, as nobody can
// be asked to tidy up what may not be there.
func (v *view) notesOf(client int) int {
	users, failed := map[int]bool{}, 0
	for _, op := range v.ops {
		if op.Client != client {
			continue
		}
		users[op.User] = true
		if op.Outcome != sim.OK {
			failed++
		}
	}
	return len(users) + failed
}

// staleWatches reports what real servers say that clients watch for ever.
func (v *view) staleWatches() (found []sim.Violation) {
	for _, watch := range v.stale {
		found = append(found, sim.Violation{Property: "watch-leak", Message: fmt.Sprintf(
			"a watch on %s, which does not exist, is left with session 0x%x", watch.Path, watch.Session)})
	}
	return found
}

// leftWatches finds watches that wait for the creation of a znode that nobody will create again.
func (v *view) leftWatches() []sim.Violation {
	for _, watch := range v.world.Servers().Watches() {
		if _, ok := v.world.Servers().Node(watch.Path); !ok {
			return []sim.Violation{{Property: "watch-leak", Message: fmt.Sprintf(
				"a watch on %s, which does not exist, is left with %s", watch.Path, v.world.Owner(watch.Session))}}
		}
	}
	return nil
}
