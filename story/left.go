package story

import (
	"fmt"
	"path"
	"slices"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/sim/world"
)

// What the rules find about a znode that is left, or that is in the way of somebody who waits.

// left is the znode in question: which others wait for, or which refuses them, or which is left behind.
func (x evidence) left() (lived, bool) {
	there := func(of string) (lived, bool) {
		return x.find(func(l lived) bool { return l.Path == of && l.Until < 0 })
	}
	if b := x.blocker(); b >= 0 {
		return x.at(x.Events[b].Path, b)
	}
	if x.breaks("orphan", "leak", "self-block") {
		for _, named := range []bool{true, false} {
			for _, l := range x.lives() {
				if l.Cited && l.Until < 0 && x.maker(l) >= 0 && len(x.children(l.Path)) == 0 && (!named || l.Named) {
					return l, true
				}
			}
		}
	}
	for _, w := range x.Waits {
		for _, a := range w.For {
			if l, is := there(a.Path); is && a.Kind == "data" && x.maker(l) >= 0 && l.Maker != w.Operation && len(x.children(l.Path)) == 0 {
				return l, true
			}
		}
	}
	return lived{}, false
}

// blocker is the last request of what repeats that is refused by a znode of another operation; -1 if there is none.
func (x evidence) blocker() int {
	if len(x.Cycles) == 0 {
		return -1
	}
	last := x.Cycles[len(x.Cycles)-1]
	for i := last.Event + last.Length - 1; i >= last.Event; i-- {
		if e := x.Events[i]; e.sent() && x.refused(i, wire.CodeNodeExists) {
			if l, is := x.at(e.Path, i); is && l.Until < 0 && l.Maker != e.Operation {
				return i
			}
		}
	}
	return -1
}

// over says what became of the operation that has made a znode, and of its session: why nobody will remove it.
func (x evidence) over(l lived) string {
	text := fmt.Sprintf("%s is there since step %d, when %s made it", l.Name, l.From, x.who(l.Maker))
	if o := x.Operations[l.Maker]; o.Return >= 0 {
		text += fmt.Sprintf("; that is over since step %d", o.Return)
	}
	if l.ephemeral() && x.Sessions[l.Owner].End < 0 {
		text += ", and " + x.Sessions[l.Owner].Name + " lives on"
	}
	return text
}

// behindOwn: a client that looks for its own znode does not see it, because the server that answers is behind.
func (x evidence) behindOwn() *Cause {
	for i, e := range x.Events {
		if !e.sent() || e.Client < 0 || e.Operation < 0 || !(x.relevant(e) || x.Property == "order") {
			continue
		}
		b, is := x.behind(i)
		if is && b.what == "made" && b.Maker >= 0 && x.sameUser(b.Maker, e.Operation) && b.ephemeral() && b.Owner == e.Session && !x.of("cache", "counter", "queue", "priorityqueue") {
			return x.lagging(i, b)
		}
	}
	return nil
}

// lostMaker is the create of a znode whose reply was lost; -1 if its client knows that it has made it.
func (x evidence) lostMaker(l lived) int {
	if m := x.maker(l); m >= 0 && x.replyLost(m) {
		return m
	}
	return -1
}

// madeAgain: after the reply of a create was lost the same operation makes another znode.
func (x evidence) madeAgain() *Cause {
	if !x.breaks(blocked...) && !x.breaks(early...) && !x.breaks("duplicate", "order") {
		return nil
	}
	for _, l := range x.lives() {
		m := x.lostMaker(l)
		if m < 0 || l.Maker < 0 || !x.relevant(x.Events[m]) {
			continue
		}
		for _, i := range x.requests(l.Maker) {
			again := x.Events[i].Step > l.From && x.Events[i].request() == x.Events[m].request() && slices.ContainsFunc(x.made(i), func(n lived) bool {
				return path.Dir(n.Path) == path.Dir(l.Path) && n.Path != l.Path && l.after(n.From-1)
			})
			looked := slices.ContainsFunc(x.requests(l.Maker), func(j int) bool { return j > m && j < i && x.shows(j, l) })
			if again && !looked {
				return x.because(m, i, "%s was carried out, and its reply was lost: %s made another at step %d", x.told(m), x.who(l.Maker), x.Events[i].Step)
			}
		}
	}
	return nil
}

