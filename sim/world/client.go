package world

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// client is a ZooKeeper client in a process, as the loop sees and moves it. In the in-process door it is a
// [goclient.Client], which imitates go-zookeeper.
type client interface {
	Connected() (replica int, ok bool)
	Connection() fakezk.ConnID // at the servers; meaningless unless connected
	Session() int64            // that the client believes to have, 0 if none
	LastZxid() int64

	// Dialing reports whether it tries to connect. Knock lets its dial succeed, and Dial then lets a server answer the
	// handshake; Knock is false if there is none.
	Dialing() bool
	Knock() bool
	Dial(now int64, replica int) error

	// DialInVain is Dial whose answer is lost. It returns the session that the server has begun.
	DialInVain(now int64, replica int) (session int64, err error)

	// A request is sent, arrives at the server, and waits for the reply. Before that it waits for a connection.
	Queued() *goclient.Call // the oldest that waits for one; nil if there is none, or it does not show
	Sent() *goclient.Call   // the oldest; nil if there is none
	Waiting() int
	Unanswered() *goclient.Call // the oldest that waits for its reply; nil if there is none
	Arrive(now int64) *goclient.Call
	Deliver() (fakezk.Message, *goclient.Call)

	// Losses are the ways in which its connection can break now. Break breaks it. BreakUnsent says that no server can
	// be reached. GiveUp breaks the connection because nothing has come for too long; it is false if the client sees
	// to that itself.
	Losses() []loss
	Break(err error)
	BreakUnsent()
	Heal() // breaks a connection on which one direction, or both, are silent
	GiveUp() bool
	Silent() (mute, deaf bool) // what it sends does not reach the server, and what that sends not it

	Watches() int
	WatchedBy(path string, list []goclient.Watcher) []goclient.Watcher
}

// errNoHandshake says that code has dialled and sent nothing.
var errNoHandshake = errors.New("sim: the dial succeeds, and no handshake follows")

// inProcess is a client of the in-process door.
type inProcess struct{ *goclient.Client }

func (c inProcess) Dialing() bool {
	_, connected := c.Connected()
	return !connected && !c.Closed()
}

func (inProcess) Knock() bool               { return true }
func (inProcess) Silent() (mute, deaf bool) { return }
func (inProcess) Heal()                     {}

func (c inProcess) Losses() []loss {
	_, connected := c.Connected()
	switch {
	case connected && c.Sent() != nil:
		return lossesOfRequest
	case connected:
		return lossesIdle
	case c.Queued() != nil && c.begins():
		return lossesUnsentNew
	case c.Queued() != nil:
		return lossesUnsent
	case c.begins():
		return lossesOfSession
	}
	return nil
}

// begins reports whether a server would begin a session for it now.
func (c inProcess) begins() bool { return c.Dialing() && c.Session() == 0 }

func (c inProcess) GiveUp() bool {
	c.Break(errClosed)
	return true
}

// deaf reports whether what the server sends does not reach a client.
func deaf(c client) bool {
	_, deaf := c.Silent()
	return deaf
}

// session is the one that the process believes to have: of several the one of the client that began last.
func (p *process) session() int64 {
	for _, c := range slices.Backward(p.clients) {
		if session := c.Session(); session != 0 {
			return session
		}
	}
	return 0
}

// has reports whether a client of the process has this session.
func (p *process) has(session int64) bool {
	return slices.ContainsFunc(p.clients, func(c client) bool { return c.Session() == session })
}

// sends is the first of its clients of which a request is on its way to a server; nil if there is none.
func (p *process) sends() client {
	for _, c := range p.clients {
		if c.Sent() != nil {
			return c
		}
	}
	return nil
}

// eachClient calls f for every client of the processes that have neither crashed nor finished.
func (w *World) eachClient(f func(p *process, number int, c client)) {
	for _, p := range w.procs {
		if p.active() {
			for i, c := range p.clients {
				f(p, i, c)
			}
		}
	}
}

// at reports whether a connection at the servers is one of the process's.
func (p *process) at(id fakezk.ConnID) bool {
	return slices.ContainsFunc(p.clients, func(c client) bool { return c.Connection() == id })
}

// opOf is the operation that a user has under way; nil if there is none, or no such user.
func (p *process) opOf(user int) *Op {
	if user < 0 {
		return nil
	}
	return p.users[user].op
}

// Submit implements [goclient.Network]; it runs on recipes' goroutines.
func (w *World) Submit(call *goclient.Call) {
	w.enter()
	w.submitted = append(w.submitted, call)
	w.cfg.Places.Note(call)
	w.mu.Unlock()
	w.wake()
}

