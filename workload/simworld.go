package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// simWorld is the simulated world, in which everything is known.
type simWorld struct {
	*world.World
	path string // the object's
}

func newView(w *world.World, path string) *View {
	return &View{World: simWorld{w, path}, Ops: w.Ops(), Waiting: w.Waiting(), Left: Leftovers{Path: path}}
}

func (w simWorld) Faulty() bool { return w.Struck() > 0 }

func (w simWorld) Moment(stamp int64) string { return fmt.Sprintf("step %d", world.StepOf(stamp)) }

func (w simWorld) Span(from, to int64) string {
	return fmt.Sprintf("steps %d to %d", world.StepOf(from), world.StepOf(to))
}

func (w simWorld) SessionGone(session int64) (since int64, known bool) { return w.SessionEnd(session) }

func (w simWorld) Beliefs() (known bool) { return true }

// Changes are not known in full where two users of one *zk.Conn have sent requests that could be either's.
func (w simWorld) Changes() (all []world.Change, known bool) {
	return w.World.Changes(), w.Attributed()
}

func (w simWorld) commits(ops []*world.Op) commits { return commits{w.World.Changes(), ops} }

func (w simWorld) Remains(op *world.Op) bool { return len(w.created(op)) > 0 }

// created returns the znodes that an operation created and that still exist, oldest first.
func (w simWorld) created(op *world.Op) []string {
	var paths []string
	all := w.World.Changes()
	for i := range all {
		if c := &all[i]; c.Op == wire.OpCreate && c.By == op.Number {
			if w.Servers().Czxid(c.Path) == c.Zxid {
				paths = append(paths, c.Path)
			}
		}
	}
	return paths
}

func (w simWorld) Blocked(op *world.Op, noun string) sim.Violation {
	found := sim.Violation{Property: "progress", Ops: []*world.Op{op}}
	own := w.created(op)
	switch {
	case len(own) == 0 && !w.Attributed():
		return found.Saying("%v", w.Explain(op))
	case len(own) == 0:
		return found.Saying("%v; it has no znode in the queue", w.Explain(op))
	}
	before := w.before(own[len(own)-1])
	if other, maker := w.heldElsewhere(op, parentOf(own[len(own)-1])); len(before) == 0 && maker != nil {
		found.Property, found.Ops = "orphan", append(found.Ops, maker)
		return found.Saying("%v; its own %s is first in its queue, but %s, made by %s, which is over, is still there",
			w.Explain(op), world.Path(own[len(own)-1]), world.Path(other), w.call(maker))
	}
	if other := w.outside(parentOf(own[len(own)-1])); len(before) == 0 && other != "" {
		n, _ := w.Servers().Node(other)
		return found.Saying("%v; its own %s is first in its queue, but %s of %v is still there, too",
			w.Explain(op), world.Path(own[len(own)-1]), world.Path(other), w.Owner(n.Stat.EphemeralOwner))
	}
	if len(before) == 0 {
		found.Property = "lost-wakeup"
		return found.Saying("%v; its own %s is first in the queue, so %s is free and nothing will ever wake it",
			w.Explain(op), world.Path(own[len(own)-1]), noun)
	}
	return w.blockedBy(op, own[len(own)-1], before[len(before)-1], found)
}

// heldElsewhere returns an ephemeral znode that a waiting operation watches, by itself or with its directory, but
// outside of its queue, and the operation that made it, which is over and not a grant whose user waits for something
// else. What the one waits for is not free then.
func (w simWorld) heldElsewhere(op *world.Op, queue string) (path string, maker *world.Op) {
	path, maker, _ = w.abandoned(w.Ops(), "/", func(path string, by *world.Op) bool {
		user := func(o *world.Op) bool { return clientID(o) == clientID(by) }
		watched := slices.ContainsFunc(w.Servers().Watches(), func(watch fakezk.WatchInfo) bool {
			return watch.Session == op.Session() && (watch.Path == path || watch.Path == parentOf(path))
		})
		holds := by.Data != nil && slices.ContainsFunc(w.Waiting(), user)
		return parentOf(path) == queue || holds || !watched
	})
	return path, maker
}

// outside returns an ephemeral znode of the object's that is not in a queue; "" if there is none. The queue may be an inner
// lock's, and who has that znode what is waited for.
func (w simWorld) outside(queue string) (path string) {
	w.Servers().Walk(w.path, func(p string, n fakezk.NodeInfo) {
		if n.Stat.EphemeralOwner != 0 && parentOf(p) != queue {
			path = p
		}
	})
	return path
}

