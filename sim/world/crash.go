package world

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/zktorture/zktorture/sim/internal/bubble"
)

func init() {
	faultTable[Crash.Index()] = fault{
		name: "crash",
		help: "a client's process dies without closing its session, and starts again with a new one",
		find: findCrash, strike: strikeCrash,
		then: Loss | Lag | Crash,
	}
	bubble.PlugExit(exitWithin)
}

func findCrash(w *World, add func(Target)) {
	w.alive(func(p *process) {
		variants := 1
		if c := p.sends(); c != nil && !w.atDeposed(c) {
			variants = 2
		}
		add(Target{client: p.id, variants: variants})
	})
}

// strikeCrash kills a process. A request on the wire is lost with it, or, in the second variant, still carried out.
func strikeCrash(w *World, t Target, variant int) {
	p := w.procs[t.client]
	w.noteFault(Crash, p.id, "", "the process dies")
	if c := p.sends(); c != nil && variant == 1 {
		w.noteFault(Crash, p.id, "", "").carriesOut(w, c.Sent())
		p.carryOut(c)
	}
	p.crash()
}

// crash ends a process: its goroutines run nothing any more in exact mode, and else wait for ever when they ask for anything;
// its session stays at the servers.
func (p *process) crash() {
	w := p.world
	reaped := reap(w, func(o owner) bool { return o.process == p })
	p.crashed, p.held, p.paused = true, false, false
	p.crashes = append(p.crashes, w.step)
	for _, u := range p.users {
		u.dead.Store(true)
		for op := range u.underWay {
			op.Outcome = Unknown
		}
	}
	w.outside = slices.DeleteFunc(w.outside, func(c *outsideCall) bool {
		if c.user.process == p {
			c.done <- false
		}
		return c.user.process == p
	})
	if w.door == InProcess {
		p.inProcess.Die()
		w.dead = append(w.dead, p.inProcess)
	} else {
		p.door.crash()
	}
	for _, u := range p.users {
		if !reaped {
			u.endContexts()
		}
		u.op = nil
	}
	w.settle()
	w.intake()
}

func (p *process) restart() {
	w := p.world
	p.crashed = false
	p.incarnation++
	w.noteHealed(Crash, p.id, "the process starts again")
	p.launch()
}

// exit is the end that a process's own code has put to it: in exact mode, by os.Exit, which log.Fatal calls. The process
// crashes as by the fault, and starts again; but what the code does is no choice, and no strike.
type exit struct {
	user   *User // in the life of the process that ends
	status int
	at     string
}

// exitWithin hands the exit of the owner's process to the loop, and keeps the caller's goroutine until the episode is over.
// It returns if the goroutine is no process's.
func exitWithin(number uint64, status int) {
	o, _ := ownerNumbered(number)
	if o.user == nil {
		return
	}
	w := o.world
	e := exit{o.user, status, bubble.Caller()}
	w.enter()
	w.exits = append(w.exits, e)
	w.mu.Unlock()
	w.wake()
	<-w.over
	runtime.Goexit()
}

// In the liveness phase a process that has exited starts again after restartPause, so that what it waits for can happen
// meanwhile. One that exits more than exitsMax times there will not stop.
const (
	restartPause = time.Second
	exitsMax     = 50
)

// beginTurn takes what has been handed in and seen, and lets processes crash whose code has exited.
func beginTurn(w *World) {
	for w.intake(); len(w.exits) > 0; w.intake() {
		e := w.exits[0]
		if w.exits = w.exits[1:]; !e.user.dead.Load() {
			takeExit(w, e)
		}
	}
	learnSeen(w)
}

// takeExit lets the process crash whose code has exited, in a step of its own.
func takeExit(w *World, e exit) {
	p := e.user.process
	w.step++
	w.fold(uint64(p.id)<<32 | uint64(uint32(e.status)))
	told := fmt.Sprintf("the process exits with status %d, at %s", e.status, e.at)
	w.noteFault(Crash, p.id, "", told).User = e.user.Index
	p.crash()
	if !w.liveness {
		return
	}
	if p.exits++; p.exits > exitsMax {
		w.endless = fmt.Sprintf("c%d exits again and again in a world without faults: %s", p.id+1, told)
		return
	}
	p.pausing = true
	time.AfterFunc(restartPause, func() {
		w.enter()
		p.pausing = false
		w.mu.Unlock()
		w.wake()
	})
}
