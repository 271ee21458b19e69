package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
)

// action is one thing that can happen next.
type action struct {
	kind   actionKind
	client int // or the replica
	user   int // or the reader of events, or which of a process's clients
}

type actionKind uint8

const (
	actArrive actionKind = iota
	actDeliver
	actOutside
	actReconnect
	actRestart
	actApply
	actRelease
	actResume
	actTell
	actRegain
	actNotice
	actTellLate
	actEndLate
	actIdle // nothing but that time passes; never one of World.actions
)

// collect lists what can happen next in a fixed order: first what keeps the same client going.
func (w *World) collect() {
	w.actions = w.actions[:0]
	n := len(w.procs)
	for i := range n {
		p := w.procs[(max(w.last, 0)+i)%n]
		if !p.paused {
			w.collectFrom(p)
		}
	}
	for r := range w.replicas {
		if w.lag[r] == slow && w.servers.Behind(r) > 0 {
			w.actions = append(w.actions, action{kind: actApply, client: r})
		}
	}
	for _, p := range w.procs {
		if p.held {
			w.actions = append(w.actions, action{kind: actRelease, client: p.id})
		}
		if p.paused {
			w.actions = append(w.actions, action{kind: actResume, client: p.id})
		} else if !p.crashed {
			w.collectLate(p)
		}
	}
	w.collectElections()
}

func (w *World) collectFrom(p *process) {
	add := func(kind actionKind, user int) { w.actions = append(w.actions, action{kind, p.id, user}) }
	if p.crashed {
		if p.unfinished() {
			add(actRestart, 0)
		}
		return
	}
	for _, c := range p.clients {
		for i := range c.Readers() {
			if c.Held(i) > 0 && !c.Late(i) {
				add(actTell, i)
			}
		}
	}
	for _, call := range w.outside {
		if call.user.process == p && (call.when == nil || call.when()) {
			add(actOutside, call.user.Index)
		}
	}
	for i, c := range p.clients {
		if _, connected := c.Connected(); !connected {
			if c.Dialing() && (!w.outage.now || c.Unsent() > 0) {
				add(actReconnect, i)
			}
			continue
		}
		if !p.held && !c.Deaf() && w.servers.Pending(c.Connection()) > 0 {
			add(actDeliver, i)
		}
		if c.Sent() != nil {
			add(actArrive, i)
		}
	}
}

// perform carries out one action: one step.
func (w *World) perform(a action) {
	w.step++
	w.fold(uint64(a.kind)<<32 | uint64(a.client)<<16 | uint64(a.user))
	w.happens(deed{action: a})
	switch a.kind {
	case actApply:
		w.applyOne(a.client)
		return
	case actRegain:
		w.regain()
		return
	case actNotice:
		w.notice()
		return
	}
	p := w.procs[a.client]
	w.last = a.client
	switch a.kind {
	case actArrive:
		w.arrive(p, p.clients[a.user])
	case actDeliver:
		w.deliver(p, p.clients[a.user])
	case actOutside:
		w.doOutside(p, a.user)
	case actReconnect:
		w.reconnect(p, p.clients[a.user])
	case actRestart:
		w.restart(p)
	case actRelease:
		p.held = false
		w.noteHealed(Watch, p.id, "what was held back comes through")
	case actResume:
		p.paused = false
		w.noteHealed(Pause, p.id, "the process runs again")
	case actTell:
		w.tell(p, a.user)
	case actTellLate:
		w.tellsLate(p, a.user)
	case actEndLate:
		w.endsLate(p, a.user)
	}
}

// tell gives a reader of the client's events the next one. The client does not wait for that.
func (w *World) tell(p *process, reader int) {
	told := p.inProcess.Oldest(reader)
	event := told.Event
	p.inProcess.Tell(reader)
	w.toldTo(p.id).add(toldEvent, int64(reader), int64(fakezk.EventHash(event)))
	w.fold(uint64(uint32(event.Type))<<32 | uint64(uint32(event.State)))
	w.foldString(event.Path)
	w.noteTold(p, event, told.User)
}

// arrive lets a request reach its server. The reply comes in the same step unless another message precedes it: to
// hold it back would only widen the operation's interval.
func (w *World) arrive(p *process, c client) {
	call := w.carryOut(p, c)
	if !p.held && !c.Deaf() && w.servers.Pending(c.Connection()) == 1 && c.Waiting() == 1 {
		m, _ := w.servers.First(c.Connection())
		w.foldMessage(m)
		w.noteRequest(p, c, call, m)
		if m.Reply != nil {
			w.nameTaken(&call.Request, m.Reply)
		}
		c.Deliver()
		return
	}
	w.noteRequest(p, c, call, fakezk.Message{})
}

