package sim

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/zktorture/zktorture/fakezk"
)

// target is one place where a fault could strike now, in one of so many variants.
type target struct {
	client   int
	user     int // or which of a process's clients
	variants int
}

// strike asks whether a fault strikes now, and lets it. It returns false if none did.
func (w *World) strike() bool {
	if w.faultsDue == 0 || w.faults&^Wrap == 0 {
		return false
	}
	w.look(LabelFault)
	w.witness.ask(w)
	kind := w.choose(1+bits.OnesCount16(uint16(w.faults&^Wrap)), LabelFault)
	if kind == 0 {
		return false
	}
	index := w.nthFault(kind)
	if len(w.targetsOf(index)) == 0 {
		return false
	}
	t := w.targets[w.choose(len(w.targets), LabelTarget)]
	variant := w.choose(t.variants, LabelVariant)
	w.witness.strike(w, 1<<index, t, variant)
	w.step++
	w.faultsDue--
	w.strikes(index, 1)
	w.fold(uint64(index)<<40 | uint64(t.client)<<20 | uint64(t.user)<<8 | uint64(variant))
	w.happens(deed{action: action{client: t.client, user: t.user}, fault: index + 1, variant: variant})
	faultTable[index].strike(w, t, variant)
	w.witness.state(w)
	return true
}

// targetsOf lists where a fault could strike now, in memory that the next call uses again.
func (w *World) targetsOf(index int) []target {
	w.targets = w.targets[:0]
	faultTable[index].find(w, w.aimAt)
	return w.targets
}

// targeted returns the process and the client that a fault strikes.
func (w *World) targeted(t target) (*process, client) {
	p := w.procs[t.client]
	return p, p.clients[t.user]
}

// strikes counts n strikes of a fault.
func (w *World) strikes(index, n int) {
	w.struck[index] += n
	if w.busy() {
		w.duringOp += n
	}
}

// busy tells whether an operation is under way.
func (w *World) busy() bool {
	return slices.ContainsFunc(w.procs, func(p *process) bool {
		return !p.crashed && slices.ContainsFunc(p.users, func(u *User) bool { return u.op != nil })
	})
}

// nthFault returns the index of the n-th (from 1) striking fault of the episode.
func (w *World) nthFault(n int) int {
	set := uint16(w.faults &^ Wrap)
	for range n - 1 {
		set &= set - 1
	}
	return bits.TrailingZeros16(set)
}

// alive calls f for every process that has neither crashed nor finished.
func (w *World) alive(f func(p *process)) {
	for _, p := range w.procs {
		if p.active() {
			f(p)
		}
	}
}

func (p *process) active() bool { return !p.crashed && !p.paused && p.unfinished() }

// Ways in which a process begins.
const (
	beginConnected   = iota
	beginUnconnected // requests wait for a connection, and so for a session
	beginAlone       // no server can be reached at first: the first requests fail
	beginVariants
)

// begin draws how a process begins: mostly with a connection.
func (w *World) begin(p *process) int {
	if w.liveness || !w.faults.Has(Loss) {
		return beginConnected
	}
	how := max(0, w.choose(2*beginVariants, labelUnconnected)-beginVariants)
	w.witness.atConnect(p, Loss, placeStart, waysToBegin, how-1)
	if how != beginConnected {
		w.keepAlone(p)
		w.fold(uint64(how))
		w.strikes(Loss.index(), 1)
		what := "begins without a connection"
		if how == beginAlone {
			what += ", and cannot reach any server"
		}
		w.noteFault(Loss, p.id, "", what).Unsent = how == beginAlone
	}
	return how
}

func findExpiry(w *World, add func(target)) {
	w.eachClient(func(p *process, i int, c client) {
		if w.servers.Alive(c.Session()) && !w.outage.now {
			add(target{client: p.id, user: i, variants: 2})
		}
	})
}

// strikeExpiry is the first of an expiry's three moments: the server decides. The session's connection, if there is
// one, is closed, which the client sees in its own time; in the second variant it breaks at once, as by a partition.
func strikeExpiry(w *World, t target, variant int) {
	p, c := w.targeted(t)
	noted := w.noteFault(Expiry, p.id, "", w.says("the server expires session 0x%x", c.Session()))
	w.servers.Expire(w.now(), c.Session())
	if _, connected := c.Connected(); connected && variant == 1 {
		noted.Server = -1
		p.held = false
		c.Break(errClosed)
	}
}

// Variants of watch trouble.
const (
	watchHold = iota // what the server sends stays on the way for a while
	watchLose        // the connection breaks with the event on the way
	watchVariants
)

// findWatch finds clients to whom an event is on its way, or that wait for one.
func findWatch(w *World, add func(target)) {
	w.eachClient(func(p *process, i int, c client) {
		_, connected := c.Connected()
		switch {
		case !connected || p.held:
		case w.eventPending(c):
			add(target{client: p.id, user: i, variants: watchVariants})
		case c.Watches() > 0:
			add(target{client: p.id, user: i, variants: 1})
		}
	})
}

func (w *World) eventPending(c client) bool {
	m, ok := w.servers.First(c.Connection())
	return ok && m.Reply == nil && !m.Closed
}

