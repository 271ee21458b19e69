package workload

// What is judged of all that users contend for.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// holding is the end of a judgement of what is held: progress, errors, leaks and the history.
func (j *Judgement) holding(v *View, r Role, m linearizability.Model, h linearizability.History) {
	j.Add(lockProgress(v, r)...)
	j.Add(v.UnexpectedErrors(Gone)...)
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
		j.Check(v, m, h)
	}
	j.History = h
}

// pair is a condition on a hold and one that was granted after it.
type pair = func(a, b Hold) bool

func always(a, b Hold) bool { return true }

// Overlaps returns the first two of the holds, in order of the grants, that exclude each other and lasted at the same
// time.
func Overlaps(holds []Hold, exclude func(a, b Hold) bool) (a, b Hold, found bool) {
	inOrder := slices.IsSortedFunc(holds, byGrant)
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			if inOrder && b.From >= a.To {
				break
			}
			if b.From < a.To && b.To > b.From && exclude(a, b) {
				return a, b, true
			}
		}
	}
	return a, b, false
}

// exclusion: of two holds that exclude each other one is over before the other begins; exclusion-in-session is the same
// for two users of one session.
func exclusion(v *View, holds []Hold, r Role, exclude pair) []sim.Violation {
	a, b, found := Overlaps(holds, exclude)
	if !found {
		return nil
	}
	property := "exclusion"
	if a.Op.Client == b.Op.Client && a.Op.Incarnation == b.Op.Incarnation {
		property = "exclusion-in-session"
	}
	return []sim.Violation{sim.Violation{Property: property, Ops: []*world.Op{a.Op, b.Op}}.Saying(
		"%s holds %s from %s%s under session %v, and %s acquires it at %s under session %v",
		Who(a.Op), r.Noun, v.Moment(a.From), until(v, a), world.SessionID(a.Op.SessionAt),
		Who(b.Op), v.Moment(b.From), world.SessionID(b.Op.SessionAt))}
}

func until(v *View, a Hold) string {
	if a.To == never {
		return " on"
	}
	return " to " + v.Moment(a.To)
}

// crowding: at the moment at which one of several places is granted there are not that many others held.
func crowding(v *View, holds []Hold, noun string, places int) []sim.Violation {
	for i, b := range holds {
		ops := []*world.Op{b.Op}
		for _, a := range holds[:i] {
			if a.To > b.From {
				ops = append(ops, a.Op)
			}
		}
		if b.To > b.From && len(ops) > places {
			text := world.Say("%s acquires %s at %s under session %v, while all permits (%d) are held",
				Who(b.Op), noun, v.Moment(b.From), world.SessionID(b.Op.SessionAt), places)
			for _, op := range ops[1:] {
				text = world.Say("%v; %s has had one since %s under session %v", text,
					Who(op), v.Moment(op.Return), world.SessionID(op.SessionAt))
			}
			return []sim.Violation{sim.Violation{Property: "exclusion", Ops: ops}.Saying("%v", text)}
		}
	}
	return nil
}

// fencing: of two ordered holds of which one was over before the other began, the later has the larger token.
func fencing(v *View, holds []Hold, r Role, ordered pair) []sim.Violation {
	if slices.IsSortedFunc(holds, func(b, a Hold) int { return cmp.Compare(b.Token, a.Token+1) }) {
		return nil
	}
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			if a.Token == 0 || b.Token == 0 || a.To > b.From || a.Token < b.Token || !ordered(a, b) {
				continue
			}
			return Broken("fencing", []*world.Op{a.Op, b.Op},
				"%s was granted %s at %s with token %d, after %s at %s with token %d: the token did not grow",
				Who(b.Op), r.Noun, v.Moment(b.From), b.Token, Who(a.Op), v.Moment(a.From), a.Token)
		}
	}
	return nil
}

// contender is a znode by which an operation may queue.
type contender struct {
	op           *world.Op
	path, parent string
	zxid         int64
	owner        int64
	made, gone   int  // the steps at which it was made and deleted
	allGone      int  // the step by which also all that were made before it had been deleted
	lost         bool // with its session
}

// before reports whether it is older than another one in its directory, and was there when something was granted to
// that.
func (y *contender) before(x contender) bool {
	return y.op != x.op && y.zxid <= x.zxid && y.parent == x.parent && y.gone > world.StepOf(x.op.Return)
}

