package story

import (
	"path"
	"slices"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability/operations"
)

// What the rules find where two hold what one may hold, or hold it too long.

// inMemory: an operation is granted what another user of its session holds, and has sent no request.
func (x evidence) inMemory() *Cause {
	for _, op := range x.grants() {
		others := slices.ContainsFunc(x.Events, func(e Event) bool { return e.sent() && e.Client == x.Operations[op].Client })
		if others && len(x.requests(op)) == 0 {
			return x.because(-1, -1, "%s sent no request: it went by what its process has in memory", x.who(op)).spans(x.Operations[op].Call, x.end(op))
		}
	}
	return nil
}

// fromMemory: an operation is granted what its user has held before, and has sent no request.
func (x evidence) fromMemory() *Cause {
	for _, op := range x.grants() {
		before := slices.ContainsFunc(x.Operations, func(o Operation) bool {
			of := x.Operations[op]
			return o.Client == of.Client && o.User == of.User && o.Name == of.Name && o.Return >= 0 && o.Return <= of.Call && o.Outcome == of.Outcome
		})
		if before && len(x.requests(op)) == 0 && x.Clients[x.Operations[op].Client].Users == 1 {
			return x.because(-1, -1, "%s sent no request: it went by what it has in memory", x.who(op)).spans(x.Operations[op].Call, x.end(op))
		}
	}
	return nil
}

// taken: an operation whose create is refused by what another has made takes that for its own.
func (x evidence) taken() *Cause {
	for _, op := range x.cited() {
		if o := x.Operations[op]; o.Outcome != "ok" || len(x.own(op)) > 0 || operations.Of(o.Name).Tries && x.Property != "exclusion" {
			continue
		}
		i := x.lastRequest(op, func(i int) bool { return x.Events[i].request() == "create" })
		if i < 0 || !x.refused(i, wire.CodeNodeExists) {
			continue
		}
		l, is := x.at(x.Events[i].Path, i)
		if !is || l.Maker < 0 || l.Maker == op || !x.Operations[l.Maker].Cited && x.sameUser(l.Maker, op) || len(x.children(l.Path)) > 0 {
			continue
		}
		after := x.lastRequest(op, func(j int) bool { return j > i })
		if after >= 0 && (x.Events[after].Path != l.Path || !x.ok(after) || x.Events[after].writes()) || after < 0 && x.news(op) >= 0 && x.Events[x.news(op)].Kind == kindWatch {
			continue
		}
		return x.because(i, after, "%s was refused at step %d by %s, which %s has made, and takes that for its own", x.who(op), x.Events[i].Step, l.Name, x.who(l.Maker))
	}
	return nil
}

// listFirst: an operation makes its znode after the list by which it is granted, and others have made theirs in between.
func (x evidence) listFirst() *Cause {
	for _, op := range x.grants() {
		own, has := x.held(op)
		list := x.lastRequest(op, func(i int) bool { return x.listed(i) != nil || x.Events[i].request() == "children" && x.ok(i) })
		made := x.maker(own)
		if !has || list < 0 || made < 0 || x.Events[list].Step > own.From || path.Dir(own.Path) != x.Events[list].Path {
			continue
		}
		for _, l := range x.lives() {
			if l.Maker >= 0 && x.Operations[l.Maker].Cited && !x.sameUser(l.Maker, op) && path.Dir(l.Path) == path.Dir(own.Path) && l.From > x.Events[list].Step && l.From < own.From {
				return x.because(list, made, "%s listed at step %d and made %s at step %d: %s made %s in between", x.who(op), x.Events[list].Step, own.Name, own.From, x.who(l.Maker), l.Name)
			}
		}
	}
	return nil
}

// foreignDelete: the znode of a cited operation is deleted by somebody else's request, while it is still needed.
func (x evidence) foreignDelete() *Cause {
	for _, op := range x.cited() {
		for _, l := range x.own(op) {
			d := x.deleter(l)
			if d < 0 || !l.ephemeral() || x.Events[d].Operation < 0 || x.Events[d].Operation == op || x.sameUser(x.Events[d].Operation, op) {
				continue
			}
			if back := x.giveBack(op); back >= 0 && x.Operations[back].Call <= l.Until || x.breaks(overlaps...) && len(x.grants()) > 0 && l.Until > x.end(x.grants()[0]) {
				continue
			}
			return x.because(-1, d, "%s deletes %s at step %d, which %s has made", x.doer(d), l.Name, l.Until, x.who(op))
		}
	}
	return nil
}