func strikeWatch(w *World, t target, variant int) {
	p, c := w.targeted(t)
	pending := w.eventPending(c)
	if variant == watchLose {
		m, _ := w.servers.First(c.Connection())
		w.noteFault(Watch, p.id, "", "").losesEvent(w, m)
		c.Break(errClosed)
		return
	}
	w.noteFault(Watch, p.id, "", "what the server sends is held back from here on")
	p.held, p.heldEvent = true, pending
	if !pending {
		w.strikes(Watch.index(), -1) // it counts when there is an event to hold back
	}
}

// pauses are the lengths of pauses in milliseconds: within the session timeout, and beyond it.
var pauses = [...]int64{sessionTimeout + 2*tickTime, sessionTimeout / 2}

func findPause(w *World, add func(target)) {
	w.alive(func(p *process) { add(target{client: p.id, variants: len(pauses)}) })
}

// strikePause stops a process while the servers' clock goes on. The bubble's clock, which its timers see, stands
// still.
func strikePause(w *World, t target, variant int) {
	p := w.procs[t.client]
	w.noteFault(Pause, p.id, "", w.says("the process stops while %v pass", milliseconds(pauses[variant])))
	p.paused = true
	w.offset += pauses[variant]
	w.pass(0)
}

var leaps = [...]int64{20, 1000, sessionTimeout + 2*tickTime}

func findTime(w *World, add func(target)) {
	busy := false
	w.alive(func(p *process) { busy = busy || !p.paused })
	if busy {
		add(target{client: -1, variants: len(leaps)})
	}
}

func strikeTime(w *World, _ target, variant int) {
	if w.anyPaused() {
		w.noteFault(Time, -1, "", w.says("%v pass on the servers", milliseconds(leaps[variant])))
		w.letPass(leaps[variant])
		return
	}
	before := w.elapsed
	w.letPass(leaps[variant])
	w.noteFault(Time, -1, "", w.says("%v pass", milliseconds(w.elapsed-before)))
}

func (w *World) anyPaused() bool {
	return slices.ContainsFunc(w.procs, func(p *process) bool { return p.paused })
}

// letPass lets so many milliseconds pass, fewer if a goroutine stirs before. The timers of a process that is paused
// must not run, so then it is the servers' clock alone that goes on.
func (w *World) letPass(d int64) {
	if w.anyPaused() {
		w.offset += d
		w.pass(0)
		return
	}
	w.sleep(d)
}

// findReap finds empty parents, wherever they are: znodes that have had children and have none now.
func findReap(w *World, add func(target)) {
	if w.empty = w.empty[:0]; w.outage.now {
		return
	}
	w.servers.Walk("/", func(path string, n fakezk.NodeInfo) {
		if path != "/" && path != Root0 && len(n.Children) == 0 && w.parents[path] {
			w.empty = append(w.empty, path)
		}
	})
	for i := range w.empty {
		add(target{client: i, variants: 1})
	}
}

func strikeReap(w *World, t target, _ int) {
	path := w.empty[t.client]
	w.noteFault(Reap, -1, path, "somebody removes the empty parent")
	w.servers.Admin(w.now(), &fakezk.Request{Op: fakezk.OpDelete, Path: path, Version: -1})
}

func findCancel(w *World, add func(target)) {
	w.alive(func(p *process) {
		for _, u := range p.users {
			if u.op != nil && u.op.cancelable && !u.op.Cancelled {
				add(target{client: p.id, user: u.Index, variants: 1})
			}
		}
	})
}

func strikeCancel(w *World, t target, _ int) {
	op := w.procs[t.client].users[t.user].op
	w.noteFault(Cancel, t.client, "", "the caller of "+op.Name+" gives up").User = t.user
	w.Cancel(op)
}

// Cancel ends the context of a running operation.
func (w *World) Cancel(op *Op) {
	op.Cancelled = true
	if !w.cancelsLate(op) {
		w.endContext(op)
	}
}

func (w *World) endContext(op *Op) {
	w.toldTo(op.Client).add(toldContext, w.nameOf(op))
	op.ctx.end(func() { op.user.process.stir(w, op.User) })
}

func findCrash(w *World, add func(target)) {
	w.alive(func(p *process) {
		variants := 1
		if c := p.sends(); c != nil && !w.atDeposed(c) {
			variants = 2
		}
		add(target{client: p.id, variants: variants})
	})
}

// strikeCrash kills a process. A request on the wire is lost with it, or, in the second variant, still carried out.
func strikeCrash(w *World, t target, variant int) {
	p := w.procs[t.client]
	w.noteFault(Crash, p.id, "", "the process dies")
	if c := p.sends(); c != nil && variant == 1 {
		w.noteFault(Crash, p.id, "", "").carriesOut(w, c.Sent())
		w.carryOut(p, c)
	}
	w.crash(p)
}

type milliseconds int64

func (ms milliseconds) String() string {
	if ms%1000 == 0 {
		return fmt.Sprintf("%d s", ms/1000)
	}
	return fmt.Sprintf("%d ms", ms)
}
