package story

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/world"
)

// What the rules find in requests that were refused. Each returns nil if the run does not show it.

// because is a cause that begins at one request, and is decided by another; -1: by none.
func (x evidence) because(read, decided int, format string, args ...any) *Cause {
	c := &Cause{Read: read, Event: decided, Text: fmt.Sprintf(format, args...), From: -1, To: -1}
	for _, i := range []int{read, decided} {
		if i >= 0 {
			c.spans(x.Events[i].Step)
		}
	}
	return c
}

// spans widens the steps of a cause.
func (c *Cause) spans(steps ...int64) *Cause {
	for _, at := range steps {
		if c.To < 0 {
			c.From = at
		}
		c.From, c.To = min(c.From, at), max(c.To, at)
	}
	return c
}

func (x evidence) noRequest() *Cause {
	if !x.calm() || slices.ContainsFunc(x.Events, Event.sent) || len(x.cited()) == 0 || slices.ContainsFunc(x.Events, func(e Event) bool { return e.Kind == kindFails }) {
		return nil
	}
	return x.because(-1, -1, "no client has sent any request")
}

// lostBefore is an earlier request of a client whose reply was lost and that made, or set, a path; -1 if there is none.
func (x evidence) lostBefore(i int, is func(j int) bool) int {
	for j := i - 1; j >= 0; j-- {
		if e := x.Events[j]; e.Client == x.Events[i].Client && e.sent() && x.replyLost(j) && is(j) {
			return j
		}
	}
	return -1
}

// ownExists: a create is refused by the znode that the client itself has made, and whose reply was lost.
func (x evidence) ownExists() *Cause {
	for _, op := range x.cited() {
		for _, i := range slices.Backward(x.requests(op)) {
			if !x.refused(i, wire.CodeNodeExists) {
				continue
			}
			lost := x.lostBefore(i, func(j int) bool {
				return x.Events[j].Path == x.Events[i].Path && slices.ContainsFunc(x.made(j), func(l lived) bool { return l.after(x.Events[i].Step - 1) })
			})
			if lost >= 0 {
				return x.because(lost, i, "%s had been carried out, its reply was lost: \"node exists\" at step %d tells of %s's own znode",
					x.told(lost), x.Events[i].Step, x.Clients[x.Events[i].Client].Name)
			}
		}
	}
	return nil
}

// ownConflict: a set is refused because the client's own, whose reply was lost, has raised the version.
func (x evidence) ownConflict() *Cause {
	for _, op := range x.cited() {
		for _, i := range x.requests(op) {
			if !x.refused(i, wire.CodeBadVersion) {
				continue
			}
			if lost := x.lostBefore(i, func(j int) bool { return x.Events[j].Path == x.Events[i].Path && x.Events[j].request() == "set" }); lost >= 0 {
				return x.because(lost, i, "%s had been carried out, its reply was lost: the conflict at step %d is with itself", x.told(lost), x.Events[i].Step)
			}
		}
	}
	return nil
}

// told names a request with its step.
func (x evidence) told(i int) string {
	e := x.Events[i]
	return fmt.Sprintf("%s at step %d", join(e.request(), x.short(e.named())), e.Step)
}

// named is the path that a request is about: that of the znode that it has made, if the server chose its name.
func (e Event) named() string {
	if e.Made != "" {
		return e.Made
	}
	return e.Path
}

// noSuchName: a path is asked for that never exists, and is that of a sequential znode but for its number.
func (x evidence) noSuchName() *Cause {
	for _, op := range x.cited() {
		for _, i := range x.requests(op) {
			e := x.Events[i]
			if e.request() == "create" || !x.refused(i, wire.CodeNoNode) || !x.never(e.Path) {
				continue
			}
			for _, l := range x.lives() {
				stem := sequential.ReplaceAllString(l.Path, "")
				rest, of := strings.CutPrefix(e.Path, stem)
				if stem == l.Path || !of || l.From > e.Step || strings.Trim(rest, "-0123456789") != "" || path.Base(stem) == "/" || len(path.Base(stem)) == 0 || strings.HasSuffix(stem, "/") {
					continue
				}
				return x.because(x.maker(l), i, "%s asks for %s at step %d, which never exists: the znode is %s", x.doer(i), unique(e.Path), e.Step, unique(l.Path))
			}
		}
	}
	return nil
}