func (w simWorld) blockedBy(op *world.Op, own, other string, found sim.Violation) sim.Violation {
	maker := w.commits(w.Ops()).maker(other)
	n, _ := w.Servers().Node(other)
	holder := w.Owner(n.Stat.EphemeralOwner)
	switch {
	case maker == nil:
		return found.Saying("%v behind %s of %v", w.Explain(op), world.Path(other), holder)
	case maker == op:
		found.Property = "self-block"
		return found.Saying("%s waits with %s behind %s, which it made itself (%v)",
			Who(op), world.Path(own), world.Path(other), holder)
	case slices.Contains(w.Waiting(), maker):
		return sim.Violation{}
	}
	found.Property = "orphan"
	found.Ops = append(found.Ops, maker)
	return found.Saying("%s waits with %s behind %s of %v, whose %s at %s is over, "+
		"and it is still there",
		Who(op), world.Path(own), world.Path(other), holder, maker.Name, (&View{World: w}).When(maker))
}

func (w simWorld) call(op *world.Op) string { return (&View{World: w}).call(op) }

// before lists the znodes beside a path that were created before it, oldest first.
func (w simWorld) before(path string) []string {
	type sibling struct {
		path string
		zxid int64
	}
	self, _ := w.Servers().Node(path)
	var older []sibling
	parent := parentOf(path)
	w.Servers().Walk(parent, func(p string, n fakezk.NodeInfo) {
		if p != parent && parentOf(p) == parent && n.Stat.Czxid < self.Stat.Czxid {
			older = append(older, sibling{p, n.Stat.Czxid})
		}
	})
	slices.SortFunc(older, func(a, b sibling) int { return cmp.Compare(a.zxid, b.zxid) })
	paths := make([]string, len(older))
	for i := range older {
		paths[i] = older[i].path
	}
	return paths
}

// Abandoned returns an ephemeral znode below a path that belongs to no operation under way, and the operation that made
// it; nil if there is none.
func (w simWorld) Abandoned(
	ops []*world.Op, below string, inUse func(maker *world.Op) bool,
) (path string, maker *world.Op, known bool) {
	return w.abandoned(ops, below, func(_ string, by *world.Op) bool { return inUse(by) })
}

func (w simWorld) abandoned(
	ops []*world.Op, below string, inUse func(path string, maker *world.Op) bool,
) (path string, maker *world.Op, known bool) {
	made := w.commits(ops)
	w.Servers().Walk(below, func(p string, n fakezk.NodeInfo) {
		if by := made.maker(p); by != nil && n.Stat.EphemeralOwner != 0 && by.Outcome != world.Running && !inUse(p, by) {
			path, maker = p, by
		}
	})
	return path, maker, w.Attributed()
}

func (w simWorld) LeftBehind(of []*world.Op, allowed Leftovers) []sim.Violation {
	return append(w.leftNodes(of, allowed), w.leftWatches()...)
}

// leftNodes finds ephemerals that a finished operation of a living session left behind, and leaks.
func (w simWorld) leftNodes(of []*world.Op, allowed Leftovers) (found []sim.Violation) {
	all := w.commits(of)
	if !slices.ContainsFunc(all.all, func(c world.Change) bool { return w.stays(c) && !allowed.Interlude(c.Path) }) {
		return nil
	}
	notes := map[int64]int{} // by session
	var own []leftover
	kept := map[string]int{} // by sort and session
	w.Servers().Walk("/", func(path string, n fakezk.NodeInfo) {
		made, maker := all.creation(path)
		if maker == nil || len(found) > 0 || allowed.Interlude(path) {
			return
		}
		switch {
		case made.Owner != 0 && allowed.Notes && notes[made.Owner] < allowed.NotesOf(of, maker.Client):
			notes[made.Owner]++
		case made.Owner != 0 && w.keeps(path, made.Owner, kept) <= allowed.NotesOf(of, maker.Client)+w.Struck():
		case made.Owner != 0:
			found = append(found, w.orphaned(path, maker, n.Stat.EphemeralOwner))
		case !allowed.Values && (made.Sequential || w.Identified(path[strings.LastIndexByte(path, '/')+1:])):
			own = append(own, leftover{path, maker})
		}
	})
	if len(found) == 0 {
		found = w.leaks(of, own)
	}
	return found
}

// leftover is a persistent znode of one call's own, as its name says, that is still there.
type leftover struct {
	path  string
	maker *world.Op
}

