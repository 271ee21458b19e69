package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zktorture/zktorture/internal/cycle"
	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// expireDead lets what is still under way arrive, and the sessions of processes that will not come back run out.
func expireDead(w *World) {
	drain(w)
	for begin := w.elapsed; w.elapsed-begin < lastWait && w.livelock == nil; drain(w) {
		w.sleep(undisturbed(w, lastWait-(w.elapsed-begin)))
	}
}

// drain lets everything happen that can.
func drain(w *World) {
	for beginTurn(w); w.livelock == nil; beginTurn(w) {
		if w.collect(); len(w.actions) == 0 {
			return
		}
		w.perform(nextFair(w))
	}
}

// lastWait is how long, in milliseconds, sessions have to run out and recipes to clean up behind themselves.
const lastWait = 4 * sessionTimeout

// end stops everything. Politely it closes the clients, after which recipes must end by themselves; else it kills
// them.
func (w *World) end(politely bool) {
	w.ending = true
	reaped := !politely && reap(w, func(owner) bool { return true })
	for _, p := range w.procs {
		if len(p.clients) == 0 && p.door == nil {
			continue // given up before this process began
		}
		for _, u := range p.users {
			u.dead.Store(!politely)
			if !reaped {
				u.endContexts()
			}
		}
		switch {
		case p.inProcess == nil || p.crashed:
		case politely:
			p.inProcess.Finish()
		default:
			p.inProcess.Kill()
		}
	}
	for _, c := range w.dead {
		if politely {
			c.Finish()
		} else {
			c.Kill()
		}
	}
	closeDoors(w)
	for _, call := range w.outside {
		call.done <- false
	}
	w.outside = nil
	close(w.over)
	tireDoors(w)
	for minutes := endMinutes; minutes > 0; {
		pause := 1
		if refuse(w) == 0 && (w.door == InProcess || minutes < endMinutes) {
			pause = minutes
		}
		minutes -= pause
		time.Sleep(time.Duration(pause) * time.Minute)
	}
	refuse(w)
	if w.endRandom != nil {
		w.endRandom()
	}
	shutDoors(w)
}

// endMinutes is how long recipes have to notice that their connections are closed.
const endMinutes = 3

// refusals is how many times in a row, at most, requests are refused and recipes ask anew.
const refusals = 20000

// refuse answers requests that were submitted before their clients ended, and returns how many.
func refuse(w *World) (refused int) {
	synctest.Wait()
	for range refusals {
		calls := w.submitted
		w.submitted = nil
		for _, call := range calls {
			call.Client().Accept(call)
		}
		if len(calls) == 0 {
			break
		}
		refused += len(calls)
		synctest.Wait()
	}
	return refused
}

// inBubble runs f in a synctest bubble and reports whether f left goroutines behind.
func inBubble(f func()) (leaked bool) {
	defer func() {
		problem := recover()
		if problem == nil {
			return
		}
		if leaked = strings.Contains(fmt.Sprint(problem), "blocked goroutines remain"); !leaked {
			panic(problem)
		}
	}()
	synctest.Test(&testing.T{}, func(*testing.T) { f() })
	return false
}

// describeLeak says what has been left behind. The stacks are for runs with a trace only, which are few: collecting
// them takes longer the more goroutines runs have left.
func describeLeak(number int) string {
	const text = "after all connections were closed goroutines of the recipe still waited"
	if number == 0 {
		return text
	}
	return text + ":\n" + bubble.Stacks(number)
}

// outlived reports whether goroutines may be left at the end of the episode that are no fault of
// the recipe's: those of a process that has died, which nothing can end, and over the wire those of
// connections that code has opened by itself and that the world cannot close, as they were not
// opened with [User.ZKOption].
func outlived(w *World) bool {
	died := func(p *process) bool { return len(p.crashes) > 0 }
	return slices.ContainsFunc(w.procs, died) ||
		slices.ContainsFunc(w.doors, func(d *door) bool { return d.unknown.Load() })
}

// A livelock is a client that asks again and again while no operation begins or ends. It ends the run: where no time
// passes, nothing that others do while they hold something ever does. What a client may ask for before that is more
// than a correct one does in the course of one operation: it looks at every znode several times, and then waits, if
// only for a moment.
const (
	askedAtOnce   = 1000 // what a client asks for …
	askedByZnode  = 10   // … and for each change of the tree that was made before …
	askedByMillis = 20   // … and for each millisecond that passes

	turnMax = 40 // the longest turn of a livelock that is recognised
)

// asking is what a client has asked for since an operation began or ended.
type asking struct {
	quiet  int // which time of the world's
	times  int
	recent []string // the last, when there is nearly too much
}

// quietTime is the time since an operation began or ended.
type quietTime struct {
	number  int
	since   int64 // elapsed
	changes int   // of the tree until then
}

// noteProgress notes that an operation has begun or ended, or is about to.
func (w *World) noteProgress() {
	w.quiet = quietTime{w.quiet.number + 1, w.elapsed, len(w.changes)}
}

// asks counts what a client asks for: a request, a connection, or what is shared outside of ZooKeeper.
func (p *process) asks(what func() string) {
	w := p.world
	if !w.liveness || w.livelock != nil {
		return
	}
	a := &p.asking
	if a.quiet != w.quiet.number {
		a.quiet, a.times, a.recent = w.quiet.number, 0, a.recent[:0]
	}
	a.times++
	most := askedAtOnce + askedByZnode*w.quiet.changes + askedByMillis*int(w.elapsed-w.quiet.since)
	if a.times > most-2*turnMax {
		a.recent = append(a.recent, what())
	}
	if a.times > most {
		w.livelock = p
	}
}

// toldLivelock is the violation of a client that has ended the run so.
func toldLivelock(w *World) Violation {
	p := w.livelock
	found := Violation{Property: "progress"}
	for _, op := range w.Waiting() {
		if op.Client == p.id {
			found.Ops = append(found.Ops, op)
		}
	}
	passed := "no time passed"
	if d := w.elapsed - w.quiet.since; d > 0 {
		passed = fmt.Sprintf("%v passed", milliseconds(d))
	}
	text := Say("livelock: c%d sent %d requests while %s and no operation began or ended", p.id+1, p.asking.times, passed)
	if len(found.Ops) > 0 {
		text = Say("%v, in %s, which waits without a pause", text, found.Ops[0].Name)
	}
	return found.Saying("%v; %s", text, p.asking.turn())
}

func alike(a, b string) bool { return cycle.Shape(a) == cycle.Shape(b) }

// turn says what was sent again and again.
func (a *asking) turn() string {
	n := len(a.recent)
	for length := 1; length <= min(turnMax, n/2); length++ {
		last := a.recent[n-length:]
		if slices.EqualFunc(last, a.recent[n-2*length:n-length], alike) {
			return "again and again: " + strings.Join(last, ", ")
		}
	}
	return "the last were: " + strings.Join(a.recent[max(0, n-5):], ", ")
}
