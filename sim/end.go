package sim

import (
	"testing/synctest"
	"time"
)

// expireDead lets what is still under way arrive, and the sessions of processes that will not come back run out.
func (w *World) expireDead() {
	w.drain()
	for begin := w.elapsed; w.elapsed-begin < lastWait && w.livelock == nil; w.drain() {
		w.sleep(w.undisturbed(lastWait - (w.elapsed - begin)))
	}
}

// drain lets everything happen that can.
func (w *World) drain() {
	for w.intake(); w.livelock == nil; w.intake() {
		if w.collect(); len(w.actions) == 0 {
			return
		}
		w.perform(w.nextFair())
	}
}

// lastWait is how long, in milliseconds, sessions have to run out and recipes to clean up behind themselves.
const lastWait = 4 * sessionTimeout

// end stops everything. Politely it closes the clients, after which recipes must end by themselves; else it kills
// them.
func (w *World) end(politely bool) {
	w.ending = true
	for _, p := range w.procs {
		if len(p.clients) == 0 && p.door == nil {
			continue // given up before this process began
		}
		for _, u := range p.users {
			u.dead.Store(!politely)
			if u.op != nil {
				u.op.ctx.end(w.settle)
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
	w.closeDoors()
	for _, call := range w.outside {
		call.done <- false
	}
	w.outside = nil
	for minutes := endMinutes; minutes > 0; {
		pause := 1
		if w.refuse() == 0 && (w.door == InProcess || minutes < endMinutes) {
			pause = minutes
		}
		minutes -= pause
		time.Sleep(time.Duration(pause) * time.Minute)
	}
	w.refuse()
	if w.endRandom != nil {
		w.endRandom()
	}
	w.shutDoors()
}

// endMinutes is how long recipes have to notice that their connections are closed.
const endMinutes = 3

// refusals is how many times in a row, at most, requests are refused and recipes ask anew.
const refusals = 20000

// refuse answers requests that were submitted before their clients ended, and returns how many.
func (w *World) refuse() (refused int) {
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