// leaks finds two leftovers of calls of one operation by one user, in one directory, that such a call has left there
// that no fault disturbed: the later of the two or another one. So there may be one for each user for as long as it
// likes, such as a directory; and any number for the next comer to remove.
func (w simWorld) leaks(ops []*world.Op, own []leftover) []sim.Violation {
	for i, x := range own {
		for _, y := range own[:i] {
			if x.maker == y.maker || !alike(x.maker, y.maker) || parentOf(x.path) != parentOf(y.path) {
				continue
			}
			since := max(x.maker.Call, y.maker.Call)
			if slices.ContainsFunc(ops, func(op *world.Op) bool {
				return alike(op, x.maker) && op.Outcome == world.OK && op.Call >= since && w.Undisturbed(op.Call)
			}) {
				return []sim.Violation{sim.Violation{Property: "leak", Ops: []*world.Op{y.maker, x.maker}}.Saying(
					"%s, made by %s, and %s, made by %s, were left behind",
					world.Path(y.path), w.call(y.maker), world.Path(x.path), w.call(x.maker))}
			}
		}
	}
	return nil
}

// alike reports whether two calls are of one operation, by one user in one session.
func alike(a, b *world.Op) bool {
	return a.Name == b.Name && clientID(a) == clientID(b) && a.SessionAt == b.SessionAt
}

// keeps counts an ephemeral znode of a session that may be one which its client keeps, such as a note that it lives:
// nobody has ever asked for the removal of one of its own like it. It returns how many of that sort the session has; of
// others too many.
func (w simWorld) keeps(path string, session int64, kept map[string]int) int {
	if w.removesLike(path) {
		return math.MaxInt
	}
	key := fmt.Sprint(session, sortOf(path))
	kept[key]++
	return kept[key]
}

// removesLike reports whether a client has asked for the removal of an ephemeral znode of its own
// like the one at a path.
func (w simWorld) removesLike(path string) bool {
	sort := sortOf(path)
	return slices.ContainsFunc(w.Removals(), func(r world.Removal) bool { return sortOf(r.Path) == sort })
}

func (w simWorld) orphaned(path string, maker *world.Op, owner int64) sim.Violation {
	return sim.Violation{Property: "orphan", Ops: []*world.Op{maker}}.Saying(
		"znode %s was left behind: it was created by %s, which is over, and its %v lives on, so others will wait for it",
		world.Path(path), w.call(maker), w.Owner(owner))
}

// stays reports whether a change is the creation of a znode that is still there.
func (w simWorld) stays(c world.Change) bool {
	return c.Op == wire.OpCreate && c.By != 0 && w.Servers().Czxid(c.Path) == c.Zxid
}

// leftWatches finds watches on znodes that do not exist which are litter: on a name that never comes again, or several by
// which one user waits for the same. One watch on what a recipe follows is none: no client of Go's can take it back.
func (w simWorld) leftWatches() []sim.Violation {
	for _, watch := range w.Servers().Watches() {
		found := sim.Violation{Property: "watch-leak"}
		if _, ok := w.Servers().Node(watch.Path); ok {
			continue
		}
		if w.neverAgain(watch.Path) {
			return []sim.Violation{found.Saying("a watch on %s, which does not exist, is left with %v",
				world.Path(watch.Path), w.Owner(watch.Session))}
		}
		if n := w.mostWatches(watch.Session, watch.Path); n > 1 {
			return []sim.Violation{found.Saying("%d watches on %s, which does not exist, are left with %v",
				n, world.Path(watch.Path), w.Owner(watch.Session))}
		}
	}
	return nil
}

// mostWatches is how often one user at most waits for a path by a session, not counting as many as it has calls that failed:
// those could not take their watches back.
func (w simWorld) mostWatches(session int64, path string) (most int) {
	n := map[int]int{} // by user
	for _, watcher := range w.Watchers(session, path) {
		n[watcher.User]++
	}
	for _, op := range w.Ops() {
		if op.Outcome != world.OK && op.Session() == session {
			n[op.User]--
		}
	}
	for _, times := range n {
		most = max(most, times)
	}
	return most
}

// neverAgain reports whether no znode will have a name any more: the servers have numbered one of that name, it bears an
// identity, or it is that of a numbered one with another number of zeros before its number.
func (w simWorld) neverAgain(path string) bool {
	stem, number := numbered(path)
	return w.Identified(path[strings.LastIndexByte(path, '/')+1:]) || slices.ContainsFunc(w.World.Changes(), func(c world.Change) bool {
		_, given := numbered(c.Path)
		return c.Op == wire.OpCreate && c.Sequential && parentOf(c.Path) == parentOf(path) &&
			(c.Path == path || given == number && strings.HasPrefix(c.Path, stem))
	})
}

// numbered splits a path before its last number; -1 is none.
func numbered(path string) (stem string, number int) {
	stem = strings.TrimRight(path, "0123456789")
	number, err := strconv.Atoi(path[len(stem):])
	if err != nil {
		return stem, -1
	}
	return stem, number
}
