package world

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// What a workload may ask of the world when it judges.

// Servers is the fake ensemble: the truth about znodes, sessions and watches.
func (w *World) Servers() *fakezk.Ensemble { return w.servers }

// Ops returns all operations in the order of their calls.
func (w *World) Ops() []*Op {
	slices.SortStableFunc(w.ops, func(a, b *Op) int { return cmp.Compare(a.Call, b.Call) })
	return w.ops
}

// Changes returns what was committed, in order.
func (w *World) Changes() []Change { return w.changes }

// Removals are what clients have asked for of their own ephemeral znodes' removal, carried out or not, in order.
func (w *World) Removals() []Removal { return w.removals }

// Attributed reports whether it is known of every change which operation asked for it. Over the wire it may not be: of
// two users who share a *zk.Conn a request is the one's whom the world had woken, if it was one and not both, as after
// a loss of their connection.
func (w *World) Attributed() bool { return !w.nobodys }

// Herds returns the deletions whose event concerned waiting operations. They are known if it is known whose these are.
func (w *World) Herds() (all []Herd, known bool) { return w.herd, w.Attributed() }

// Now returns the stamp of this moment: after everything that has happened.
func (w *World) Now() int64 { return StampOf(w.step + 1) }

// Waiting returns the operations of living processes that have not returned.
func (w *World) Waiting() []*Op {
	var waiting []*Op
	for _, p := range w.procs {
		for _, u := range p.users {
			if !p.crashed {
				waiting = slices.AppendSeq(waiting, u.underWay)
			}
		}
	}
	return waiting
}

// Explain says in a sentence what a waiting operation waits for: a mutex, and who holds it, or its armed watches and
// whether they can fire.
func (w *World) Explain(op *Op) Sentence {
	text := Say("c%d waits forever in %s", op.Client+1, op.Name)
	if StepOf(op.Call) > 0 {
		text = Say("%v (called at step %d)", text, StepOf(op.Call))
	}
	if behind := behindMutex(w, op.user); behind != "" {
		return Say("%v: it %s", text, behind)
	}
	watches := armed(w, op)
	if len(watches) == 0 {
		return Say("%v, and no watch of its session is armed that could wake it", text)
	}
	before := ": "
	for _, watch := range watches {
		text, before = Say("%v%s%v", text, before, watch), "; "
	}
	return text
}

// armed says of each watch of an operation's session on what it is.
func armed(w *World, op *Op) (out []Sentence) {
	for _, watch := range waitOf(w, op).Watches {
		switch {
		case !watch.Exists:
			out = append(out, Say("it watches %s, which does not exist", Path(watch.Path)))
		case watch.Owner != 0:
			out = append(out, Say("it watches %s, owned by %v", Path(watch.Path), w.Owner(watch.Owner)))
		default:
			out = append(out, Say("it watches %s", Path(watch.Path)))
		}
	}
	return out
}

// Owner describes a session: whose it is, and whether it lives.
func (w *World) Owner(session int64) Sentence {
	text := Say("session %v", SessionID(session))
	if c := slices.IndexFunc(w.procs, func(p *process) bool { return p.has(session) }); c >= 0 {
		text = Say("%v of c%d", text, c+1)
	}
	if step, dead := w.deaths[session]; dead {
		text = Say("%v, which ended at step %d", text, step)
	}
	return text
}

// Struck returns how many faults have struck so far.
func (w *World) Struck() (n int) {
	for _, k := range w.struck {
		n += k
	}
	return n
}

// SessionEnd returns the stamp of a session's end at the servers, and false if it lives.
func (w *World) SessionEnd(session int64) (stamp int64, ended bool) {
	step, ok := w.deaths[session]
	return StampOf(step), ok
}

// Crash returns the stamp at which an incarnation of a client crashed, and false if it did not.
func (w *World) Crash(client, incarnation int) (stamp int64, crashed bool) {
	crashes := w.procs[client].crashes
	if incarnation >= len(crashes) {
		return 0, false
	}
	return StampOf(crashes[incarnation]), true
}

// identities bounds how many identities a user is assumed to have.
const identities = 100