// unique is the last part of a path with its number, and without what no other has.
func unique(of string) string { return identity.ReplaceAllString(path.Base(of), "…") }

// oldOwner is the session of an earlier life of the client of an event that owns a znode.
func (x evidence) oldOwner(l lived, i int) (Session, bool) {
	e := x.Events[i]
	if !l.ephemeral() || l.Owner == e.Session || e.Session < 0 || x.Sessions[l.Owner].Client != e.Client {
		return Session{}, false
	}
	return x.Sessions[l.Owner], x.Sessions[l.Owner].Begin <= x.Sessions[e.Session].Begin
}

// oldSession: a create is refused by a znode of the client's old session, which is taken for its own.
func (x evidence) oldSession() *Cause {
	for i, e := range x.Events {
		if !e.sent() || e.request() != "create" || !x.refused(i, wire.CodeNodeExists) || !x.relevant(e) {
			continue
		}
		if l, is := x.at(e.Path, i); is {
			if old, is := x.oldOwner(l, i); is {
				c := x.because(-1, i, "\"node exists\" at step %d tells of %s of %s, an old session of %s", e.Step, l.Name, old.Name, x.Clients[e.Client].Name)
				if l.Until > 0 {
					c.spans(l.Until)
					c.Text += fmt.Sprintf("; it goes at step %d", l.Until)
				}
				return c
			}
		}
	}
	return nil
}

// oldSessionRead: an operation is granted something without a znode in its session, after it has read one of its old session.
func (x evidence) oldSessionRead() *Cause {
	if !x.breaks("exclusion", "belief", "self-block") || !x.of(contended...) {
		return nil
	}
	for _, op := range x.cited() {
		if x.Operations[op].Outcome != world.OK.String() && x.Property != "self-block" {
			continue
		}
		for _, i := range slices.Backward(x.requests(op)) {
			for _, l := range x.lives() {
				old, is := x.oldOwner(l, i)
				seen := l.Path == x.Events[i].Path && x.ok(i) && slices.Contains([]string{"get", "exists"}, x.Events[i].request())
				made := slices.ContainsFunc(x.lives(), func(m lived) bool { return m.Maker == op && m.Owner == x.Events[i].Session })
				if is && l.From < x.Events[i].Step && !made && (seen || x.shows(i, l)) && l.Maker >= 0 && x.sameUser(l.Maker, op) {
					return x.because(x.maker(l), i, "%s takes %s of %s, its old session, for its own", x.who(op), l.Name, old.Name)
				}
			}
		}
	}
	return nil
}

// relevant reports whether an event is of an operation, or about a znode, that the verdict names.
func (x evidence) relevant(e Event) bool {
	return e.Operation >= 0 && x.Operations[e.Operation].Cited ||
		slices.ContainsFunc(x.Znodes, func(z Znode) bool { return z.Cited && z.Path == e.named() })
}

// oneName: a member's ephemeral znode has the name of another's, which refuses it or is deleted for it.
func (x evidence) oneName() *Cause {
	for i, e := range x.Events {
		if !e.sent() || e.request() != "create" || !x.refused(i, wire.CodeNodeExists) || !x.relevant(e) && x.Property != "missing" {
			continue
		}
		l, is := x.at(e.Path, i)
		if is && l.ephemeral() && l.Maker >= 0 && e.Operation >= 0 && !x.sameUser(l.Maker, e.Operation) && x.Operations[l.Maker].Arg != x.Operations[e.Operation].Arg ||
			is && l.ephemeral() && l.Maker >= 0 && e.Operation >= 0 && x.of("doublebarrier") && !x.sameUser(l.Maker, e.Operation) {
			return x.because(x.maker(l), i, "%s makes %s at step %d, which %s has made at step %d", x.doer(i), l.Name, e.Step, x.who(l.Maker), l.From)
		}
	}
	return nil
}

