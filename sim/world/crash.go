package world

import "slices"

func init() {
	faultTable[Crash.Index()] = fault{
		name: "crash",
		help: "a client's process dies without closing its session, and starts again with a new one",
		find: findCrash, strike: strikeCrash,
		names: []string{"", "last request carried out"},
		then:  Loss | Lag | Crash,
	}
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

// crash ends a process: its goroutines wait for ever, its session stays at the servers.
func (p *process) crash() {
	w := p.world
	p.crashed, p.held, p.paused = true, false, false
	p.crashes = append(p.crashes, w.step)
	w.kept.death(p)
	for _, u := range p.users {
		u.dead.Store(true)
		if u.op != nil {
			u.op.Outcome = Unknown
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
		if u.op != nil {
			u.op.ctx.End(w.settle)
			u.op = nil
		}
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
