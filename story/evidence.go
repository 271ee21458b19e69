package story

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/sim/world"
)

// evidence answers the questions that [rules] ask about a run.
type evidence struct{ prose }

// lived is a znode from one creation to its deletion.
type lived struct {
	Znode
	Life
}

// same reports whether two are one znode.
func (l lived) same(m lived) bool { return l.Path == m.Path && l.From == m.From }

// ephemeral reports whether it belongs to a session.
func (l lived) ephemeral() bool { return l.Owner >= 0 }

// after reports whether it is there after a step, and before the step of a request that arrives in the next.
func (l lived) after(step int64) bool { return l.From <= step && (l.Until < 0 || step < l.Until) }

// lives are all znodes that have lived, by their creation.
func (x evidence) lives() (all []lived) {
	for _, z := range x.Znodes {
		for _, l := range z.Lives {
			all = append(all, lived{z, l})
		}
	}
	slices.SortStableFunc(all, func(a, b lived) int { return int(a.From - b.From) })
	return all
}

// find returns the last znode created for which a condition holds.
func (x evidence) find(is func(l lived) bool) (lived, bool) {
	all := x.lives()
	for _, l := range slices.Backward(all) {
		if is(l) {
			return l, true
		}
	}
	return lived{}, false
}

// at is the znode that was at a path when the request of an event arrived.
func (x evidence) at(of string, i int) (lived, bool) {
	return x.find(func(l lived) bool { return l.Path == of && l.after(x.Events[i].Step-1) })
}

// made are the znodes that the request of an event has created.
func (x evidence) made(i int) (all []lived) {
	if e := x.Events[i]; slices.Contains([]string{"create", "multi"}, e.request()) {
		all = slices.DeleteFunc(x.lives(), func(l lived) bool { return l.From != e.Step || e.Path == l.Path && l.Maker != e.Operation })
	}
	return all
}

// maker is the event whose request has created a znode, -1 if no client has.
func (x evidence) maker(l lived) int {
	return slices.IndexFunc(x.Events, func(e Event) bool {
		return e.Step == l.From && e.sent() && slices.Contains([]string{"create", "multi"}, e.request())
	})
}

// request is the name of the request that an event is about, "" if it is about none.
func (e Event) request() string {
	switch {
	case e.Kind == kindRequest || e.Kind == kindExchange || e.Kind == kindReply || e.Kind == kindFails:
		name, _, _ := strings.Cut(e.What, "+")
		return name
	case e.Kind == kindFault && (e.Lost == string(world.LostRequest) || e.Lost == string(world.LostReply)):
		name, _, _ := strings.Cut(e.Subject, "+")
		return name
	}
	return ""
}

// sent reports whether an event is a request of the recipe, carried out or lost on the way; not one that only fails in the client.
func (e Event) sent() bool {
	return e.Kind != kindReply && e.Kind != kindFails && e.request() != "" && !slices.Contains([]string{"setWatches", "close", "auth"}, e.request())
}

// watches reports whether a request sets a watch.
func (e Event) watches() bool { return strings.HasSuffix(e.What, "+watch") }

// writes reports whether a request leaves something behind.
func (e Event) writes() bool {
	return slices.Contains([]string{"create", "delete", "set", "multi", "setACL"}, e.request())
}

// requests are the events of the requests of an operation, in the order of their arrival.
func (x evidence) requests(op int) (all []int) {
	for i, e := range x.Events {
		if e.Operation == op && e.sent() {
			all = append(all, i)
		}
	}
	return all
}

// lastRequest is the last request of an operation for which a condition holds, -1 if there is none.
func (x evidence) lastRequest(op int, is func(i int) bool) int {
	for _, i := range slices.Backward(x.requests(op)) {
		if is(i) {
			return i
		}
	}
	return -1
}

// answer is the event that brings the answer to a request, -1 if none came.
func (x evidence) answer(i int) int {
	switch x.Events[i].Kind {
	case kindExchange:
		return i
	case kindRequest:
		return slices.IndexFunc(x.Events, func(e Event) bool { return e.Kind == kindReply && e.From == i })
	}
	return -1
}

// refused reports whether a request was answered with an error.
func (x evidence) refused(i int, code wire.Code) bool {
	a := x.answer(i)
	return a >= 0 && x.Events[a].Refused == reason(code)
}

// ok reports whether a request was carried out, and its client knows it.
func (x evidence) ok(i int) bool {
	a := x.answer(i)
	return a >= 0 && x.Events[a].Refused == ""
}

// replyLost reports whether a request that writes was carried out, and its reply has never come although its process lives.
func (x evidence) replyLost(i int) bool {
	e := x.Events[i]
	switch {
	case !e.writes():
		return false
	case e.Kind == kindFault:
		return e.Lost == string(world.LostReply) && e.What != "crash"
	}
	broke := func(f Event) bool {
		return f.Client == e.Client && f.Step > e.Step && (f.Kind == kindFault && f.What != "crash" && f.What != "cancel" && f.What != "stall" || f.Kind == kindClosed)
	}
	return e.Kind == kindRequest && x.answer(i) < 0 && slices.ContainsFunc(x.Events, broke) && !x.crashed(e.Client, e.Step)
}