// innerRelease: the znode of a hold is deleted by the release of an inner one.
func (x evidence) innerRelease() *Cause {
	for _, op := range x.grants() {
		for _, l := range x.own(op) {
			d := x.deleter(l)
			if d >= 0 && x.Events[d].Operation >= 0 && x.Operations[x.Events[d].Operation].Name == "rerelease" && x.sameUser(x.Events[d].Operation, op) {
				return x.because(-1, d, "%s deletes %s at step %d, and the outer hold goes on", x.doer(d), l.Name, l.Until)
			}
		}
	}
	return nil
}

// held is the znode that an operation has made and that is there when it returns.
func (x evidence) held(op int) (lived, bool) {
	return x.find(func(l lived) bool { return l.Maker == op && l.after(x.end(op)) && len(x.children(l.Path)) == 0 })
}

// ownGone: an operation is granted something after its own znode has gone with its session.
func (x evidence) ownGone() *Cause {
	for _, op := range x.grants() {
		own := x.own(op)
		if _, there := x.held(op); there || len(own) == 0 {
			continue
		}
		l := own[len(own)-1]
		if decided := x.lastRequest(op, func(i int) bool { return x.ok(i) && !x.Events[i].writes() && x.Events[i].Step >= l.Until }); l.Expired && l.Until <= x.end(op) {
			return x.because(x.maker(l), decided, "%s went with %s at step %d, and %s was granted after that", l.Name, x.Sessions[l.Owner].Name, l.Until, x.who(op)).
				spans(l.Until, x.end(op))
		}
	}
	return nil
}

// adopted: an operation that has made no znode takes one for its own that another user's operation has made.
func (x evidence) adopted() *Cause {
	grants := x.grants()
	for _, op := range grants {
		if len(x.own(op)) > 0 || slices.ContainsFunc(x.lives(), func(l lived) bool {
			return l.Maker >= 0 && x.sameUser(l.Maker, op) && l.after(x.end(op)) && l.ephemeral()
		}) {
			continue
		}
		last := x.lastRequest(op, x.ok)
		if last < 0 || slices.ContainsFunc(x.requests(op), func(i int) bool { return x.Events[i].writes() && x.Events[i].request() != "delete" }) {
			continue
		}
		for _, other := range grants {
			l, is := x.held(other)
			if is && !x.sameUser(op, other) && x.ok(last) && (x.shows(last, l) || x.Events[last].Path == l.Path) {
				return x.because(-1, last, "%s has made no znode, and takes %s for its own, which %s has made", x.who(op), l.Name, x.who(other))
			}
		}
	}
	return nil
}

// news is what an operation heard last before it returned: an answer, an event of a watch, or the loss of its connection; -1 if it
// heard nothing.
func (x evidence) news(op int) int {
	o, end := x.Operations[op], x.returned(op)
	for i := end - 1; i >= 0 && x.Events[i].Step >= o.Call; i-- {
		e := x.Events[i]
		switch {
		case e.Kind == kindExchange && e.Operation == op || e.Kind == kindReply && e.Operation == op,
			e.Kind == kindWatch && e.Client == o.Client && e.Armed >= 0 && x.Events[e.Armed].Operation == op,
			(e.Kind == kindLearns || e.Kind == kindClosed) && e.Client == o.Client && x.Clients[o.Client].Users == 1,
			e.Kind == kindFails && e.Operation == op,
			e.Kind == kindFault && e.Client == o.Client && (e.Operation == op || e.Lost == "" && e.What == "loss" && x.Clients[o.Client].Users == 1):
			return i
		}
	}
	return -1
}

// eventGrants: what an operation heard last before it was granted something is the event of a watch, or the loss of its
// connection.
func (x evidence) eventGrants() *Cause {
	for _, op := range x.grants() {
		i := x.news(op)
		if i < 0 {
			continue
		}
		e := x.Events[i]
		armed := x.lastRequest(op, func(j int) bool { return x.Events[j].watches() })
		switch {
		case armed < 0:
		case e.Kind == kindWatch:
			return x.because(e.Armed, -1, "%s was granted by the event %s of %s at step %d: it read nothing after that", x.who(op), e.What, x.short(e.Path), e.Step).
				spans(e.Step)
		case e.Kind == kindFault && e.Lost == "", e.Kind == kindClosed:
			return x.because(armed, -1, "%s was granted after its connection broke at step %d: it read nothing after that", x.who(op), e.Step).
				spans(e.Step)
		case e.Kind == kindLearns:
			return x.because(armed, -1, "%s was granted after its session had ended, which its client learned at step %d: it read nothing after that", x.who(op), e.Step).
				spans(e.Step)
		}
	}
	return nil
}

