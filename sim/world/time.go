package world

func init() {
	faultTable[Time.Index()] = fault{
		name: "time",
		help: "time moves while others are running",
		find: findTime, strike: strikeTime,
		then: Loss | Expiry,
	}
}

var leaps = [...]int64{20, 1000, sessionTimeout + 2*tickTime}

func findTime(w *World, add func(Target)) {
	busy := false
	w.alive(func(p *process) { busy = busy || !p.paused })
	if busy {
		add(Target{client: -1, variants: len(leaps)})
	}
}

func strikeTime(w *World, _ Target, variant int) {
	if anyPaused(w) {
		w.noteFault(Time, -1, "", w.says("%v pass on the servers", milliseconds(leaps[variant])))
		letPass(w, leaps[variant])
		return
	}
	before := w.elapsed
	letPass(w, leaps[variant])
	w.noteFault(Time, -1, "", w.says("%v pass", milliseconds(w.elapsed-before)))
}