// requestLost reports whether a request has not been carried out because its connection broke, or there was none.
func (e Event) requestLost() bool { return e.Kind == kindFault && e.Lost == string(world.LostRequest) }

// crashed reports whether the process of a client has died after a step.
func (x evidence) crashed(client int, step int64) bool {
	return slices.ContainsFunc(x.Events, func(e Event) bool {
		return e.Client == client && e.Kind == kindFault && e.What == "crash" && e.Step >= step
	})
}

// struck reports whether a fault has struck.
func (x evidence) struck(f world.Faults) bool {
	struck, _ := world.ParseFaults(x.Struck)
	return struck.Has(f)
}

// calm reports whether no fault has struck.
func (x evidence) calm() bool {
	struck, _ := world.ParseFaults(x.Struck)
	return struck == world.NoFaults
}

// of reports whether the kind is one of some that this project has: of a kind of one's own names say nothing.
func (x evidence) of(kinds ...string) bool { return slices.Contains(kinds, x.Workload) }

// builtIn are the kinds that this project has.
var builtIn = []string{
	"lock", "rwlock", "semaphore", "election", "queue", "priorityqueue", "lockingqueue", "counter", "barrier", "doublebarrier",
	"membership", "registry", "cache", "shards", "ids",
}

// breaks reports whether the property is one of some.
func (x evidence) breaks(properties ...string) bool { return slices.Contains(properties, x.Property) }

// cited are the operations that the verdict names, the last to return first; those that never return come first of all. Of a
// verdict that names none they are all.
func (x evidence) cited() (all []int) {
	for i, o := range x.Operations {
		if o.Cited || !slices.ContainsFunc(x.Operations, func(o Operation) bool { return o.Cited }) {
			all = append(all, i)
		}
	}
	end := func(i int) int64 {
		if o := x.Operations[i]; o.Return >= 0 {
			return o.Return
		}
		return 1 << 62
	}
	slices.SortStableFunc(all, func(a, b int) int { return int(min(1, max(-1, end(b)-end(a)))) })
	return all
}

// grants are the cited operations that were granted something, the last first.
func (x evidence) grants() []int {
	return slices.DeleteFunc(x.cited(), func(op int) bool {
		o := x.Operations[op]
		role := operations.Of(o.Name).Role
		return o.Outcome != world.OK.String() || role != operations.Grant && role != operations.Enter && role != operations.Wait
	})
}

// waiting are the operations that wait for ever.
func (x evidence) waiting() (all []int) {
	for _, w := range x.Waits {
		if w.Operation >= 0 && x.Operations[w.Operation].Name != "rest" {
			all = append(all, w.Operation)
		}
	}
	return all
}

// awaits are the znodes and paths for which a waiting operation's session has armed watches.
func (x evidence) awaits(op int) []Awaited {
	for _, w := range x.Waits {
		if w.Operation == op {
			return w.For
		}
	}
	return nil
}

// who names an operation with its user.
func (x evidence) who(op int) string {
	o := x.Operations[op]
	return x.user(o.Client, o.User) + "'s " + o.Name + "()"
}

// doer names who did an event: an operation, else the client.
func (x evidence) doer(i int) string {
	e := x.Events[i]
	if e.Operation >= 0 {
		return x.who(e.Operation)
	}
	return x.user(e.Client, max(e.User, 0))
}

// sameUser reports whether two operations are of one user of one process.
func (x evidence) sameUser(a, b int) bool {
	return x.Operations[a].Client == x.Operations[b].Client && x.Operations[a].User == x.Operations[b].User
}

// own are the znodes that an operation has made, by their creation.
func (x evidence) own(op int) (all []lived) {
	return slices.DeleteFunc(x.lives(), func(l lived) bool { return l.Maker != op || len(x.children(l.Path)) > 0 })
}

// children are the znodes that were ever below a path.
func (x evidence) children(of string) (all []Znode) {
	return slices.DeleteFunc(slices.Clone(x.Znodes), func(z Znode) bool { return path.Dir(z.Path) != of })
}

// listed are the names that a request has been answered with, below its path; nil if it is no list.
func (x evidence) listed(i int) []string {
	a := x.answer(i)
	if a < 0 || x.Events[i].request() != "children" || x.Events[a].Refused != "" {
		return nil
	}
	return strings.Fields(strings.Trim(x.Events[a].Answer, "= []"))
}

// shows reports whether a list has a znode.
func (x evidence) shows(i int, l lived) bool {
	return path.Dir(l.Path) == x.Events[i].Path && slices.Contains(x.listed(i), path.Base(l.Path))
}

// end is when an operation has returned; the last step if it never does.
func (x evidence) end(op int) int64 {
	if o := x.Operations[op]; o.Return >= 0 {
		return o.Return
	}
	return x.Events[len(x.Events)-1].Step
}