// waitedAt reports whether its operation waited at a stamp.
func (y *contender) waitedAt(v *View, at int64) bool {
	end, crashed := v.Crash(y.op.Client, y.op.Incarnation)
	return (y.op.Return == 0 || y.op.Return > at) && !(crashed && end < at)
}

// contenders are the znodes by which operations may queue: ephemeral ones that the servers have numbered. An
// operation may make several in one directory, for an inner lock say, and only its recipe knows which of them is its
// place, and when. So an operation has overtaken another only if that is so whichever it is: of the one that was
// granted something the first that it made counts, of the one that waited the last that was there.
type contenders []contender

func (v *View) contenders() (queue contenders, known bool) {
	made, known := v.commits()
	queue = make(contenders, 0, (len(v.Ops)+1)/2)
	for i := range made.all {
		switch c := &made.all[i]; {
		case c.Op == wire.OpCreate && c.Owner != 0 && c.Sequential:
			if op := made.by(c); op != nil {
				queue = append(queue, contender{
					op: op, path: c.Path, parent: parentOf(c.Path), zxid: c.Zxid, owner: c.Owner,
					made: c.Step, gone: neverStep,
				})
			}
		case c.Op == wire.OpDelete:
			for i := len(queue) - 1; i >= 0; i-- { // what is deleted is among the last that are there
				if queue[i].path == c.Path && queue[i].gone == neverStep {
					end, ended := v.SessionEnd(queue[i].owner)
					queue[i].gone, queue[i].lost = c.Step, ended && end == world.StampOf(c.Step)
					break
				}
			}
		}
	}
	for i := range queue {
		queue[i].allGone = max(queue[i].gone, queue[max(i-1, 0)].allGone)
	}
	return queue, known
}

// there returns those after the first that were all gone by a step.
func (queue contenders) there(step int) contenders {
	i, _ := slices.BinarySearchFunc(queue, step+1, func(y contender, step int) int { return y.allGone - step })
	return queue[i:]
}

// granted are those for which something may have been granted: the first of their operation in their directory, but for
// such as were lost with their session while it went on.
func (queue contenders) granted() (first contenders) {
	first = make(contenders, 0, len(queue))
	for _, x := range queue {
		if x.op.Outcome != world.OK || x.op.Data == nil || x.lost && x.gone <= world.StepOf(x.op.Return) {
			continue
		}
		i, other := len(first)-1, func(y contender) bool { return y.op != x.op || y.parent != x.parent }
		for i >= 0 && first[i].made >= world.StepOf(x.op.Call) && other(first[i]) {
			i--
		}
		if i < 0 || other(first[i]) {
			first = append(first, x)
		}
	}
	return first
}

// last reports whether a contender is the last of its operation in its directory that is there at a step.
func (queue contenders) last(y contender, step int) bool {
	return !slices.ContainsFunc(queue, func(z contender) bool {
		return z.op == y.op && z.parent == y.parent && z.zxid > y.zxid && z.made <= step && z.gone > step
	})
}

// herds: a deletion wakes a number of waiting operations at most. Those that are excused do not count, nor does one
// that had made the znode itself and watched that it stays, nor one that had to queue anew: what it watched before
// wakes no operation.
func (j *Judgement) herds(v *View, most int, excused func(maker, op *world.Op) bool) {
	all, known := v.Herds()
	if !j.Judges("herd", known) {
		return
	}
	made, _ := v.commits()
	for _, h := range all {
		woken := h.Ops
		if len(woken) > 1 {
			maker := made.maker(h.Path)
			woken = where(woken, func(op *world.Op) bool {
				return op != maker && !made.queuedAgain(op) && (excused == nil || !excused(maker, op))
			})
		}
		if len(woken) > most {
			more := ""
			if len(woken) > 2 {
				more = " and more"
			}
			j.Add(sim.Violation{Property: "herd", Ops: woken}.Saying(
				"the deletion of %s (seen at step %d) wakes %d waiters, %s and %s%s; %d can proceed",
				world.Path(h.Path), h.Step, len(woken), Who(woken[0]), Who(woken[1]), more, most))
			return
		}
	}
}

