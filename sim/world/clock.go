package world

import (
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// now is the servers' clock in milliseconds since 1970.
func (w *World) now() int64 { return epoch + w.elapsed + w.offset }

// idle lets time pass until a client wakes, and returns false if none does within limit.
func (w *World) idle(limit time.Duration) bool {
	begin, before, deposed := w.elapsed, len(w.changes), w.servers.Deposed()
	w.step++ // what happens while the world sleeps is no part of the step before, whosever that was
	for w.elapsed-begin < limit.Milliseconds() {
		kicked := w.sleep(undisturbed(w, limit.Milliseconds()-(w.elapsed-begin)))
		noteLost(w)
		if kicked || len(w.changes) > before || w.moved() || w.servers.Deposed() != deposed {
			w.fold(uint64(w.elapsed))
			passed := time.Duration(w.elapsed-begin) * time.Millisecond
			w.note(KindTime, -1, "time", "", w.says("jumps %v to the next timer or event", passed))
			return true
		}
	}
	w.step--
	return false
}

// patience is how long, in ms, a client waits for anything from its server before it gives the connection up.
const patience = sessionTimeout * 2 / 3

// undisturbed returns for how long, up to d ms, time can pass before a session ends at the servers, a deposed leader
// notices, or its clients lose patience. Sessions of clients that ping do not end by time.
func undisturbed(w *World, d int64) int64 {
	w.pinging = w.pinging[:0]
	for _, p := range w.procs {
		for _, c := range p.clients {
			switch {
			case w.servers.Hangs(c.Connection()):
				d = min(d, patience)
			case p.pings(c) && !p.held && !w.atDeposed(c):
				w.pinging = append(w.pinging, c.Session())
			}
		}
	}
	if deadline, ok := w.servers.Deadline(w.pinging...); ok {
		d = min(d, max(deadline-w.now(), 1))
	}
	return d
}

// pings reports whether a client keeps its session alive.
func (p *process) pings(c client) bool {
	_, connected := c.Connected()
	mute, _ := c.Silent()
	return connected && !p.crashed && !p.paused && !mute
}

// moved reports whether a goroutine has done something that does not show as a request.
func (w *World) moved() bool { return len(w.notes) > 0 || w.finished() }

// settle waits until the goroutines just woken wait again. Then a moment passes, so that goroutines woken one after
// the other, and waiting for equal times, do not wake at one instant: their order would be the Go scheduler's. Where
// goroutines tell when they begin to wait for a time, it passes after those that have done so only.
func (w *World) settle() {
	w.fence.Add(1)
	w.hand()
	if w.tellsTime {
		synctest.Wait()
	}
	if !w.tellsTime || w.told.Swap(false) {
		time.Sleep(time.Microsecond) // begins when every goroutine waits: before, no time passes in a bubble
		synctest.Wait()
	}
	w.takeDecisions()
}

// beginsToWait is called by goroutines that are about to wait for a time, see [Terms].
func (w *World) beginsToWait() { w.told.Store(true) }

// kicked takes the kick, if there is one.
func (w *World) kicked() bool {
	select {
	case <-w.kick:
		return true
	default:
		return false
	}
}

// sleep lets up to d milliseconds pass, fewer if a goroutine wakes before.
func (w *World) sleep(d int64) (kicked bool) {
	w.asleep.Store(true)
	w.fence.Add(1)
	w.hand()
	w.alarm.Reset(time.Duration(d) * time.Millisecond)
	select {
	case <-w.kick:
		kicked = true
		w.alarm.Stop()
	case <-w.alarm.C:
	}
	time.Sleep(100 * time.Microsecond) // lets others stir who meant the same time, see settle
	synctest.Wait()
	w.takeDecisions()
	kicked = w.kicked() || kicked // by a goroutine whose timer ran out at the same instant
	w.asleep.Store(false)
	w.elapsed = time.Since(w.start).Milliseconds()
	noteTick(w)
	w.pass(d)
	return kicked
}

// pass applies the passing of time to sessions: connected clients ping, so theirs stay; a client whose messages are
// held back, or that waits for a deposed leader, gives its connection up after two thirds of the timeout.
func (w *World) pass(d int64) {
	passed := w.elapsed + w.offset - w.passed
	w.passed += passed
	for _, p := range w.procs {
		p.noteUnreachable(passed)
		for _, c := range p.clients {
			p.keepAlive(c, d)
		}
	}
	old := w.servers.Deposed()
	w.servers.Tick(w.now())
	noteNoticed(w, old)
}

func (p *process) keepAlive(c client, d int64) {
	w := p.world
	switch {
	case !p.pings(c):
	case p.unheard(c) && d >= patience && c.GiveUp():
		p.held = false
	default:
		w.servers.Ping(w.now(), c.Connection())
	}
}

// unheard reports whether nothing of what the server sends reaches a client.
func (p *process) unheard(c client) bool { return p.held || p.world.servers.Hangs(c.Connection()) }

func anyPaused(w *World) bool {
	return slices.ContainsFunc(w.procs, func(p *process) bool { return p.paused })
}

// letPass lets so many milliseconds pass, fewer if a goroutine wakes before. The timers of a process that is paused
// must not run, so then it is the servers' clock alone that goes on.
func letPass(w *World, d int64) {
	if anyPaused(w) {
		w.offset += d
		w.pass(0)
		return
	}
	w.sleep(d)
}

type milliseconds int64

func (ms milliseconds) String() string {
	if ms%1000 == 0 {
		return fmt.Sprintf("%d s", ms/1000)
	}
	return fmt.Sprintf("%d ms", ms)
}

// deed is what a turn of the loop comes to: what happens next.
type deed struct {
	Action
	fault int  // which of the episode's strikes instead, if any
	over  bool // nothing happens any more in this phase
	left  bool // by a turn that was begun, to the next
}

// turn begins a turn of the loop, or takes what is left of one.
func turn(w *World) (d deed) {
	if d, w.due = w.due, d; d.left {
		return d
	} else if w.liveness {
		return fairTurn(w)
	}
	return tortureTurn(w)
}

// upset is a panic with its stack.
type upset struct {
	problem any
	stack   string
}

func withStack(problem any) any {
	switch problem.(type) {
	case nil, givenUp, ruleBroken, upset:
		return problem
	}
	return upset{problem, bubble.PanicStack()}
}