// wake wakes the loop if it sleeps.
func (w *World) wake() {
	if !w.asleep.Load() {
		return
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// intake takes what the goroutines that just ran have handed in, in an order that does not depend on the Go scheduler.
func (w *World) intake() {
	for len(w.notes) > 0 || len(w.submitted) > 0 || len(w.handed) > 0 || len(w.ended) > 0 {
		takeNotes(w)
		takeCalls(w)
		takeHanded(w)
		endContexts(w)
	}
	noteLost(w)
}

func takeCalls(w *World) {
	calls := w.submitted
	w.submitted, w.taken.submitted = w.taken.submitted[:0], calls
	if len(calls) > 1 {
		slices.SortStableFunc(calls, compareCalls)
	}
	for _, call := range calls {
		w.accept(call)
	}
}

// endContexts ends the contexts of the operations that have returned, in that order: as a caller's deferred cancel
// does.
func endContexts(w *World) {
	ended := w.ended
	w.ended = nil
	if len(ended) > 1 {
		slices.SortFunc(ended, func(a, b *Op) int { return cmp.Compare(a.Return, b.Return) })
	}
	for _, op := range ended {
		endContext(w, op)
	}
}

func (w *World) accept(call *goclient.Call) {
	p := w.procs[call.Client().GUIDSeed&0xff-1]
	if p.crashed || p.inProcess != call.Client() { // of a process that has died since
		call.Client().Accept(call)
		return
	}
	if op := p.opOf(call.User); op != nil {
		call.Tag = op.Number
	}
	w.noteSent(call)
	p.noteAsked(call)
	noteRemovals(w, &call.Request, call.Client().Session())
	call.Client().Accept(call)
}

// noteRemovals notes that a client asks for the removal of ephemeral znodes of its own.
func noteRemovals(w *World, r *fakezk.Request, session int64) {
	switch r.Op {
	case wire.OpDelete:
		if n, there := w.servers.Node(r.Path); there && session != 0 && n.Stat.EphemeralOwner == session {
			w.removals = append(w.removals, Removal{r.Path, session})
		}
	case wire.OpMulti:
		for i := range r.Ops {
			noteRemovals(w, &r.Ops[i], session)
		}
	}
}

func compareCalls(a, b *goclient.Call) int {
	order := cmp.Or(
		int(a.Client().GUIDSeed&0xff)-int(b.Client().GUIDSeed&0xff), a.User-b.User,
		int(a.Request.Op-b.Request.Op), strings.Compare(a.Request.Path, b.Request.Path),
	)
	if order != 0 || a.Request.Op == wire.OpGetChildren2 && a.Request.Watch == b.Request.Watch {
		return order // a list's request says nothing else
	}
	// Rarely reached: the requests of goroutines that one step has woken together.
	return strings.Compare(fmt.Sprint(a.Request), fmt.Sprint(b.Request))
}

// committed is the servers' report of a change.
func (w *World) committed(c fakezk.Change) {
	if c.Op == wire.OpCloseSession {
		w.deaths[c.Session] = w.step
		before := w.behind()
		for r := range before {
			before[r] = max(0, before[r]-1) // no server has applied this one
		}
		w.noteTalk(Talk{Kind: TalkEnds, Session: c.Session, Behind: before})
	}
	if c.End != fakezk.EndNone {
		counterEnds(w, c)
	}
	if w.faults.Has(Wrap) && c.Op == wire.OpCreate && c.Owner == 0 && !slices.Contains(w.counters, c.Path) {
		w.counters = append(w.counters, c.Path)
	}
	if c.Op == wire.OpCreate {
		w.parents[c.Path[:max(strings.LastIndexByte(c.Path, '/'), 1)]] = true
	}
	w.changes = append(w.changes, Change{c, w.step, w.actor})
	if w.maker != nil && c.Op == wire.OpCreate && c.Owner != 0 {
		w.maker.Made = append(w.maker.Made, w.changes[len(w.changes)-1])
	}
}

// eventSent is the servers' report of a watch event that enters a connection: one that is held back is a strike of
// the watch fault.
func (w *World) eventSent(conn fakezk.ConnID, _ fakezk.Message) {
	for _, p := range w.procs {
		if p.held && !p.heldEvent && p.at(conn) {
			p.heldEvent = true
			w.strikes(Watch.Index(), 1)
		}
	}
}

// enter locks what recipes' goroutines hand in. One that a timer has woken was not woken by the loop, but the loop
// had come to rest before time could pass: the fence tells that to the memory model, and thus to the race detector.
func (w *World) enter() {
	w.fence.Load()
	w.mu.Lock()
}