// refusal finds the refused request whose error an operation returned, if it is of a sort.
func (x evidence) fails(is func(x evidence, i int) *Cause) *Cause {
	for _, op := range x.cited() {
		told := func(i int) bool {
			a := x.answer(i)
			return a >= 0 && x.Events[a].Refused != "" && strings.Contains(x.Operations[op].Error, x.Events[a].Refused)
		}
		i := x.lastRequest(op, func(i int) bool { return told(i) && x.Events[i].request() != "delete" }) // a delete may clean up
		if i < 0 {
			i = x.lastRequest(op, told)
		}
		if i >= 0 {
			return is(x, i)
		}
	}
	return nil
}

// refusal is fails as a rule's question.
func refusal(is func(x evidence, i int) *Cause) func(x evidence) *Cause {
	return func(x evidence) *Cause { return x.fails(is) }
}

func ephemeralParent(x evidence, i int) *Cause {
	if !x.refused(i, wire.CodeNoChildrenForEphemerals) {
		return nil
	}
	l, is := x.at(path.Dir(x.Events[i].Path), i)
	if !is || !l.ephemeral() {
		return nil
	}
	return x.because(x.maker(l), i, "%s is ephemeral", l.Name)
}

func alreadyDone(x evidence, i int) *Cause {
	if !x.refused(i, wire.CodeNoNode) || x.Events[i].request() != "delete" {
		return nil
	}
	lost := x.lostBefore(i, func(j int) bool { return x.Events[j].request() == "delete" && x.Events[j].Path == x.Events[i].Path })
	if lost < 0 {
		return nil
	}
	return x.because(lost, i, "%s had been carried out, its reply was lost", x.told(lost))
}

// missing is the path of which "no node" tells: of a create its parent.
func (x evidence) missing(i int) string {
	if x.Events[i].request() == "create" {
		return path.Dir(x.Events[i].Path)
	}
	return x.Events[i].Path
}

func noParent(x evidence, i int) *Cause {
	e := x.Events[i]
	if e.request() != "create" || !x.refused(i, wire.CodeNoNode) || slices.ContainsFunc(x.lives(), func(l lived) bool { return l.Path == x.missing(i) && l.From < e.Step }) {
		return nil
	}
	return x.because(-1, i, "nobody had made %s, the parent, before step %d", x.short(x.missing(i)), e.Step)
}

func parentGone(x evidence, i int) *Cause {
	e := x.Events[i]
	of := x.missing(i)
	if !x.refused(i, wire.CodeNoNode) {
		return nil
	}
	l, is := x.find(func(l lived) bool { return l.Path == of && l.Until >= 0 && l.Until < e.Step })
	reaped := slices.ContainsFunc(x.Events, func(f Event) bool { return f.Kind == kindFault && f.What == "reap" && f.Path == of && f.Step < e.Step })
	if !reaped && !(is && e.request() == "create") {
		return nil
	}
	gone := slices.IndexFunc(x.Events, func(f Event) bool { return f.Path == of && (f.What == "reap" || f.What == "delete") && f.Step < e.Step })
	if gone < 0 {
		return nil
	}
	_ = l
	return x.because(-1, i, "%s was removed at step %d", x.short(of), x.Events[gone].Step).spans(x.Events[gone].Step)
}

// goneWithSession: a member's znode has gone with its session, its process lives, and nobody has made it again.
func (x evidence) goneWithSession() *Cause {
	joins := func(op int) bool { return slices.Contains([]string{"register", "join"}, x.Operations[op].Name) }
	all := x.cited()
	if !slices.ContainsFunc(all, joins) {
		all = nil
		for op := range x.Operations {
			all = append(all, op)
		}
	}
	for _, op := range all {
		for _, l := range x.own(op) {
			later := slices.ContainsFunc(x.lives(), func(m lived) bool { return m.Path == l.Path && m.From > l.From })
			if joins(op) && l.Expired && !later && !x.crashed(x.Operations[op].Client, l.From) {
				return x.because(-1, x.maker(l), "%s went with %s at step %d, and nobody has made it again", l.Name, x.Sessions[l.Owner].Name, l.Until).spans(l.Until)
			}
		}
	}
	return nil
}