// carryOut lets the server carry out the oldest request of a client.
func (w *World) carryOut(p *process, c client) *fakezk.Call {
	w.actor = c.Sent().Tag
	w.foldRequest(&c.Sent().Request)
	w.startCounter(&c.Sent().Request)
	w.nobodys = w.nobodys || c.Sent().User < 0 && !reads(c.Sent().Request.Op)
	call := c.Arrive(w.now())
	w.actor = 0
	w.asks(p, func() string { return requestName(call.Request.Op) + " " + requestPath(&call.Request) })
	w.witness.request(w, p, call)
	return call
}

// reads tells whether a request changes nothing that a judge looks at.
func reads(op fakezk.Op) bool {
	switch op {
	case fakezk.OpSetWatches, fakezk.OpSetWatches2, fakezk.OpSetAuth, fakezk.OpSync, fakezk.OpCloseSession,
		fakezk.OpExists, fakezk.OpGetData, fakezk.OpGetChildren, fakezk.OpGetChildren2, fakezk.OpGetACL:
		return true
	}
	return false
}

func (w *World) deliver(p *process, c client) {
	m, _ := w.servers.First(c.Connection())
	w.foldMessage(m)
	w.noteMessage(p, c, m)
	if m.Reply == nil && m.Event == zk.EventNodeDeleted {
		w.countHerd(m)
	}
	c.Deliver()
}

// countHerd notes when one deletion wakes several operations that wait for it.
func (w *World) countHerd(m fakezk.Message) {
	for _, h := range w.herd {
		if h.Zxid == m.Zxid && h.Path == m.Path {
			return
		}
	}
	w.herd = append(w.herd, Herd{Step: w.step, Zxid: m.Zxid, Path: m.Path})
	h := &w.herd[len(w.herd)-1]
	for _, p := range w.procs {
		for _, c := range p.clients {
			w.watchers = c.WatchedBy(m.Path, w.watchers[:0])
			for _, by := range w.watchers {
				if op := p.opOf(by.User); op != nil && op.Number == by.Tag && w.queued(op) && !slices.Contains(h.Ops, op) {
					h.Ops = append(h.Ops, op)
				}
			}
		}
	}
}

// queued tells whether a znode that the operation has created still exists. Without it the operation waits no more,
// even with a watch.
func (w *World) queued(op *Op) bool {
	return slices.ContainsFunc(w.changes, func(c Change) bool {
		return c.By == op.Number && c.Op == fakezk.OpCreate && c.Owner != 0 && w.servers.Czxid(c.Path) == c.Zxid
	})
}

func (w *World) doOutside(p *process, user int) {
	i := slices.IndexFunc(w.outside, func(c *outsideCall) bool { return c.user.process == p && c.user.Index == user })
	call := w.outside[i]
	w.outside = slices.Delete(w.outside, i, i+1)
	w.asks(p, func() string { return call.what })
	result := call.do()
	w.foldString(result)
	w.keepOutside(call, result)
	w.note(KindShared, p.id, call.what, "", result).User = user
	call.done <- true
	p.stir(w, user)
}

func (w *World) reconnect(p *process, c client) {
	if w.outage.now {
		w.noteFault(Quorum, p.id, "", noServer).Unsent = true
		c.BreakUnsent()
		return
	}
	w.asks(p, func() string { return "connect" })
	session := c.Session()
	replica, err := w.connect(p, c)
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
	return fmt.Sprintf("session 0x%x goes on at server %d", d.Session, server)
}

func (w *World) restart(p *process) {
	p.crashed = false
	p.incarnation++
	w.noteHealed(Crash, p.id, "the process starts again")
	w.launch(p)
}

func (w *World) applyOne(replica int) {
	w.servers.Apply(replica)
	behind := w.servers.Behind(replica)
	what := w.says("server %d applies one more transaction, %d to go", replica, behind)
	w.noteHealed(Lag, -1, what).Late = Late{replica, behind}
}

// ofServer tells whether an action is a server's, and not a client's.
func (a action) ofServer() bool {
	return a.kind == actApply || a.kind == actRegain || a.kind == actNotice || a.kind == actIdle
}