// goneGrants: what an operation heard last before it was granted something is that another's znode has gone.
func (x evidence) goneGrants() *Cause {
	for _, op := range x.grants() {
		i := x.lastRequest(op, func(i int) bool { return x.answer(i) >= 0 })
		if i < 0 || !slices.Contains([]string{"get", "exists"}, x.Events[i].request()) || !x.refused(i, wire.CodeNoNode) {
			continue
		}
		l, is := x.find(func(l lived) bool { return l.Path == x.Events[i].Path && l.Until >= 0 && l.Until <= x.Events[i].Step })
		if _, has := x.held(op); is && has && l.Maker != op {
			return x.because(x.readOf(i), i, "%s was granted because %s had gone: it did not read the list again", x.who(op), l.Name)
		}
	}
	return nil
}

// grantBehind: an operation is granted something by a list of a server that is behind.
func (x evidence) grantBehind() *Cause {
	for _, op := range x.grants() {
		for _, i := range slices.Backward(x.requests(op)) {
			b, is := x.behind(i)
			if is && (b.Maker >= 0 && x.Operations[b.Maker].Cited || b.Maker >= 0 && x.sameUser(b.Maker, op)) {
				return x.lagging(i, b)
			}
		}
	}
	return nil
}

// lagging is the cause that is a server which is behind.
func (x evidence) lagging(i int, b lag) *Cause {
	return x.because(i, -1, "server %d is behind: it has not applied step %d, which %s %s", x.Events[i].Server, b.since, b.what, b.Name).spans(b.since)
}

// overtakes finds an operation that was granted something although its own list has another's znode that came before its own.
func (x evidence) overtakes() (list int, own, first lived, is bool) {
	for _, op := range x.grants() {
		own, has := x.held(op)
		i := x.lastRequest(op, func(i int) bool { return has && x.shows(i, own) })
		if i < 0 || !sequential.MatchString(own.Path) {
			continue
		}
		asked := func(of string) bool {
			return slices.ContainsFunc(x.requests(op), func(j int) bool { return j > i && x.Events[j].Path == of })
		}
		for _, l := range x.lives() {
			other := l.Maker >= 0 && x.Operations[l.Maker].Cited && !x.sameUser(l.Maker, op)
			readers := l.Maker >= 0 && operations.Of(x.Operations[l.Maker].Name).Reader && operations.Of(x.Operations[op].Name).Reader
			if other && !readers && x.shows(i, l) && l.From < own.From && sequential.MatchString(l.Path) && !asked(l.Path) && path.Dir(l.Path) == path.Dir(own.Path) {
				return i, own, l, true
			}
		}
	}
	return 0, lived{}, lived{}, false
}

// wrapAt is where the numbers of the sequential znodes below a path pass the greatest, and go on; -1 if they do not.
func (x evidence) wrapAt(dir string) int {
	return slices.IndexFunc(x.Events, func(e Event) bool {
		return e.Kind == kindFault && e.What == "wrap" && e.Path == dir && e.Ends == "numbers"
	})
}

// wrapped reports whether they do.
func (x evidence) wrapped(dir string) bool { return x.wrapAt(dir) >= 0 }

// wrappedOrder: who comes after the greatest number goes ahead of who came before, or comes out before.
func (x evidence) wrappedOrder() *Cause {
	if x.Property == "order" {
		for _, z := range x.Znodes {
			if z.Cited && x.wrapped(path.Dir(z.Path)) && sequential.MatchString(z.Path) {
				return x.because(-1, -1, "the numbers below %s pass 2147483647 and go on at -2147483648", x.short(path.Dir(z.Path))).spans(x.Events[x.wrapAt(path.Dir(z.Path))].Step)
			}
		}
		return nil
	}
	if list, own, first, is := x.overtakes(); is && x.wrapped(path.Dir(own.Path)) {
		return x.because(list, -1, "%s goes ahead although %s came before %s: the numbers have wrapped", x.doer(list), first.Name, own.Name)
	}
	for _, op := range x.grants() { // by a list from before the wrap, or by znodes asked for one by one
		own, has := x.held(op)
		if has && x.wrapped(path.Dir(own.Path)) && sequential.MatchString(own.Path) {
			for _, l := range x.lives() {
				if l.Maker >= 0 && x.Operations[l.Maker].Cited && !x.sameUser(l.Maker, op) && path.Dir(l.Path) == path.Dir(own.Path) && l.From < own.From && l.after(x.end(op)) {
					read := x.lastRequest(op, func(i int) bool { return x.listed(i) != nil })
					return x.because(read, -1, "%s goes ahead although %s came before %s: the numbers have wrapped", x.who(op), l.Name, own.Name)
				}
			}
		}
	}
	return nil
}

// misreadOrder: a client goes ahead of one that its own list has before it. Of equal numbers, which there are at the end of a
// counter, none is before the other.
func (x evidence) misreadOrder() *Cause {
	list, own, first, is := x.overtakes()
	if is && sequential.FindString(own.Path) != sequential.FindString(first.Path) {
		return x.because(list, -1, "%s goes ahead although %s is before %s in its list at step %d", x.doer(list), first.Name, own.Name, x.Events[list].Step)
	}
	return nil
}