func existsAlready(x evidence, i int) *Cause {
	l, is := x.at(x.Events[i].Path, i)
	if !is || !x.refused(i, wire.CodeNodeExists) || l.Maker == x.Events[i].Operation {
		return nil
	}
	by := "it was there before"
	if l.Maker >= 0 {
		by = fmt.Sprintf("%s made it at step %d", x.who(l.Maker), l.From)
	}
	return x.because(x.readOf(i), i, "%s is there at step %d: %s", l.Name, x.Events[i].Step, by)
}

// existsMeanwhile: an operation goes on although its create was refused by what another has made since it looked.
func (x evidence) existsMeanwhile() *Cause {
	for _, op := range x.cited() {
		for _, i := range x.requests(op) {
			l, is := x.at(x.Events[i].Path, i)
			read := x.readOf(i)
			if is && x.refused(i, wire.CodeNodeExists) && l.Maker >= 0 && l.Maker != op && read >= 0 && x.Events[read].Step < l.From {
				return x.because(read, i, "%s looked at step %d, and %s made %s at step %d", x.who(op), x.Events[read].Step, x.who(l.Maker), l.Name, l.From)
			}
		}
	}
	return nil
}

// readOf is the last read of an operation before a request that told whether its path is there; -1 if there is none.
func (x evidence) readOf(i int) int {
	e := x.Events[i]
	return x.lastRequest(e.Operation, func(j int) bool {
		r := x.Events[j]
		return j < i && (r.Path == e.Path && slices.Contains([]string{"exists", "get"}, r.request()) || r.request() == "children" && r.Path == path.Dir(e.Path))
	})
}

func goneMeanwhile(x evidence, i int) *Cause {
	e, read := x.Events[i], x.readOf(i)
	l, is := x.find(func(l lived) bool { return l.Path == e.Path && l.Until >= 0 && l.Until < e.Step })
	if !is || !x.refused(i, wire.CodeNoNode) || read < 0 || x.Events[read].Step > l.Until {
		return nil
	}
	by := "it ended with its session"
	if d := x.deleter(l); d >= 0 {
		by = x.doer(d) + " deleted it"
		if x.Events[d].Operation == e.Operation {
			return nil
		}
	}
	return x.because(read, i, "%s was there at step %d, and gone at step %d: %s at step %d", l.Name, x.Events[read].Step, e.Step, by, l.Until)
}

func conflict(x evidence, i int) *Cause {
	e, read := x.Events[i], x.readOf(i)
	if !x.refused(i, wire.CodeBadVersion) || read < 0 {
		return nil
	}
	between := x.changed(read, e.Step)
	if between < 0 || x.Events[between].Operation == e.Operation {
		return nil
	}
	return x.because(read, i, "between the read at step %d and step %d it changed: %s", x.Events[read].Step, e.Step, x.told(between))
}

func notThere(x evidence, i int) *Cause {
	e := x.Events[i]
	if !x.refused(i, wire.CodeNoNode) || slices.ContainsFunc(x.lives(), func(l lived) bool { return l.Path == x.missing(i) && l.From < e.Step }) || x.readOf(i) >= 0 && x.readOf(i) != i {
		return nil
	}
	return x.because(-1, i, "nobody had made %s before step %d", x.short(x.missing(i)), e.Step)
}

// disconnect: a call that waits fails because its connection is lost.
func (x evidence) disconnect() *Cause {
	for _, op := range x.cited() {
		if !strings.Contains(x.Operations[op].Error, zk.ErrConnectionClosed.Error()) {
			continue
		}
		if i := x.broken(x.Operations[op].Client, x.Operations[op].Call, x.end(op)); i >= 0 {
			return x.because(-1, -1, "the connection of %s broke at step %d, and its session lives", x.Clients[x.Operations[op].Client].Name, x.Events[i].Step).spans(x.Events[i].Step)
		}
	}
	return nil
}

// broken is the last loss of a client's connection in some steps without the end of its session; -1 if there is none.
func (x evidence) broken(client int, from, until int64) int {
	last := -1
	for i, e := range x.Events {
		lost := e.Kind == kindFault && slices.Contains([]string{"loss", "lag", "quorum", "deposed"}, e.What) || e.Kind == kindClosed
		if e.Client == client && lost && e.Step >= from && e.Step <= until {
			last = i
		}
	}
	return last
}
