package world

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// Action is one thing that can happen next.
type Action struct {
	Kind   ActionKind
	Client int // or the replica
	user   int // or the reader of events, or which of a process's clients
}

type ActionKind uint8

const (
	ActArrive ActionKind = iota
	ActDeliver
	ActOutside
	ActReconnect
	ActRestart
	ActApply
	ActRelease
	ActResume
	ActTell
	ActRegain
	ActNotice
	ActTellLate
	ActEndLate
	ActIdle // nothing but that time passes; never one of World.actions
)

// Collect lists what can happen next in a fixed order: first what keeps the same client going.
func (w *World) Collect() {
	w.actions = w.actions[:0]
	n := len(w.procs)
	for i := range n {
		p := w.procs[(max(w.last, 0)+i)%n]
		if !p.paused {
			p.collectFrom()
		}
	}
	for r := range w.replicas {
		if w.lag[r] == slow && w.servers.Behind(r) > 0 {
			w.actions = append(w.actions, Action{Kind: ActApply, Client: r})
		}
	}
	for _, p := range w.procs {
		if p.held {
			w.actions = append(w.actions, Action{Kind: ActRelease, Client: p.id})
		}
		if p.paused {
			w.actions = append(w.actions, Action{Kind: ActResume, Client: p.id})
		} else if !p.crashed {
			p.collectLate()
		}
	}
	collectElections(w)
}

func (p *process) collectFrom() {
	w := p.world
	add := func(kind ActionKind, user int) { w.actions = append(w.actions, Action{kind, p.id, user}) }
	if p.crashed {
		if p.unfinished() && !p.pausing {
			add(ActRestart, 0)
		}
		return
	}
	if c := p.inProcess; c != nil {
		for i := range c.Readers() {
			if c.Held(i) > 0 && !c.Late(i) {
				add(ActTell, i)
			}
		}
	}
	for _, call := range w.outside {
		if call.user.process == p && (call.when == nil || call.when()) {
			add(ActOutside, call.user.Index)
		}
	}
	for i, c := range p.clients {
		if _, connected := c.Connected(); !connected {
			if c.Dialing() && (!w.outage.now || c.Queued() != nil) {
				add(ActReconnect, i)
			}
			continue
		}
		if !p.held && !deaf(c) && w.servers.Pending(c.Connection()) > 0 {
			add(ActDeliver, i)
		}
		if c.Sent() != nil {
			add(ActArrive, i)
		}
	}
}

// perform carries out one action: one step.
func (w *World) perform(a Action) {
	w.step++
	w.fold(uint64(a.Kind)<<32 | uint64(a.Client)<<16 | uint64(a.user))
	w.happens(Event{Action: a})
	switch a.Kind {
	case ActApply:
		applyOne(w, a.Client)
		return
	case ActRegain:
		regain(w)
		return
	case ActNotice:
		notice(w)
		return
	}
	p := w.procs[a.Client]
	w.last = a.Client
	switch a.Kind {
	case ActArrive:
		p.arrive(p.clients[a.user])
	case ActDeliver:
		p.deliver(p.clients[a.user])
	case ActOutside:
		p.doOutside(a.user)
	case ActReconnect:
		p.reconnect(p.clients[a.user])
	case ActRestart:
		p.restart()
	case ActRelease:
		p.held = false
		w.noteHealed(Watch, p.id, "what was held back comes through")
	case ActResume:
		p.paused = false
		w.noteHealed(Pause, p.id, "the process runs again")
	case ActTell:
		p.tell(a.user)
	case ActTellLate:
		p.tellsLate(a.user)
	case ActEndLate:
		p.endsLate(a.user)
	}
}

// tell gives a reader of the client's events the next one. The client does not wait for that.
func (p *process) tell(reader int) {
	w := p.world
	told := p.inProcess.Oldest(reader)
	event := told.Event
	if p.inProcess.Tell(reader) && event.State == zk.StateExpired {
		p.users[told.User].hears(p.expiriesBefore + told.Knew.Expiries)
	}
	w.fold(uint64(uint32(event.Type))<<32 | uint64(uint32(event.State)))
	w.foldString(event.Path)
	w.noteTold(p, event, told.User)
}