// lockProgress explains why an operation still waits although all faults were healed.
func lockProgress(v *View, r Role) []sim.Violation {
	for _, op := range v.Waiting {
		if found := v.Blocked(op, r.Noun); found.Property != "" {
			return []sim.Violation{found}
		}
	}
	return deadlock(v)
}

// deadlock: some operations wait, each behind another that waits.
func deadlock(v *View) []sim.Violation {
	if len(v.Waiting) == 0 {
		return nil
	}
	text := world.Say("all that wait do so behind each other")
	for _, op := range v.Waiting {
		text = world.Say("%v; %v", text, v.Explain(op))
	}
	return []sim.Violation{sim.Violation{Property: "deadlock", Ops: v.Waiting}.Saying("%v", text)}
}

// queuedAgain reports whether an operation has queued more than once, having lost its znode with its
// session. Some of its watches are of an earlier time, and wake no operation.
func (c commits) queuedAgain(op *world.Op) bool {
	times := 0
	for _, c := range c.all {
		if c.Op == wire.OpCreate && c.Owner != 0 && c.By == op.Number {
			times++
		}
	}
	return times > 1
}

// busy is promised of kinds in which users wait for what others hold.
var busy = Promise{
	Names: []string{"idle"},
	Text:  "while no fault is in effect, nothing that clients wait for stays free for 45 s",
}

// idleMax is the longest time, by the servers' clock and while no fault is in effect, for which something may stay free
// while clients wait for it. Once faults are over clients reach their servers at once. The sessions of the dead end
// within one session timeout (sim: 4 s). After that the pauses of a correct recipe count: recipes of this project look
// again after 30 s at most. So it is longer than both together, and than ten session timeouts, but shorter than the time
// after which an operation counts as one that waits for ever (sim: 2 min), which breaks progress.
const idleMax = 45 * time.Second

// idle judges whether capacity stays free for [idleMax] while a client waits for it.
func (j *Judgement) idle(v *View, wants func(*world.Op) bool, holds []Hold, capacity int) {
	faultFree, known := v.FaultFree(0, never)
	if !j.Judges("idle", known) || faultFree < idleMax {
		return
	}
	few := fmt.Sprintf("fewer than %d hold", capacity)
	if capacity == 1 {
		few = "nobody holds"
	}
	for _, op := range where(v.Ops, wants) {
		for _, moment := range v.moments(op, holds) {
			from, free := freeUntil(moment, op.Call, holds, capacity)
			if faultFree, _ = v.FaultFree(from, moment); free && faultFree >= idleMax {
				j.Add(Broken("idle", []*world.Op{op},
					"%s waits in %s from %s to %s although %s what it waits for, and no fault is in effect for %v",
					Who(op), op.Name, v.Moment(from), v.Moment(moment), few, faultFree)...)
				return
			}
		}
	}
}

// prompt is promised of kinds in which users may try.
var prompt = Promise{Names: []string{"try-waits"}, Text: "without a fault a try does not wait 4 s for others"}

// tryMax is more than what a try takes that waits for nobody: some requests, and between two of them no pause as long.
const tryMax = 4 * time.Second

// tries judges whether a try lasts for [tryMax] while another user holds it.
func (j *Judgement) tries(v *View, holds []Hold) {
	all := where(v.Ops, func(op *world.Op) bool { return operations.Of(op.Name).Tries })
	faultFree, known := v.FaultFree(0, never)
	if len(all) == 0 || !j.Judges("try-waits", known) || faultFree < tryMax {
		return
	}
	for _, op := range all {
		before, _ := v.FaultFree(0, op.Call)
		end := cmp.Or(op.Return, never)
		if lasts, _ := v.FaultFree(op.Call, end); lasts < tryMax || before < tryMax && v.Faulty() {
			continue
		}
		for _, h := range holds {
			from, to := max(op.Call, h.From), min(end, h.To)
			beside, _ := v.FaultFree(from, to)
			if h.Op == op || from >= to || beside < tryMax {
				continue
			}
			j.Add(Broken("try-waits", []*world.Op{op, h.Op},
				"%s tries in %s from %s on, and waits for %v although no fault is in effect: %s holds it from %s%s",
				Who(op), op.Name, v.Moment(op.Call), beside, Who(h.Op), v.Moment(h.From), until(v, h))...)
			return
		}
	}
}

