package story

import (
	"path"
	"slices"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/sim/world"
)

// What the rules find about watches, and about members of a barrier who wait for each other.

// lostRead: the last request of a call that waits is a read that was lost, and the connection is back.
func (x evidence) lostRead() *Cause {
	for _, op := range x.waiting() {
		all := x.requests(op)
		if len(all) == 0 {
			continue
		}
		i := all[len(all)-1]
		if e := x.Events[i]; e.Kind == kindFault && e.Lost != "" && !e.writes() && len(x.awaits(op)) == 0 {
			return x.because(-1, i, "%s was lost with its connection, and %s has sent nothing since", x.told(i), x.who(op))
		}
	}
	return nil
}

// goneBeforeWatch: a call waits for a znode that was gone when the watch was set, and that nobody will make again.
func (x evidence) goneBeforeWatch() *Cause {
	for _, op := range x.waiting() {
		for _, a := range x.awaits(op) {
			i := x.lastRequest(op, func(i int) bool {
				return x.Events[i].Path == a.Path && x.Events[i].watches() && x.Events[i].request() == "exists" && x.refused(i, wire.CodeNoNode)
			})
			l, was := x.find(func(l lived) bool { return l.Path == a.Path && l.Until >= 0 })
			if a.Exists || i < 0 || !was || l.Until >= x.Events[i].Step || x.of("cache", "barrier") {
				continue
			}
			return x.because(x.readOf(i), i, "%s watches %s from step %d on, and that was gone since step %d", x.who(op), l.Name, x.Events[i].Step, l.Until).spans(l.Until)
		}
	}
	return nil
}

// wrongWatch: a call waits for children, and its only watch is one of the data.
func (x evidence) wrongWatch() *Cause {
	for _, op := range x.waiting() {
		if x.Property != "stale-watch" && x.Property != "lost-wakeup" && x.Property != "progress" || x.of("cache", "counter", "barrier") {
			continue
		}
		if len(x.awaits(op)) == 0 || slices.ContainsFunc(x.awaits(op), func(a Awaited) bool { return a.Kind != "data" }) {
			continue
		}
		for _, a := range x.awaits(op) {
			i := x.lastRequest(op, func(i int) bool { return x.Events[i].Path == a.Path && x.Events[i].watches() && x.ok(i) })
			if i >= 0 && x.Events[i].request() != "children" && len(x.children(a.Path)) > 0 && a.Exists && !slices.ContainsFunc(x.children(a.Path), func(z Znode) bool { return len(x.children(z.Path)) > 0 }) {
				return x.because(-1, i, "%s watches the data of %s, and waits for its children to change", x.who(op), x.short(a.Path))
			}
		}
	}
	return nil
}

// notTaken: a client has read the newest value, or list, and does not tell it.
func (x evidence) notTaken() *Cause {
	for _, op := range x.waiting() {
		i := x.lastRequest(op, func(i int) bool { return x.answer(i) >= 0 && x.Events[i].request() != "sync" })
		if i < 0 || !x.Operations[op].Cited || !x.ok(i) || x.Events[i].request() != "get" {
			continue
		}
		l, is := x.at(x.Events[i].Path, i)
		if _, late := x.behind(i); is && !late && x.changed(i, 1<<62) < 0 && slices.ContainsFunc(x.requests(op)[:], func(j int) bool { return j == i }) && x.Events[i].Step > l.From {
			return x.because(-1, i, "%s read the newest value of %s at step %d, and did not tell it", x.who(op), l.Name, x.Events[i].Step)
		}
	}
	return nil
}

// fired is the last event of a watch that reached the client of a waiting operation for a watch that the operation, or one
// beside it, has set; -1 if none did.
func (x evidence) fired(op int) int {
	o, last := x.Operations[op], -1
	for i, e := range x.Events {
		if e.Kind != kindWatch || e.Client != o.Client || e.Step < o.Call {
			continue
		}
		if slices.ContainsFunc(x.requests(op), func(j int) bool {
			armed := x.Events[j]
			return j < i && armed.watches() && armed.Path == e.Path && armed.Step < e.Step && (e.What == "NodeDeleted" || (armed.request() == "children") == (e.What == "NodeChildrenChanged"))
		}) {
			last = i
		}
	}
	return last
}