// arrive lets a request reach its server. The reply comes in the same step unless another message precedes it: to
// hold it back would only widen the operation's interval.
func (p *process) arrive(c client) {
	w := p.world
	call := p.carryOut(c)
	if waiting := w.servers.Waiting(c.Connection()); !p.held && !deaf(c) && len(waiting) == 1 && c.Waiting() == 1 {
		m := waiting[0]
		w.foldMessage(m)
		w.noteRequest(p, c, call, m)
		if m.Reply != nil {
			nameTaken(w, &call.Request, m.Reply)
		}
		p.noteRead(c, m)
		c.Deliver()
		return
	}
	w.noteRequest(p, c, call, fakezk.Message{})
}

// carryOut lets the server carry out the oldest request of a client.
func (p *process) carryOut(c client) *goclient.Call {
	w := p.world
	w.actor = c.Sent().Tag
	w.foldRequest(&c.Sent().Request)
	startCounter(w, &c.Sent().Request)
	w.nobodys = w.nobodys || c.Sent().User < 0 && !reads(c.Sent().Request.Op)
	w.maker = p.maker(c.Sent())
	call := c.Arrive(w.now())
	w.actor, w.maker = 0, nil
	p.asks(func() string { return RequestName(call.Request.Op) + " " + requestPath(&call.Request) })
	return call
}

// reads reports whether a request changes nothing that a judge looks at.
func reads(op wire.Op) bool {
	switch op {
	case wire.OpSetWatches, wire.OpSetWatches2, wire.OpAuth, wire.OpSync, wire.OpCloseSession,
		wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2, wire.OpGetACL:
		return true
	}
	return false
}

func (p *process) deliver(c client) {
	w := p.world
	m := w.servers.Waiting(c.Connection())[0]
	w.foldMessage(m)
	w.noteMessage(p, c, m)
	if m.Reply == nil && m.Event == zk.EventNodeDeleted {
		countHerd(w, m)
	}
	p.noteRead(c, m)
	c.Deliver()
}

// countHerd notes when one deletion wakes several operations that wait for it.
func countHerd(w *World, m fakezk.Message) {
	if slices.ContainsFunc(w.herd, func(h Herd) bool { return h.Zxid == m.Zxid && h.Path == m.Path }) {
		return
	}
	w.herd = append(w.herd, Herd{Step: w.step, Zxid: m.Zxid, Path: m.Path})
	h := &w.herd[len(w.herd)-1]
	for _, p := range w.procs {
		for _, c := range p.clients {
			w.watchers = c.WatchedBy(m.Path, w.watchers[:0])
			for _, by := range w.watchers {
				if op := p.opOf(by.User); op != nil && op.Number == by.Tag && queued(w, op) && !slices.Contains(h.Ops, op) {
					h.Ops = append(h.Ops, op)
				}
			}
		}
	}
}

// queued reports whether a znode that the operation has created still exists. Without it the operation waits no more,
// even with a watch.
func queued(w *World, op *Op) bool {
	for _, c := range slices.Backward(w.changes) {
		if c.By == op.Number && c.Op == wire.OpCreate && c.Owner != 0 && w.servers.Czxid(c.Path) == c.Zxid {
			return true
		} else if c.Step < StepOf(op.Call) {
			break
		}
	}
	return false
}

func (p *process) doOutside(user int) {
	w := p.world
	i := slices.IndexFunc(w.outside, func(c *outsideCall) bool { return c.user.process == p && c.user.Index == user })
	call := w.outside[i]
	p.asks(func() string { return call.what })
	result := call.do() // if it panics, the end of the episode answers the call
	w.outside = slices.DeleteFunc(w.outside, func(c *outsideCall) bool { return c == call })
	w.foldString(result)
	w.note(KindShared, p.id, call.what, "", cmp.Or(call.says, result)).User = user
	call.done <- true
	p.wake(w, user)
}

func (p *process) reconnect(c client) {
	w := p.world
	if w.outage.now {
		w.noteFault(Quorum, p.id, "", noServer).Unsent = true
		c.BreakUnsent()
		return
	}
	p.asks(func() string { return "connect" })
	session := c.Session()
	replica, err := p.connect(c)
	w.fold(uint64(c.Session()))
	if w.trace != nil {
		s := w.note(KindConnect, p.id, "connect", "", "")
		s.at(c)
		s.Dialled = dialled(session, c.Session(), err)
		s.Result = s.connected(session, replica)
	}
}