// lostCreate: the call that has made it ended without knowing that it had.
func (x evidence) lostCreate() *Cause {
	l, is := x.left()
	if !is {
		return nil
	}
	m := x.lostMaker(l)
	if m < 0 || l.Maker < 0 || x.Operations[l.Maker].Return < 0 || len(x.deletes(l.Path)) > 0 || x.Operations[l.Maker].Outcome == world.OK.String() {
		return nil
	}
	if slices.ContainsFunc(x.requests(l.Maker), func(i int) bool { return x.shows(i, l) || x.Events[i].Path == l.Path && x.ok(i) }) {
		return nil // it has found it
	}
	return x.because(-1, m, "%s was carried out, and its reply was lost: %s returned an error, and left %s", x.told(m), x.who(l.Maker), l.Name).spans(x.end(l.Maker))
}

// afterReturn: it was made after the operation that made it had returned, or by a member that had already left.
func (x evidence) afterReturn() *Cause {
	if x.Property == "ghost" {
		return x.renewed()
	}
	l, is := x.left()
	if m := x.maker(l); is && l.Maker < 0 && m >= 0 && x.of(contended...) && x.Events[m].User >= 0 && !x.busy(m) {
		return x.because(-1, m, "%s was made at step %d by %s, when no call of it was under way", l.Name, l.From, x.user(x.Events[m].Client, x.Events[m].User))
	}
	if !is || l.Maker < 0 || x.Operations[l.Maker].Return < 0 || l.From <= x.Operations[l.Maker].Return {
		return nil
	}
	return x.because(-1, x.maker(l), "%s was made at step %d by %s, which had returned at step %d", l.Name, l.From, x.who(l.Maker), x.Operations[l.Maker].Return).
		spans(x.Operations[l.Maker].Return)
}

// busy reports whether a call of the user of an event was under way.
func (x evidence) busy(i int) bool {
	e := x.Events[i]
	return slices.ContainsFunc(x.Operations, func(o Operation) bool {
		return o.Client == e.Client && o.User == e.User && o.Call < e.Step && (o.Return < 0 || o.Return >= e.Step)
	})
}

// renewed: a member's znode is made again after its call that removes it has returned.
func (x evidence) renewed() *Cause {
	if !x.of("registry", "membership") {
		return nil
	}
	for op, o := range x.Operations {
		if !slices.Contains([]string{"deregister", "leave"}, o.Name) || o.Return < 0 {
			continue
		}
		for i, e := range x.Events {
			before := func(l lived) bool { return l.Maker >= 0 && x.sameUser(l.Maker, op) && l.From <= o.Return }
			again := slices.ContainsFunc(x.made(i), func(l lived) bool {
				_, was := x.find(func(m lived) bool { return m.Path == l.Path && before(m) })
				return was
			})
			later := slices.ContainsFunc(x.Operations, func(p Operation) bool {
				return p.Client == o.Client && p.User == o.User && p.Call >= o.Return && p.Call <= e.Step && slices.Contains([]string{"register", "join"}, p.Name)
			})
			if e.Client == o.Client && again && e.Step > o.Return && !later {
				return x.because(-1, i, "%s makes %s again at step %d, after %s has returned at step %d", x.Clients[e.Client].Name, x.short(e.named()), e.Step, x.who(op), o.Return).spans(o.Return)
			}
		}
	}
	return nil
}

func (x evidence) persistent() *Cause {
	l, is := x.left()
	if !is || l.ephemeral() || l.Maker < 0 || !x.crashed(x.Operations[l.Maker].Client, l.From) || !x.of(contended...) && !x.of(members...) {
		return nil
	}
	return x.because(-1, x.maker(l), "%s belongs to no session, and its process has died", l.Name)
}

// lostDelete: a delete of it was sent, or was to be, and has not been carried out.
func (x evidence) lostDelete() *Cause {
	l, is := x.left()
	if !is {
		return nil
	}
	for i, e := range x.Events {
		failed := e.Kind == kindFails && e.deletion(l.Path)
		lost := e.requestLost() && slices.Contains(x.deletes(l.Path), i)
		if e.Step > l.From && (failed || lost) {
			return x.because(-1, i, "the delete of %s at step %d was not carried out, and %s did not send it again", l.Name, e.Step, x.doer(i))
		}
	}
	return nil
}

// reconnect: after a lost connection a call makes another znode, in the session in which it knows its first one.
func (x evidence) reconnect() *Cause {
	for _, l := range x.lives() {
		m := x.maker(l)
		if l.Until >= 0 || l.Maker < 0 || m < 0 || !x.ok(m) || !l.Cited {
			continue
		}
		for _, i := range x.requests(l.Maker) {
			made := slices.ContainsFunc(x.made(i), func(n lived) bool {
				return path.Dir(n.Path) == path.Dir(l.Path) && n.Owner == l.Owner && n.From > l.From
			})
			if lost := x.broken(x.Events[i].Client, l.From, x.Events[i].Step); made && lost >= 0 && x.Events[lost].Step > l.From {
				return x.because(m, i, "the connection broke at step %d, and came back with the same session: %s was still there when %s made another", x.Events[lost].Step, l.Name, x.who(l.Maker))
			}
		}
	}
	return nil
}