// eventMissed: the watch of a call that waits has fired, its event has come, and the call has sent nothing since.
func (x evidence) eventMissed() *Cause {
	for _, op := range x.waiting() {
		i := x.fired(op)
		all := x.requests(op)
		if i < 0 || all[len(all)-1] > i || !x.Operations[op].Cited {
			continue
		}
		armed := x.lastRequest(op, func(j int) bool { return x.Events[j].watches() && x.Events[j].Path == x.Events[i].Path })
		if again := x.lastRequest(op, func(j int) bool { return x.Events[j].watches() }); again != armed {
			continue
		}
		return x.because(armed, -1, "the event %s of %s came to %s at step %d, and %s sent nothing after that", x.Events[i].What, x.short(x.Events[i].Path),
			x.Clients[x.Operations[op].Client].Name, x.Events[i].Step, x.who(op)).spans(x.Events[i].Step)
	}
	return nil
}

// lastWatch is the last request of a waiting operation that has set a watch.
func (x evidence) lastWatch(op int) int {
	return x.lastRequest(op, func(i int) bool {
		return x.Events[i].watches() && (x.ok(i) || x.Events[i].request() == "exists" && x.answer(i) >= 0)
	})
}

// watchEnded: the session of a call's watch has ended, its client has learned it, and the call has sent nothing since.
func (x evidence) watchEnded() *Cause {
	for _, op := range x.waiting() {
		i := x.lastWatch(op)
		if i < 0 || x.fired(op) > i || !x.Operations[op].Cited {
			continue
		}
		s := x.Events[i].Session
		if s < 0 || !x.Sessions[s].Expired || x.Sessions[s].Learned < 0 || x.Sessions[s].Learned < x.Events[i].Step {
			continue
		}
		if x.lastRequest(op, func(j int) bool { return x.Events[j].Step >= x.Sessions[s].Learned }) >= 0 {
			continue
		}
		return x.because(i, -1, "%s ended at step %d, and with it the watch of step %d: %s has sent nothing since its client learned that at step %d",
			x.Sessions[s].Name, x.Sessions[s].End, x.Events[i].Step, x.who(op), x.Sessions[s].Learned).spans(x.Sessions[s].Learned)
	}
	return nil
}

// watchLost: the connection of a call's watch has broken, the watch is not there any more, and the call has sent nothing since.
func (x evidence) watchLost() *Cause {
	for _, op := range x.waiting() {
		i := x.lastWatch(op)
		if i < 0 || len(x.awaits(op)) > 0 || x.fired(op) > i || !x.Operations[op].Cited {
			continue
		}
		lost := x.broken(x.Operations[op].Client, x.Events[i].Step, 1<<62)
		if lost < 0 || x.lastRequest(op, func(j int) bool { return j > lost }) >= 0 {
			continue
		}
		return x.because(i, -1, "the connection of %s broke at step %d, and with it the watch of step %d ended: %s has sent nothing since", x.Clients[x.Operations[op].Client].Name,
			x.Events[lost].Step, x.Events[i].Step, x.who(op)).spans(x.Events[lost].Step)
	}
	return nil
}

// ownGoneWaits: a call waits for its turn, and its own znode has gone with its session.
func (x evidence) ownGoneWaits() *Cause {
	if !x.breaks("progress", "lost-wakeup", "idle") || !x.of(contended...) && !x.of(members...) {
		return nil
	}
	for _, op := range x.waiting() {
		own := x.own(op)
		if len(own) == 0 || !x.Operations[op].Cited {
			continue
		}
		if l := own[len(own)-1]; l.Expired && l.Until <= x.end(op) {
			after := x.lastRequest(op, func(j int) bool { return x.Events[j].Step > l.Until && x.answer(j) >= 0 })
			return x.because(x.maker(l), after, "%s went with %s at step %d, and %s waits on without it", l.Name, x.Sessions[l.Owner].Name, l.Until, x.who(op)).spans(l.Until)
		}
	}
	return nil
}

// notReadAgain: who follows a znode reads it no more after a read that was lost, after an event, or in a new session.
func (x evidence) notReadAgain() *Cause {
	for _, z := range x.Znodes {
		if !z.Named {
			continue
		}
		for client := range x.Clients {
			last := -1
			for i, e := range x.Events {
				if e.Client == client && e.Path == z.Path && (e.sent() || e.Kind == kindFails) && !e.writes() && e.request() != "sync" {
					last = i
				}
			}
			if last < 0 {
				continue
			}
			e, name := x.Events[last], x.Clients[client].Name
			if e.Kind == kindFault || e.Kind == kindFails {
				return x.because(-1, last, "%s failed, and %s has not read it again", x.told(last), name)
			}
			for _, f := range x.Events[last+1:] {
				if f.Kind == kindWatch && f.Client == client && f.Path == z.Path && e.watches() {
					return x.because(last, -1, "the event %s of %s came at step %d, and %s has not read it again", f.What, z.Name, f.Step, name).spans(f.Step)
				}
			}
			if s := e.Session; s >= 0 && e.watches() && x.Sessions[s].Expired && x.Sessions[s].Learned > e.Step {
				return x.because(last, -1, "%s ended at step %d, and with it the watch of step %d: %s has not read it again", x.Sessions[s].Name, x.Sessions[s].End, e.Step, name).
					spans(x.Sessions[s].Learned)
			}
		}
	}
	return nil
}