// dialled says what came of dialling, by the session before and after.
func dialled(before, after int64, err error) Dialled {
	switch {
	case errors.Is(err, fakezk.ErrNoQuorum):
		return DialledUnanswered
	case err == errNoHandshake:
		return DialledOpen
	case err != nil:
		return DialledRefused
	case after == 0:
		return DialledExpired
	case before == 0:
		return DialledNew
	}
	return DialledResumed
}

// connected says in words what came of dialling a server.
func (d *Detail) connected(before int64, server int) string {
	switch d.Dialled {
	case DialledOpen:
		return "the dial succeeds"
	case DialledRefused:
		return fmt.Sprintf("server %d is behind this client and refuses it", server)
	case DialledUnanswered:
		return fmt.Sprintf("server %d, deposed, has no answer for this session", server)
	case DialledExpired:
		return fmt.Sprintf("learns that session 0x%x has expired", before)
	case DialledNew:
		return fmt.Sprintf("new session 0x%x at server %d", d.Session, server)
	}
	return fmt.Sprintf("session 0x%x reconnects to server %d", d.Session, server)
}

func applyOne(w *World, replica int) {
	w.servers.Apply(replica)
	behind := w.servers.Behind(replica)
	what := w.says("server %d applies one more transaction, %d to go", replica, behind)
	w.noteHealed(Lag, -1, what).Late = replica
}

// OfServer reports whether an action is a server's, and not a client's.
func (a Action) OfServer() bool {
	return a.Kind == ActApply || a.Kind == ActRegain || a.Kind == ActNotice || a.Kind == ActIdle
}

// Event is a step of the torture phase: who did what, or whom a fault struck. Unlike the number of an answer it
// means the same in a run in which others are on offer.
type Event struct {
	Action      // of a fault only whom it strikes
	Fault   int // its place in the table of faults, plus 1; 0: it is an action
	Variant int // of the fault
}

// Idling is what happens when nobody can do anything.
var Idling = Action{Kind: ActIdle, Client: -1}

// happens shows what is about to happen.
func (w *World) happens(d Event) {
	w.observe(func(o Observer) { o.Happens(w, d) })
}

// Strikes reports whether a target is that of the fault.
func (e Event) Strikes(t Target) bool { return e.Client == t.client && e.user == t.user }

// Race reports whether it can matter which of two actions comes first.
func (w *World) Race(a, b Action) bool {
	if b.Kind == ActApply {
		a, b = b, a
	}
	switch {
	case a.Kind == ActRegain || a.Kind == ActNotice || b.Kind == ActRegain || b.Kind == ActNotice:
		return true
	case a.Kind == ActApply && b.Kind == ActApply:
		return a.Client == b.Client
	case a.Kind == ActApply:
		return b.Kind == ActReconnect || b.Kind == ActArrive && w.servedBy(b) == a.Client
	case a.Client == b.Client:
		return true
	case a.Kind == ActOutside && b.Kind == ActOutside:
		return true
	}
	return a.Kind == ActArrive && b.Kind == ActArrive && conflict(w.requestOf(a), w.requestOf(b))
}

// servedBy is the server of the client whose request arrives.
func (w *World) servedBy(a Action) int {
	server, _ := w.procs[a.Client].clients[a.user].Connected()
	return server
}

// requestOf is the request that arrives.
func (w *World) requestOf(a Action) *fakezk.Request {
	return &w.procs[a.Client].clients[a.user].Sent().Request
}

// conflict reports whether two requests touch the same znode, or its children, and one of them changes something there.
func conflict(a, b *fakezk.Request) bool {
	switch {
	case reads(a.Op) && reads(b.Op):
		return false
	case a.Op == wire.OpMulti:
		return anyConflict(a.Ops, b)
	case b.Op == wire.OpMulti:
		return anyConflict(b.Ops, a)
	}
	pathA, listA := touched(a)
	pathB, listB := touched(b)
	return pathA == pathB || listA != "" && (listA == pathB || listA == listB) || listB != "" && listB == pathA
}

func anyConflict(all []fakezk.Request, other *fakezk.Request) bool {
	for i := range all {
		if conflict(&all[i], other) {
			return true
		}
	}
	return false
}

// touched returns the znode that a request is about, and the one whose list of children it changes, "" if it does not.
func touched(r *fakezk.Request) (path, list string) {
	if reads(r.Op) || r.Op == wire.OpSetData || r.Op == wire.OpSetACL || r.Op == wire.OpCheck {
		return r.Path, ""
	}
	return r.Path, r.Path[:max(strings.LastIndexByte(r.Path, '/'), 0)]
}
