package world

func init() {
	faultTable[Deposed.Index()] = fault{
		name: "deposed",
		help: "a leader is replaced and does not notice: it answers reads and syncs with old state, and no writes",
		find: findDeposed, strike: strikeDeposed,
		unreal: "the leader is deposed, and when a real one notices is not the trace's to say; " +
			"--faults leader,stop has such days",
	}
}

// Variants of how long a leader does not notice that it is deposed.
const (
	deposedLong  = iota // until time passes
	DeposedBrief        // it may notice at any moment
	deposedVariants
)

func findDeposed(w *World, add func(Target)) {
	if !w.outage.now && w.servers.Deposed() < 0 && w.seen(w.servers.Leader()) {
		add(Target{client: -1, variants: deposedVariants})
	}
}

// electionTime is how long an election takes, in ms: a client's pause before it tries again is over by then.
const electionTime = 200

// strikeDeposed has the first of the others elected. Their clients see their connections break, and time passes.
func strikeDeposed(w *World, _ Target, variant int) {
	w.brief = variant == DeposedBrief
	old := w.servers.Leader()
	successor := 0
	if old == 0 {
		successor = 1
	}
	w.noteFault(Deposed, -1, "", w.says("server %d is cut off from the others, which elect server %d and close "+
		"their connections; server %d does not notice", old, successor, old))
	w.servers.Depose(w.now(), successor)
	followAll(w)
	w.eachClient(func(p *process, _ int, c client) {
		if _, connected := c.Connected(); connected && !w.atDeposed(c) {
			p.held = false
			c.Break(errClosed)
		}
	})
	letPass(w, electionTime)
}

// notice lets a deposed leader find out.
func notice(w *World) {
	old := w.servers.Deposed()
	w.servers.Notice()
	noteNoticed(w, old)
}

// noteNoticed notes that the old leader, if there was one, does not think any more that it leads.
func noteNoticed(w *World, old int) {
	if old < 0 || old == w.servers.Deposed() {
		return
	}
	what := w.says("server %d notices that it does not lead any more, and closes its connections", old)
	w.noteHealed(Deposed, -1, what)
}

// atDeposed reports whether a client is connected to a deposed leader.
func (w *World) atDeposed(c client) bool {
	at, connected := c.Connected()
	return connected && at == w.servers.Deposed()
}
