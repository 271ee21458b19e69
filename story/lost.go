package story

import (
	"path"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/sim/world"
)

// What the rules find about values and items: what was read, lost, or done twice; and about objects and tries.

// deposedRead: a leader that has been deposed answers a read.
func (x evidence) deposedRead() *Cause {
	if !x.struck(world.Deposed) {
		return nil
	}
	for _, op := range x.cited() {
		for _, i := range slices.Backward(x.requests(op)) {
			if b, is := x.behind(i); is {
				c := x.lagging(i, b)
				c.Text = strings.Replace(c.Text, " is behind", " has been deposed, and does not know it", 1)
				return c
			}
		}
	}
	return nil
}

// readBehind: a read that goes wrong was answered by a server that is behind, without a sync before.
func (x evidence) readBehind() *Cause {
	for _, op := range x.cited() {
		for _, i := range slices.Backward(x.requests(op)) {
			if b, is := x.behind(i); is && !x.synced(i) {
				return x.lagging(i, b)
			}
		}
	}
	return nil
}

// removed are the znodes that an operation has deleted, each with its request.
func (x evidence) removed(op int) (all []lived, by []int) {
	for _, l := range x.lives() {
		if d := x.deleter(l); d >= 0 && x.Events[d].Operation == op {
			all, by = append(all, l), append(by, d)
		}
	}
	return all, by
}

// otherZnode: an operation deletes another znode than the one that it has read under that name.
func (x evidence) otherZnode() *Cause {
	for _, op := range x.cited() {
		all, by := x.removed(op)
		for k, l := range all {
			read := x.lastRequest(op, func(i int) bool { return x.Events[i].Path == l.Path && x.Events[i].request() == "get" && x.ok(i) })
			if read < 0 || x.Events[read].Step > l.From {
				continue
			}
			return x.because(read, by[k], "%s deletes %s at step %d, which is another than the one that it read at step %d: that was made anew at step %d",
				x.who(op), l.Name, l.Until, x.Events[read].Step, l.From)
		}
	}
	return nil
}

// missedDelete: an operation goes on as if it had deleted what was gone.
func (x evidence) missedDelete() *Cause {
	for _, op := range x.cited() {
		if x.Operations[op].Outcome != world.OK.String() || operations.Of(x.Operations[op].Name).Role != operations.Removal {
			continue
		}
		all := x.requests(op)
		if len(all) == 0 {
			continue
		}
		i := all[len(all)-1]
		if e := x.Events[i]; e.request() == "delete" && x.refused(i, wire.CodeNoNode) && !x.never(e.Path) && x.lostBefore(i, func(j int) bool { return x.Events[j].Path == e.Path }) < 0 {
			return x.because(x.readOf(i), i, "%s goes on as if it had deleted %s, which was gone", x.who(op), x.short(e.Path))
		}
	}
	return nil
}

// lostRemoval: a delete of an item was carried out, its reply was lost, and the item is nobody's.
func (x evidence) lostRemoval() *Cause {
	for i, e := range x.Events {
		if !e.sent() || e.request() != "delete" && e.request() != "multi" || !x.replyLost(i) {
			continue
		}
		if _, is := x.find(func(l lived) bool {
			return l.Until == e.Step && x.deleter(l) == i && (l.Cited || x.relevant(e) || x.Property == "lost")
		}); is {
			return x.because(-1, i, "%s was carried out, and its reply was lost", x.told(i))
		}
	}
	return nil
}

// consumed: what a create whose reply was lost has made was gone when the same operation made it again.
func (x evidence) consumed() *Cause {
	for _, l := range x.lives() {
		m := x.lostMaker(l)
		if m < 0 || l.Maker < 0 || l.Until < 0 || !x.Operations[l.Maker].Cited {
			continue
		}
		again := x.lastRequest(l.Maker, func(i int) bool {
			return x.Events[i].Step > l.Until && x.Events[i].request() == x.Events[m].request() && len(x.made(i)) > 0
		})
		if again >= 0 {
			return x.because(m, again, "%s was carried out, its reply was lost, and what it made was gone at step %d: %s made it again at step %d", x.told(m), l.Until, x.who(l.Maker), x.Events[again].Step)
		}
	}
	return nil
}