// returned is the event of an operation's return, the number of events if it never does.
func (x evidence) returned(op int) int {
	if i := slices.IndexFunc(x.Events, func(e Event) bool { return e.Kind == kindReturn && e.Operation == op }); i >= 0 {
		return i
	}
	return len(x.Events)
}

// giveBack is the operation by which a user gives back what an operation has granted, -1 if there is none.
func (x evidence) giveBack(op int) int {
	back := operations.Of(x.Operations[op].Name).Back
	return slices.IndexFunc(x.Operations, func(o Operation) bool {
		of := x.Operations[op]
		return o.Name == back && o.Client == of.Client && o.User == of.User && of.Return >= 0 && o.Call >= of.Return
	})
}

// deletes lists the requests that ask for the deletion of a path, alone or with others.
func (x evidence) deletes(of string) (all []int) {
	for i, e := range x.Events {
		if e.sent() && e.deletion(of) {
			all = append(all, i)
		}
	}
	return all
}

// deletion reports whether a request asks for the deletion of a path, alone or with others.
func (e Event) deletion(of string) bool {
	return e.request() == "delete" && e.Path == of || strings.Contains(e.Parts, "delete "+of+"\n")
}

// deleter is the request that has deleted a znode, -1 if its session's end or somebody else has.
func (x evidence) deleter(l lived) int {
	i := slices.IndexFunc(x.deletes(l.Path), func(i int) bool { return x.Events[i].Step == l.Until })
	if l.Until < 0 || i < 0 {
		return -1
	}
	return x.deletes(l.Path)[i]
}

// lag is a change that a server had not applied when it answered.
type lag struct {
	lived
	since int64 // the step of the change
	what  string
}

// behind finds what an answer does not show yet: its server was behind. What has changed in the step itself does not count.
func (x evidence) behind(i int) (found lag, is bool) {
	e, a := x.Events[i], x.answer(i)
	if a < 0 || x.Servers < 2 || slices.Contains([]string{"sync", "create", "delete", "set", "multi"}, e.request()) {
		return lag{}, false
	}
	reply, list := x.Events[a], e.request() == "children"
	for _, l := range x.lives() {
		there, about := l.after(e.Step-1), l.Path == e.Path
		switch {
		case list && path.Dir(l.Path) == e.Path && reply.Refused == "":
			shown := slices.Contains(x.listed(i), path.Base(l.Path))
			if there && !shown {
				found, is = lag{l, l.From, "made"}, true
			} else if now, _ := x.at(l.Path, i); shown && l.Until >= 0 && l.Until < e.Step && now.Path == "" {
				found, is = lag{l, l.Until, "deleted"}, true
			}
		case (about || list && path.Dir(l.Path) == e.Path) && there && reply.Refused == reason(wire.CodeNoNode):
			found, is = lag{l, l.From, "made"}, true
		case about && e.request() == "get" && there && reply.Refused == "" && len(l.Sets) > 0:
			for k, at := range slices.Backward(l.Sets) {
				if at < e.Step {
					if data, err := strconv.Unquote(strings.TrimPrefix(reply.Answer, "= ")); err == nil && k+1 < len(l.Data) && shown([]byte(data)) != l.Data[k+1] {
						found, is = lag{l, at, "set"}, true
					}
					break
				}
			}
		}
	}
	return found, is
}

// synced reports whether an operation has asked its server to catch up before a request, since its last one on another connection.
func (x evidence) synced(i int) bool {
	return slices.ContainsFunc(x.requests(x.Events[i].Operation), func(j int) bool {
		return j < i && x.Events[j].request() == "sync" && x.Events[j].Server == x.Events[i].Server
	})
}

// changed is the first change of a path, or of a directory's list, after a read and before a step, by somebody other than its operation: its event.
func (x evidence) changed(read int, before int64) int {
	e := x.Events[read]
	for _, l := range x.lives() {
		list := e.request() == "children" && path.Dir(l.Path) == e.Path
		if l.Path != e.Path && !list {
			continue
		}
		for _, at := range append([]int64{l.From, l.Until}, l.Sets...) {
			if at > e.Step && at < before {
				return slices.IndexFunc(x.Events, func(c Event) bool { return c.Step == at && c.Kind != kindCall && c.Kind != kindReturn })
			}
		}
	}
	return -1
}

// ended reports the end of a session of a client in some steps, and its event.
func (x evidence) ended(client int, from, until int64) (Session, int) {
	for _, s := range x.Sessions {
		if s.Client == client && s.Expired && s.End >= from && s.End <= until {
			return s, slices.IndexFunc(x.Events, func(e Event) bool { return e.Step == s.End && (e.Kind == kindFault || e.Kind == kindEnds) })
		}
	}
	return Session{}, -1
}

// sequential matches a name that ends with a number of the servers'.
var sequential = regexp.MustCompile(`-?\d{10}$`)

// never reports whether nothing was ever at a path.
func (x evidence) never(of string) bool {
	return !slices.ContainsFunc(x.lives(), func(l lived) bool { return l.Path == of })
}