// failedGrant: an operation is granted something although no request of it that writes was carried out, to its knowledge.
func (x evidence) failedGrant() *Cause {
	for _, op := range x.grants() {
		there := func(l lived) bool { return l.Maker >= 0 && x.sameUser(l.Maker, op) && l.after(x.end(op)) }
		wrote := func(i int) bool { return x.Events[i].writes() && x.Events[i].request() != "delete" && x.ok(i) }
		if slices.ContainsFunc(x.lives(), there) || slices.ContainsFunc(x.requests(op), wrote) || x.shared(op) {
			continue
		}
		failed := -1
		for i, e := range x.Events {
			if e.Operation == op && (e.Kind == kindFails || e.sent() && e.Kind == kindFault || e.sent() && e.writes() && e.request() != "delete" && !x.ok(i)) {
				failed = i
			}
		}
		if failed >= 0 {
			return x.because(-1, failed, "%s was granted although %s failed, and no znode of it is there", x.who(op), x.told(failed)).spans(x.end(op))
		}
		return x.because(-1, -1, "%s was granted, and no znode of it is there", x.who(op)).spans(x.Operations[op].Call, x.end(op))
	}
	return nil
}

// shared reports whether the users of a process may do an operation's requests for each other: then whose they are says nothing.
func (x evidence) shared(op int) bool {
	return len(x.requests(op)) == 0 && x.Clients[x.Operations[op].Client].Users > 1
}

// checkThenAct: between an operation's read and its write of one znode another has written it, and the write was not refused.
func (x evidence) checkThenAct() *Cause {
	for _, op := range x.cited() {
		for _, i := range slices.Backward(x.requests(op)) {
			e := x.Events[i]
			if e.request() != "set" || !x.ok(i) && !x.replyLost(i) {
				continue
			}
			read := x.lastRequest(op, func(j int) bool {
				return j < i && x.Events[j].Path == e.Path && slices.Contains([]string{"get", "exists"}, x.Events[j].request()) && x.ok(j)
			})
			if read < 0 {
				continue
			}
			if c := x.changed(read, e.Step); c >= 0 && x.Events[c].Operation >= 0 && !x.sameUser(x.Events[c].Operation, op) {
				return x.because(read, i, "%s sets %s at step %d by what it read at step %d, and %s changed it at step %d", x.who(op), x.short(e.Path), e.Step, x.Events[read].Step,
					x.doer(c), x.Events[c].Step)
			}
		}
	}
	return nil
}

// learned finds the expiry of the session by which a cited operation holds something, and of which its client has learned.
func (x evidence) learned() (op int, s Session, is bool) {
	for _, op := range x.cited() {
		for _, s := range x.Sessions {
			if s.Client == x.Operations[op].Client && s.Expired && s.Cited && s.Begin <= x.end(op) {
				return op, s, true
			}
		}
	}
	return 0, Session{}, false
}

// grantedLate: an operation was granted something by a znode whose session its client knew to have ended.
func (x evidence) grantedLate() *Cause {
	op, s, is := x.learned()
	if !is || s.Learned < 0 || s.Learned > x.end(op) {
		return nil
	}
	return x.because(-1, -1, "%s ended at step %d, %s learned that at step %d, and %s was granted at step %d", s.Name, s.End, x.Clients[s.Client].Name, s.Learned, x.who(op), x.end(op)).
		spans(s.End, x.end(op))
}

// notTold: a client goes on as the owner after it has learned that its session is gone.
func (x evidence) notTold() *Cause {
	_, s, is := x.learned()
	if !is {
		return nil
	}
	return x.expired(s)
}

// expired is the cause that is the end of a session.
func (x evidence) expired(s Session) *Cause {
	i := slices.IndexFunc(x.Events, func(e Event) bool { return e.Step == s.End && e.Client == s.Client })
	text := x.whyExpiry(x.Events[max(i, 0)], x.Clients[s.Client].Name)
	return x.because(-1, -1, "%s", text).spans(s.End, max(s.End, s.Learned))
}

func (x evidence) lateWrite() *Cause {
	for _, s := range x.Sessions {
		if s.Expired && slices.ContainsFunc(x.cited(), func(op int) bool { return x.Operations[op].Client == s.Client }) {
			return x.expired(s)
		}
	}
	return nil
}

func (x evidence) noExpiry() *Cause {
	for _, op := range x.cited() {
		if i := x.broken(x.Operations[op].Client, x.Operations[op].Call, 1<<62); i >= 0 {
			return x.because(-1, -1, "the connection of %s broke at step %d, and its session lives", x.Clients[x.Operations[op].Client].Name, x.Events[i].Step).spans(x.Events[i].Step)
		}
	}
	return nil
}