// wrapOf reports whether the version of a znode passes the greatest.
func (x evidence) wrapOf(of string) bool {
	return slices.ContainsFunc(x.Events, func(e Event) bool {
		return e.Kind == kindFault && e.What == "wrap" && e.Path == of && e.Ends == "version"
	})
}

// wrappedVersion: a set is refused again and again after the version has wrapped.
func (x evidence) wrappedVersion() *Cause {
	for _, op := range x.waiting() {
		i := x.lastRequest(op, func(i int) bool { return x.refused(i, wire.CodeBadVersion) })
		if i >= 0 && x.wrapOf(x.Events[i].Path) {
			read := x.lastRequest(op, func(j int) bool {
				return j < i && x.Events[j].request() == "get" && x.Events[j].Path == x.Events[i].Path
			})
			return x.because(read, i, "the version of %s passes 2147483647 and goes on at -2147483648", x.short(x.Events[i].Path))
		}
	}
	return nil
}

// noWatch: a call waits, asks nothing any more, and has never set a watch.
func (x evidence) noWatch() *Cause {
	for _, op := range x.waiting() {
		all := x.requests(op)
		if len(all) == 0 || len(x.awaits(op)) > 0 || !x.Operations[op].Cited || len(x.Cycles) > 0 {
			continue
		}
		set := slices.ContainsFunc(x.Events, func(e Event) bool {
			return e.watches() && e.Client == x.Operations[op].Client && e.Step >= x.Operations[op].Call
		})
		last := x.Events[all[len(all)-1]]
		if set || last.Kind == kindFault || x.answer(all[len(all)-1]) < 0 || last.Step+200 < x.Events[len(x.Events)-1].Step {
			continue
		}
		if read := x.lastRequest(op, func(i int) bool { return !x.Events[i].writes() && x.Events[i].request() != "sync" }); read >= 0 {
			if _, end := x.ended(x.Operations[op].Client, x.Operations[op].Call, 1<<62); end < 0 {
				return x.because(read, -1, "%s waits since step %d, and has set no watch", x.who(op), last.Step)
			}
		}
	}
	return nil
}

// longPause: a call that waits without a watch has sent nothing while it was free.
func (x evidence) longPause() *Cause {
	for _, op := range x.cited() {
		all := x.requests(op)
		for k := 1; k < len(all); k++ {
			before, next := x.Events[all[k-1]], x.Events[all[k]]
			watched := slices.ContainsFunc(all[:k], func(i int) bool { return x.Events[i].watches() })
			if next.Time-before.Time >= 10_000 && !watched && x.answer(all[k-1]) >= 0 {
				return x.because(-1, -1, "%s has set no watch, and sent nothing from step %d to step %d, %.0f s later", x.who(op), before.Step, next.Step, float64(next.Time-before.Time)/1000).
					spans(before.Step, next.Step)
			}
		}
	}
	return nil
}

// leaky is the last request that has set a watch that is left.
func (x evidence) leaky() int {
	for i, e := range slices.Backward(x.Events) {
		if e.sent() && e.watches() && slices.ContainsFunc(x.Znodes, func(z Znode) bool { return z.Named && z.Path == e.Path }) {
			return i
		}
	}
	return -1
}

// leftWatch: exists has set a watch on a znode that is not there.
func (x evidence) leftWatch() *Cause {
	i := x.leaky()
	if i < 0 || x.Events[i].request() != "exists" || !x.refused(i, wire.CodeNoNode) {
		return nil
	}
	return x.because(-1, i, "%s set a watch at step %d, on a znode that was not there: nobody will make it", x.doer(i), x.Events[i].Step)
}

// leftWatchAgain: a watch is set again and again on one path.
func (x evidence) leftWatchAgain() *Cause {
	i := x.leaky()
	if i < 0 {
		return nil
	}
	e := x.Events[i]
	for j := i - 1; j >= 0; j-- {
		b := x.Events[j]
		fired := slices.ContainsFunc(x.Events[j:i], func(w Event) bool { return w.Kind == kindWatch && w.Client == e.Client && w.Path == e.Path })
		if b.sent() && b.watches() && b.Path == e.Path && b.Session == e.Session && b.request() == e.request() && !fired && x.ok(j) {
			return x.because(j, i, "%s has a watch of %s since step %d, and sets another", x.doer(i), x.short(e.Path), b.Step)
		}
	}
	return nil
}

