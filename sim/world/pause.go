package world

func init() {
	faultTable[Pause.Index()] = fault{
		name: "pause",
		help: "a client stops, as in a long garbage collection: nothing reaches it, its timers stop, and time goes on",
		find: findPause, strike: strikePause,
		then: Loss | Expiry,
	}
}

// pauses are the lengths of pauses in milliseconds: within the session timeout, and beyond it.
var pauses = [...]int64{sessionTimeout + 2*tickTime, sessionTimeout / 2}

func findPause(w *World, add func(Target)) {
	w.alive(func(p *process) { add(Target{client: p.id, variants: len(pauses)}) })
}

// strikePause stops a process while the servers' clock goes on. The bubble's clock, which its timers see, stands still.
func strikePause(w *World, t Target, variant int) {
	p := w.procs[t.client]
	w.noteFault(Pause, p.id, "", w.says("the process stops while %v pass", milliseconds(pauses[variant])))
	p.paused = true
	w.offset += pauses[variant]
	w.pass(0)
}
