package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
)

// Submit implements [fakezk.Network]; it runs on recipes' goroutines.
func (w *World) Submit(call *fakezk.Call) {
	w.enter()
	w.submitted = append(w.submitted, call)
	w.cfg.places.note(call)
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

// intake takes what the goroutines that just ran have handed in, in an order that does not depend on the Go
// scheduler.
func (w *World) intake() {
	for len(w.notes) > 0 || len(w.submitted) > 0 || len(w.handed) > 0 || len(w.ended) > 0 {
		w.takeNotes()
		w.takeCalls()
		w.takeHanded()
		w.endContexts()
	}
	w.noteLost()
}

func (w *World) takeCalls() {
	calls := w.submitted
	w.submitted, w.submittedBefore = w.submittedBefore[:0], calls // memory to reuse
	if len(calls) > 1 {
		slices.SortStableFunc(calls, compareCalls)
	}
	for _, call := range calls {
		w.accept(call)
	}
}

// endContexts ends the contexts of the operations that have returned, in that order: as a caller's deferred cancel
// does.
func (w *World) endContexts() {
	ended := w.ended
	w.ended, w.endedBefore = w.endedBefore[:0], ended // memory to reuse
	if len(ended) > 1 {
		slices.SortFunc(ended, func(a, b *Op) int { return cmp.Compare(a.Return, b.Return) })
	}
	for _, op := range ended {
		w.endContext(op)
	}
}

func (w *World) accept(call *fakezk.Call) {
	p := w.procs[call.Client().GUIDSeed&0xff-1]
	if p.crashed || p.inProcess != call.Client() { // of a process that has died since
		call.Client().Accept(call)
		return
	}
	if op := p.opOf(call.User); op != nil {
		call.Tag = op.Number
	}
	w.noteSent(call)
	w.noteAsked(p, call)
	w.noteRemovals(&call.Request, call.Client().Session())
	call.Client().Accept(call)
}

// noteRemovals notes that a client asks for the removal of ephemeral znodes of its own.
func (w *World) noteRemovals(r *fakezk.Request, session int64) {
	switch r.Op {
	case fakezk.OpDelete:
		if n, there := w.servers.Node(r.Path); there && session != 0 && n.Stat.EphemeralOwner == session {
			w.removals = append(w.removals, Removal{r.Path, session})
		}
	case fakezk.OpMulti:
		for i := range r.Ops {
			w.noteRemovals(&r.Ops[i], session)
		}
	}
}

func compareCalls(a, b *fakezk.Call) int {
	order := cmp.Or(
		int(a.Client().GUIDSeed&0xff)-int(b.Client().GUIDSeed&0xff), a.User-b.User,
		int(a.Request.Op-b.Request.Op), strings.Compare(a.Request.Path, b.Request.Path),
	)
	if order != 0 {
		return order
	}
	// Rarely reached: the requests of goroutines that one step has woken together.
	return strings.Compare(fmt.Sprint(a.Request), fmt.Sprint(b.Request))
}

// committed is the servers' report of a change.
func (w *World) committed(c fakezk.Change) {
	w.keepChange(c)
	if c.Op == fakezk.OpCloseSession {
		w.deaths[c.Session] = w.step
	}
	if c.End != fakezk.EndNone {
		w.counterEnds(c)
	}
	if w.faults.Has(Wrap) && c.Op == fakezk.OpCreate && c.Owner == 0 && !slices.Contains(w.counters, c.Path) {
		w.counters = append(w.counters, c.Path)
	}
	if c.Op == fakezk.OpCreate {
		w.parents[c.Path[:max(strings.LastIndexByte(c.Path, '/'), 1)]] = true
	}
	w.changes = append(w.changes, Change{c, w.step, w.actor})
}

// eventSent is the servers' report of a watch event that enters a connection: one that is held back is a strike of
// the watch fault.
func (w *World) eventSent(conn fakezk.ConnID, _ fakezk.Message) {
	for _, p := range w.procs {
		if p.held && !p.heldEvent && p.at(conn) {
			p.heldEvent = true
			w.strikes(Watch.index(), 1)
		}
	}
}

// enter locks what recipes' goroutines hand in. One that a timer has woken was not woken by the loop, but the loop
// had come to rest before time could pass: the fence tells that to the memory model, and thus to the race detector.
func (w *World) enter() {
	w.fence.Load()
	w.mu.Lock()
}