// watchedTwice: one call has set the same watch several times.
func (x evidence) watchedTwice() *Cause {
	for _, op := range x.cited() {
		for _, i := range x.requests(op) {
			e := x.Events[i]
			j := x.lastRequest(op, func(j int) bool { return j > i && x.Events[j].What == e.What && x.Events[j].Path == e.Path })
			if e.watches() && j >= 0 && !slices.ContainsFunc(x.Events[i:j], func(w Event) bool { return w.Kind == kindWatch && w.Client == e.Client && w.Path == e.Path }) {
				return x.because(i, j, "%s watches %s at step %d, and once more at step %d", x.who(op), x.short(e.Path), e.Step, x.Events[j].Step)
			}
		}
	}
	return nil
}

// countFell: a call of a barrier waits, while another that counted the same members went in.
func (x evidence) countFell() *Cause {
	for _, op := range x.waiting() {
		if operations.Of(x.Operations[op].Name).Role != operations.Enter {
			continue
		}
		own, has := x.held(op)
		count := x.lastRequest(op, func(i int) bool { return x.listed(i) != nil })
		if !has || count < 0 {
			continue
		}
		for other, o := range x.Operations {
			if o.Name != x.Operations[op].Name || o.Outcome != world.OK.String() || o.Return < own.From || o.Return > x.Events[count].Step {
				continue
			}
			if seen := x.lastRequest(other, func(i int) bool { return x.shows(i, own) }); seen >= 0 {
				return x.because(count, -1, "%s saw %s at step %d and went in; %s counted at step %d, when others had left", x.who(other), own.Name, x.Events[seen].Step, x.who(op), x.Events[count].Step).
					spans(x.Events[seen].Step)
			}
		}
	}
	return nil
}

// otherRound: a call of a barrier goes by a znode of another round: one whose maker has come later than the members that it
// leaves with, or had come, left or given up before it came.
func (x evidence) otherRound() *Cause {
	for _, op := range x.cited() {
		o := x.Operations[op]
		role := operations.Of(o.Name).Role
		if role != operations.Enter && role != operations.Leave {
			continue
		}
		waits := slices.Contains(x.waiting(), op)
		if waits != x.breaks("lost-wakeup", "progress") || role == operations.Enter && waits {
			continue
		}
		i := x.lastRequest(op, func(i int) bool {
			return x.answer(i) >= 0 && x.Events[x.answer(i)].Refused == "" && (x.listed(i) != nil || slices.Contains([]string{"exists", "get", "multi"}, x.Events[i].request()))
		})
		list := x.lastRequest(op, func(i int) bool { return x.listed(i) != nil })
		for _, l := range x.lives() {
			if l.Maker < 0 || l.Maker == op || len(x.children(l.Path)) > 0 {
				continue
			}
			m := x.Operations[l.Maker]
			seen := list >= 0 && x.shows(list, l) || i >= 0 && x.Events[i].Path == l.Path || x.readsOk(op, l.Path)
			before := role == operations.Enter && m.Return >= 0 && m.Return <= o.Call
			later := role == operations.Leave && waits && m.Name != o.Name && l.From > o.Call
			if seen && (before || later) && l.Path != path.Dir(l.Path) {
				read := list
				if read < 0 || !x.shows(list, l) {
					read = i
				}
				when := "which was over before"
				if later {
					when = "which came later"
				}
				return x.because(read, -1, "%s goes by %s, which %s has made at step %d, %s", x.who(op), l.Name, x.who(l.Maker), l.From, when)
			}
		}
	}
	return nil
}

// readsOk reports whether an operation has asked for a path, and it was there.
func (x evidence) readsOk(op int, of string) bool {
	return x.lastRequest(op, func(i int) bool {
		return x.Events[i].Path == of && slices.Contains([]string{"exists", "get"}, x.Events[i].request()) && x.ok(i)
	}) >= 0
}

// stranger: a call of a barrier counts a znode that no client has made.
func (x evidence) stranger() *Cause {
	for _, op := range x.cited() {
		list := x.lastRequest(op, func(i int) bool { return x.listed(i) != nil })
		if list < 0 || x.Operations[op].Return < 0 {
			continue
		}
		for _, name := range x.listed(list) {
			of := path.Join(x.Events[list].Path, name)
			l, is := x.at(of, list)
			if !is || l.Maker < 0 && x.maker(l) < 0 {
				return x.because(list, -1, "%s counts %s, which no member has made", x.who(op), name)
			}
		}
	}
	return nil
}