// doneTwice: a request whose reply was lost is made once more, with effect, by the same operation.
func (x evidence) doneTwice() *Cause {
	for i, e := range x.Events {
		if !e.sent() || !x.replyLost(i) || e.Operation < 0 {
			continue
		}
		again := x.lastRequest(e.Operation, func(j int) bool {
			n := x.Events[j]
			again := n.Path == e.Path && n.writes() && n.request() != "delete"
			return j > i && x.ok(j) && (again || n.request() == e.request() && (n.Path == e.Path || e.request() == "create" && path.Dir(n.Path) == path.Dir(e.Path)))
		})
		if again >= 0 && x.Operations[e.Operation].Cited {
			return x.because(i, again, "%s was carried out, and its reply was lost: %s did it again at step %d", x.told(i), x.who(e.Operation), x.Events[again].Step)
		}
	}
	return nil
}

// notMade: an operation that was to make something returned without an error, and has made nothing.
func (x evidence) notMade() *Cause {
	for _, op := range x.cited() {
		o := x.Operations[op]
		role := operations.Of(o.Name).Role
		if o.Outcome != world.OK.String() || role != operations.Offer && !(x.of("registry", "membership") && slices.Contains([]string{"register", "join"}, o.Name)) {
			continue
		}
		if slices.ContainsFunc(x.lives(), func(l lived) bool { return l.Maker == op }) || slices.ContainsFunc(x.requests(op), func(i int) bool { return x.refused(i, wire.CodeNodeExists) }) {
			continue
		}
		failed := x.lastRequest(op, func(i int) bool { return x.Events[i].writes() && !x.ok(i) })
		if k := slices.IndexFunc(x.Events, func(e Event) bool { return e.Operation == op && e.Kind == kindFails }); k >= 0 && failed < 0 {
			failed = k
		}
		return x.because(-1, failed, "%s returned without an error, and has made nothing", x.who(op)).spans(o.Call, x.end(op))
	}
	return nil
}

// itemEphemeral: an item has gone with the session of who has offered it.
func (x evidence) itemEphemeral() *Cause {
	for _, op := range x.cited() {
		for _, l := range x.own(op) {
			if operations.Of(x.Operations[op].Name).Role == operations.Offer && l.Expired {
				return x.because(-1, x.maker(l), "%s went with %s at step %d", l.Name, x.Sessions[l.Owner].Name, l.Until).spans(l.Until)
			}
		}
	}
	return nil
}

// raced: a removal finds the queue empty because what it had listed was gone.
func (x evidence) raced() *Cause {
	for _, op := range x.cited() {
		all := x.requests(op)
		if o := x.Operations[op]; len(all) == 0 || o.Outcome != world.OK.String() || o.Result != "" || operations.Of(o.Name).Role != operations.Removal {
			continue
		}
		i := all[len(all)-1]
		read := x.readOf(i)
		if x.refused(i, wire.CodeNoNode) && read >= 0 && len(x.listed(read)) > 0 && slices.Contains([]string{"get", "delete"}, x.Events[i].request()) {
			return x.because(read, i, "%s says that it is empty because %s, which it had listed, was gone at step %d", x.who(op), x.short(x.Events[i].Path), x.Events[i].Step)
		}
	}
	return nil
}

// claimFirst: what says that an item is claimed is deleted before the item, and another claims it in between.
func (x evidence) claimFirst() *Cause {
	for _, op := range x.cited() {
		all := x.requests(op)
		for k, i := range all {
			e := x.Events[i]
			if e.request() != "delete" || !x.ok(i) || k+1 >= len(all) || x.Events[all[k+1]].request() != "delete" || x.Events[all[k+1]].Path == e.Path {
				continue
			}
			if l, is := x.find(func(l lived) bool { return l.Path == e.Path && l.From > e.Step && l.Maker >= 0 && l.Maker != op }); is {
				return x.because(i, all[k+1], "%s deletes %s at step %d, before %s at step %d: %s makes it anew at step %d", x.who(op), l.Name, e.Step,
					x.short(x.Events[all[k+1]].Path), x.Events[all[k+1]].Step, x.who(l.Maker), l.From)
			}
		}
	}
	return nil
}