// Watchers returns who has set the watches on a path that a session waits for.
func (w *World) Watchers(session int64, path string) (list []goclient.Watcher) {
	for _, p := range w.procs {
		for _, c := range p.clients {
			if c.Session() == session {
				list = c.WatchedBy(path, list)
			}
		}
	}
	return list
}

// Identified reports whether a name bears an identity that no other client can have: a session's, or one of
// [goclient.GUID].
func (w *World) Identified(name string) bool {
	for _, c := range w.changes {
		if c.Op != wire.OpCreateSession {
			continue
		}
		hex, decimal := strconv.FormatInt(c.Session, 16), strconv.FormatInt(c.Session, 10)
		if strings.Contains(name, hex) || strings.Contains(name, decimal) {
			return true
		}
	}
	if w.random != nil && slices.ContainsFunc(w.random.Given, func(id string) bool { return strings.Contains(name, id) }) {
		return true
	}
	if len(name) < goclient.GUIDLength {
		return false
	}
	for _, p := range w.procs {
		for life := range p.incarnation + 1 {
			for n := range identities * len(p.users) {
				if strings.Contains(name, goclient.GUID(GUIDSeed(p.id, life), n/identities, uint64(n%identities)+1)) {
					return true
				}
			}
		}
	}
	return false
}

// What sources and observers may ask of it besides.

// Step is the present step.
func (w *World) Step() int { return w.step }

// Liveness reports whether faults are healed.
func (w *World) Liveness() bool { return w.liveness }

// Allowed are the faults that the episode was asked about, and Faults those that are in it.
func (w *World) Allowed() Faults { return w.cfg.Faults }

// Faults are those that are in the episode.
func (w *World) Faults() Faults { return w.faults }

// Outage reports whether there is no majority of servers.
func (w *World) Outage() bool { return w.outage.now }

// Actions are what can happen next. Observers see them when [LabelNext] is chosen, and after [World.Collect].
func (w *World) Actions() []Action { return w.actions }

// Targets are where the fault that was chosen could strike.
func (w *World) Targets() []Target { return w.targets }

// Spent is how many choices were made, without the zeros at the end, and their sum.
func (w *World) Spent() (used, sum int) { return w.source.used, w.source.sum }

// unreachable is some time in which a process did not hear from the servers, or did not run.
type unreachable struct {
	step int
	ms   int64
}

// noteUnreachable notes that so many milliseconds have passed, if one of the process's clients could not hear that.
func (p *process) noteUnreachable(ms int64) {
	w := p.world
	hears := func(c client) bool { return p.pings(c) && !p.unheard(c) && !deaf(c) }
	if ms > 0 && slices.ContainsFunc(p.clients, func(c client) bool { return !hears(c) }) {
		p.deaf = append(p.deaf, unreachable{w.step, ms})
	}
}

// CutOff reports whether a client did not hear its servers for a third of the session timeout or more, altogether, from
// one stamp to another: for so long a client may be silent before it pings, and earlier none can think its session
// lost.
func (w *World) CutOff(client int, from, to int64) bool {
	var ms int64
	for _, d := range w.procs[client].deaf {
		if d.step >= StepOf(from) && d.step <= StepOf(to) {
			ms += d.ms
		}
	}
	return ms >= sessionTimeout/3
}

// tick is the servers' time after some had passed in a step of the liveness phase.
type tick struct {
	step int
	ms   int64
}

// noteTick notes what time it is in the liveness phase.
func noteTick(w *World) {
	if w.liveness {
		w.ticks = append(w.ticks, tick{w.step, w.elapsed})
	}
}

// FaultFree returns a lower bound of the time between two stamps in which no fault was in effect. It is known.
func (w *World) FaultFree(from, to int64) (d time.Duration, known bool) {
	if len(w.ticks) == 0 {
		return 0, true
	}
	begin, end := w.ticks[0].ms, w.ticks[0].ms
	for _, t := range w.ticks {
		if t.step <= StepOf(from) { // it may have been after that
			begin = t.ms
		}
		if t.step < StepOf(to) {
			end = t.ms
		}
	}
	return max(0, time.Duration(end-begin)*time.Millisecond), true
}