// moments are those during a wait at which somebody is served, and its end, after [idleMax] without a fault.
func (v *View) moments(op *world.Op, holds []Hold) (all []int64) {
	lasted := func(until int64) bool { faultFree, _ := v.FaultFree(op.Call, until); return faultFree >= idleMax }
	if !lasted(cmp.Or(op.Return, never)) {
		return nil
	}
	for _, h := range holds {
		if h.From > op.Call && h.From < op.Return && lasted(h.From) {
			all = append(all, h.From)
		}
	}
	if op.Return > 0 {
		all = append(all, op.Return)
	}
	return all
}

// freeUntil reports whether there was capacity up to a moment, and from when on, but not before a stamp, there was and
// nobody was served.
func freeUntil(moment, begin int64, holds []Hold, capacity int) (from int64, free bool) {
	held := func(at int64) (n int) {
		for _, h := range holds {
			if h.From < at && h.To >= at {
				n++
			}
		}
		return n
	}
	from = begin
	for _, h := range holds {
		if h.From < moment {
			from = max(from, h.From)
		}
	}
	for _, h := range holds {
		if h.To > from && h.To < moment && held(h.To) >= capacity {
			from = h.To
		}
	}
	return from, held(moment) < capacity
}

// truthful is promised of kinds whose recipes tell that a hold is lost.
var truthful = Promise{
	Names: []string{"false-lost"},
	Text:  "a hold is not reported as lost while its session is alive and its znode exists and is unchanged",
}

// falseLost: a hold is said to be lost, by the channel Lost or by a release that fails with [recipes.ErrLost], although
// nothing has happened to it: what its operation made and has not removed itself is there and as it was, under sessions
// that live. A lost connection is no lost session (ZooKeeper Programmer's Guide, "ZooKeeper Sessions"), and IsOwner is
// there to say that a hold is in doubt. But a client that has heard nothing for a third of the session timeout may go
// by its own clock, and a recipe that ends a hold by itself tells the truth: neither is accused.
func (j *Judgement) falseLost(v *View, holds []Hold) {
	made, known := v.commits()
	if !j.Judges("false-lost", known) {
		return
	}
	for _, iv := range holds {
		told := v.toldLost(iv)
		if told == 0 || iv.Op.SelfEnded || !made.intact(v, iv.Op, told) || v.CutOff(iv.Op.Client, iv.Op.Call, told) {
			continue
		}
		j.Add(sim.Violation{Property: "false-lost", Ops: []*world.Op{iv.Op}}.Saying(
			"%s, whose %s returned at %s, is told by %s that its hold is lost, "+
				"although session %v lives, and the znode is there",
			Who(iv.Op), iv.Op.Name, v.Moment(iv.Op.Return), v.Moment(told), world.SessionID(iv.Op.SessionAt)))
		return
	}
}

// toldLost is the stamp of a moment at which the user of a hold had been told that it was lost; 0 if it was not. Without a
// release it is the next time that the user acquires: what it does before may be done within the hold.
func (v *View) toldLost(iv Hold) int64 {
	if iv.Release != nil && errors.Is(iv.Release.Err, recipes.ErrLost) {
		return iv.Release.Return
	}
	if !iv.Op.Data.(*Held).lost {
		return 0
	}
	if iv.Release != nil {
		return iv.Release.Call
	}
	for _, op := range v.Ops {
		if clientID(op) == clientID(iv.Op) && op.Call > iv.Op.Call && op.Name == iv.Op.Name {
			return op.Call
		}
	}
	return 0
}

// intact reports whether an operation has made ephemeral znodes, all of which were there at a
// moment as it had left them, under sessions that lived. What it has deleted itself does not count.
func (c commits) intact(v *View, op *world.Op, at int64) bool {
	there := map[string]bool{}
	for _, change := range c.all {
		if change.Step > world.StepOf(at) {
			break
		}
		own := change.By == op.Number
		switch {
		case change.Op == wire.OpCreate && own && change.Owner != 0:
			if end, ended := v.SessionEnd(change.Owner); ended && end <= at {
				return false
			}
			there[change.Path] = true
		case !there[change.Path]:
		case change.Op == wire.OpDelete && own:
			delete(there, change.Path)
		case !own:
			return false
		}
	}
	return len(there) > 0
}