// givenUp: the call that has made it failed, and has not deleted it.
func (x evidence) givenUp() *Cause {
	l, is := x.left()
	if !is || l.Maker < 0 || len(x.deletes(l.Path)) > 0 {
		return nil
	}
	o := x.Operations[l.Maker]
	try := operations.Of(o.Name).Tries && o.Outcome == world.OK.String() && o.Return >= 0 && x.giveBack(l.Maker) < 0 && x.idleAfter(l.Maker)
	if o.Return < 0 || o.Outcome == world.OK.String() && !try || x.crashed(o.Client, l.From) || l.From > o.Return {
		return nil
	}
	how := "failed"
	if o.Error != "" {
		how = "failed with \"" + o.Error + "\""
	} else if try {
		how = "did not get it"
	}
	made, last := x.maker(l), x.lastRequest(l.Maker, func(int) bool { return true })
	if !x.replyLost(made) || last <= made {
		made, last = -1, made
	}
	return x.because(made, last, "%s %s, and did not delete %s", x.who(l.Maker), how, l.Name).spans(o.Return)
}

// idleAfter reports whether a user goes on with no use of what a try was to grant.
func (x evidence) idleAfter(op int) bool {
	i := x.returned(op)
	return i >= len(x.Events)-1 || !slices.ContainsFunc(x.Events[i+1:], func(e Event) bool {
		return e.Kind == kindShared && e.Client == x.Operations[op].Client && e.User == x.Operations[op].User
	})
}

// twoMade: the call has made several znodes in one directory, knew it, and not all were deleted.
func (x evidence) twoMade() *Cause {
	l, is := x.left()
	if !is || l.Maker < 0 || x.Operations[l.Maker].Outcome != world.OK.String() || len(x.deletes(l.Path)) > 0 {
		return nil
	}
	for _, other := range x.own(l.Maker) {
		if !other.same(l) && path.Dir(other.Path) == path.Dir(l.Path) && x.deleter(other) >= 0 && other.Owner == l.Owner && x.lostMaker(l) < 0 {
			return x.because(-1, x.maker(l), "%s made %s and %s, and %s alone was deleted", x.who(l.Maker), other.Name, l.Name, other.Name)
		}
	}
	return nil
}

// otherDeleted: what was to give it back deletes another path.
func (x evidence) otherDeleted() *Cause {
	l, is := x.left()
	if !is || l.Maker < 0 || len(x.deletes(l.Path)) > 0 {
		return nil
	}
	back := x.giveBack(l.Maker)
	if back < 0 {
		return nil
	}
	for _, i := range x.requests(back) {
		if e := x.Events[i]; e.request() == "delete" && path.Dir(e.Path) == path.Dir(l.Path) && e.Path != l.Path {
			return x.because(x.maker(l), i, "%s deletes %s, and what it holds is %s", x.who(back), x.short(e.Path), l.Name)
		}
	}
	return nil
}

// notDeleted: what gives it back returned without an error, and has sent no delete.
func (x evidence) notDeleted() *Cause {
	l, is := x.left()
	if !is || l.Maker < 0 || len(x.deletes(l.Path)) > 0 || x.Operations[l.Maker].Outcome != world.OK.String() || x.maker(l) < 0 || !x.ok(x.maker(l)) {
		return nil
	}
	back := x.giveBack(l.Maker)
	if back < 0 || x.Operations[back].Return < 0 || x.Operations[back].Outcome != world.OK.String() {
		return nil
	}
	return x.because(-1, -1, "%s returned at step %d without a delete of %s, which %s had made", x.who(back), x.Operations[back].Return, l.Name, x.who(l.Maker)).
		spans(x.Operations[back].Call, x.Operations[back].Return)
}

// ownWait: a call waits for the znode that it has made itself.
func (x evidence) ownWait() *Cause {
	for _, op := range x.waiting() {
		for _, a := range x.awaits(op) {
			l, is := x.find(func(l lived) bool { return l.Path == a.Path && l.Until < 0 && l.Maker == op })
			i := x.lastRequest(op, func(i int) bool { return x.Events[i].Path == a.Path && x.Events[i].watches() })
			if is && i >= 0 && a.Kind == "data" && l.ephemeral() {
				return x.because(-1, i, "%s waits for %s to go, which it has made itself at step %d", x.who(op), l.Name, l.From)
			}
		}
	}
	return nil
}