// Undisturbed reports whether no fault was in effect from a stamp on, as far as is known.
func (w *World) Undisturbed(from int64) bool {
	return w.Struck() == 0 || len(w.ticks) > 0 && w.ticks[0].step < StepOf(from)
}

// read is what a process was last told of a znode that it follows: of it, of its data, or of its children.
type read struct {
	path     string
	of       wire.Op // exists, getData or getChildren2
	zxid     int64   // of the last change that it has seen, 0 if there was no znode
	watched  bool    // with a watch at any time in this life of the process …
	by, when int64   // … last by this operation, 0 if by none; and a stamp
}

// lastChange is that of what a request asks for.
func lastChange(of wire.Op, s zk.Stat) int64 {
	return map[wire.Op]int64{wire.OpExists: s.Czxid, wire.OpGetData: s.Mzxid, wire.OpGetChildren2: s.Pzxid}[of]
}

// noteRead notes what a client is about to be told of a znode that is followed. Whatever it reads tells it whether there
// is one, and a watch that exists leaves is one on data.
func (p *process) noteRead(c client, m fakezk.Message) {
	if m.Reply == nil || !slices.Contains(p.world.followed, c.Unanswered().Request.Path) ||
		m.Reply.Err != wire.CodeOK && m.Reply.Err != wire.CodeNoNode {
		return
	}
	call, all := c.Unanswered(), []wire.Op{wire.OpExists, wire.OpGetData, wire.OpGetChildren2}
	of, path := call.Request.Op, call.Request.Path
	if slices.Contains(all, of) && !slices.ContainsFunc(p.reads, func(r read) bool { return r.path == path && r.of == of }) {
		p.reads = append(p.reads, read{path: path, of: of})
	}
	for i := range p.reads {
		r := &p.reads[i]
		if r.path == path && slices.Contains(all, of) && (r.of == of || r.of == wire.OpExists || m.Reply.Err == wire.CodeNoNode) {
			r.when, r.zxid = StampOf(p.world.step), lastChange(r.of, m.Reply.Stat)
		}
		if r.path == path && call.Request.Watch && (r.of == of || r.of == wire.OpGetData && of == wire.OpExists) {
			r.watched, r.by = true, call.Tag
		}
	}
}

// OutOfDate finds what living processes follow and have last read otherwise than it has been for so long without faults:
// deaf without a watch there, diverged with one. A process follows a znode that it has watched until the operation that
// watched it last has failed or been cancelled, or its clients are closed.
func OutOfDate(w *World, least time.Duration) (found []Violation) {
	for _, p := range w.procs {
		for _, r := range p.reads {
			n, _ := w.servers.Node(r.path)
			since := r.when
			for _, c := range w.changes {
				if c.Path == r.path || strings.HasPrefix(c.Path, r.path+"/") {
					since = max(since, StampOf(c.Step))
				}
			}
			faultFree, _ := w.FaultFree(since, math.MaxInt64)
			by := slices.DeleteFunc(slices.Clone(w.ops), func(op *Op) bool { return op.Number != r.by })
			if !r.watched || lastChange(r.of, n.Stat) == r.zxid || p.cutOff() || faultFree < least ||
				len(by) > 0 && by[0].Return != 0 && (by[0].Err != nil || by[0].Cancelled) {
				continue
			}
			property, watch := "deaf", "no watch of its is armed there"
			if slices.ContainsFunc(w.servers.AllWatches(), func(a fakezk.WatchInfo) bool { return a.Path == r.path && p.has(a.Session) }) {
				property, watch = "diverged", "the watch of its that is armed there has not told it"
			}
			found = append(found, Violation{Property: property, Ops: by}.Saying("c%d follows %s, and for %v without faults that has been "+
				"another than what its %s has last read: %s", p.id+1, Path(r.path), faultFree, RequestName(r.of), watch))
		}
	}
	return found
}

// cutOff reports whether a process has crashed, or none of its clients is connected: at rest all are closed then.
func (p *process) cutOff() bool {
	return p.crashed || !slices.ContainsFunc(p.clients, func(c client) bool { _, connected := c.Connected(); return connected })
}

// Overdue reports whether the context of an operation that has not returned has ended, or at rest its connection.
func (op *Op) Overdue() bool { return op.Cancelled || op.user != nil && op.user.process.cutOff() }