// priorities: an item is taken although the list has one that is taken later and was to come before it.
func (x evidence) priorities() *Cause {
	for _, op := range x.cited() {
		all, by := x.removed(op)
		list := x.lastRequest(op, func(i int) bool { return x.listed(i) != nil })
		if len(all) != 1 || list < 0 || !x.shows(list, all[0]) {
			continue
		}
		for _, l := range x.lives() {
			if !l.same(all[0]) && x.shows(list, l) && l.Maker >= 0 && x.Operations[l.Maker].Cited && l.Until > all[0].Until {
				return x.because(list, by[0], "%s takes %s although its list has %s, which was to come before it", x.who(op), all[0].Name, l.Name)
			}
		}
	}
	return nil
}

// oldList: an operation takes an item without having listed since an earlier one.
func (x evidence) oldList() *Cause {
	for _, op := range x.cited() {
		all, by := x.removed(op)
		if len(all) == 0 || slices.ContainsFunc(x.requests(op), func(i int) bool { return x.Events[i].request() == "children" }) {
			continue
		}
		for i, e := range slices.Backward(x.Events[:by[0]]) {
			if x.shows(i, all[0]) && e.Client == x.Operations[op].Client {
				return x.because(i, by[0], "%s takes %s by the list of step %d, which has nothing of what came since", x.who(op), all[0].Name, e.Step)
			}
		}
	}
	return nil
}

// lateReply: the answer to an older read is told after that to a newer one.
func (x evidence) lateReply() *Cause {
	if !x.struck(world.Stall) {
		return nil
	}
	for _, op := range x.cited() {
		o := x.Operations[op]
		for i, e := range x.Events {
			newer := slices.ContainsFunc(x.Events[i+1:], func(n Event) bool {
				return n.sent() && n.request() == "get" && n.Client == e.Client && n.Path == e.Path && n.Step < o.Return && n.Answer != e.Answer
			})
			if e.sent() && e.request() == "get" && e.Client == o.Client && newer && o.Result != "" && strings.Contains(e.Answer, o.Result) && e.Step < o.Call {
				return x.because(i, -1, "%s tells the answer of step %d, which was read after a newer one", x.who(op), e.Step).spans(o.Return)
			}
		}
	}
	return nil
}

// toldAgain: an operation is woken, reads what was told before, and tells it again.
func (x evidence) toldAgain() *Cause {
	for _, op := range x.cited() {
		i := x.lastRequest(op, func(i int) bool { return x.Events[i].request() == "get" && x.ok(i) })
		if i < 0 {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			b := x.Events[j]
			if b.sent() && b.request() == "get" && b.Client == x.Events[i].Client && b.Path == x.Events[i].Path && x.ok(j) && x.changed(j, x.Events[i].Step) < 0 && b.Operation != op {
				return x.because(i, -1, "%s tells at step %d what was told after the read at step %d: nothing has changed in between", x.who(op), x.Events[i].Step, b.Step).spans(b.Step)
			}
		}
	}
	return nil
}

// numberedOn: the number that is out of range is one that the servers have given.
func (x evidence) numberedOn() *Cause {
	for _, op := range x.cited() {
		for _, l := range x.own(op) {
			if sequential.MatchString(l.Path) && len(x.own(op)) == 1 {
				return x.because(-1, x.maker(l), "%s has the next sequence number below %s, and never one that was given before", l.Name, x.short(path.Dir(l.Path)))
			}
		}
	}
	return nil
}

// keptError: calls fail without a request, although servers can be reached.
func (x evidence) keptError() *Cause {
	failed := 0
	for op, o := range slices.Backward(x.Operations) {
		switch {
		case !o.Cited && failed == 0 || o.Outcome == world.OK.String():
			return nil
		case len(x.requests(op)) > 0 || slices.ContainsFunc(x.Events, func(e Event) bool { return e.Kind == kindFails && e.Operation == op }):
			return nil
		}
		if failed++; failed == 2 {
			return x.because(-1, -1, "%s fails and sends no request", x.who(op)).spans(o.Call, x.end(op))
		}
	}
	return nil
}

// tryWaits: a try waits for what another client does.
func (x evidence) tryWaits() *Cause {
	for _, op := range x.cited() {
		if !operations.Of(x.Operations[op].Name).Tries {
			continue
		}
		if i := x.lastRequest(op, func(i int) bool { return x.Events[i].watches() }); i >= 0 {
			return x.because(-1, i, "%s watches %s at step %d, and waits for it", x.who(op), x.short(x.Events[i].Path), x.Events[i].Step)
		}
	}
	return nil
}
