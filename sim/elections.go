package sim

// outage is a time without a majority.
type outage struct {
	now   bool
	until int64 // ms since the start on the servers' clock
}

// outages are the least lengths of outages in milliseconds: shorter than the session timeout, and longer.
var outages = [...]int64{20, sessionTimeout + 2*tickTime}

func findQuorum(w *World, add func(target)) {
	if !w.outage.now {
		add(target{client: -1, variants: len(outages)})
	}
}

func strikeQuorum(w *World, _ target, variant int) {
	w.notice()
	w.noteFault(Quorum, -1, "", "there is no majority: all servers close their connections, and no session ends")
	w.servers.LoseQuorum()
	w.outage = outage{true, w.elapsed + w.offset + outages[variant]}
}

// regain lets time pass until the outage is over, or a client stirs before.
func (w *World) regain() {
	if rest := w.outage.until - w.elapsed - w.offset; rest > 0 {
		w.letPass(rest)
	}
	if w.elapsed+w.offset >= w.outage.until {
		w.endOutage()
	}
}

func (w *World) endOutage() {
	if !w.outage.now {
		return
	}
	w.outage.now = false
	w.servers.RegainQuorum(w.now())
	w.followAll()
	w.noteHealed(Quorum, -1, "there is a majority again, and each session has its whole timeout")
}

// Variants of how long a leader does not notice that it is deposed.
const (
	deposedLong  = iota // until time passes
	deposedBrief        // it may notice at any moment
	deposedVariants
)

func findDeposed(w *World, add func(target)) {
	if !w.outage.now && w.servers.Deposed() < 0 && w.seen(w.servers.Leader()) {
		add(target{client: -1, variants: deposedVariants})
	}
}

// electionTime is how long an election takes, in ms: a client's pause before it tries again is over by then.
const electionTime = 200

// strikeDeposed has the first of the others elected. Their clients see their connections break, and time passes.
func strikeDeposed(w *World, _ target, variant int) {
	w.brief = variant == deposedBrief
	old := w.servers.Leader()
	successor := 0
	if old == 0 {
		successor = 1
	}
	w.noteFault(Deposed, -1, "", w.says("server %d is cut off from the others, which elect server %d and close "+
		"their connections; server %d does not notice", old, successor, old))
	w.servers.Depose(w.now(), successor)
	w.followAll()
	w.eachClient(func(p *process, _ int, c client) {
		if _, connected := c.Connected(); connected && !w.atDeposed(c) {
			p.held = false
			c.Break(errClosed)
		}
	})
	w.letPass(electionTime)
}

// notice lets a deposed leader find out.
func (w *World) notice() {
	old := w.servers.Deposed()
	w.servers.Notice()
	w.noteNoticed(old)
}

// noteNoticed notes that the old leader, if there was one, does not think any more that it leads.
func (w *World) noteNoticed(old int) {
	if old < 0 || old == w.servers.Deposed() {
		return
	}
	what := w.says("server %d notices that it does not lead any more, and closes its connections", old)
	w.noteHealed(Deposed, -1, what)
}

// atDeposed tells whether a client is connected to a deposed leader.
func (w *World) atDeposed(c client) bool {
	at, connected := c.Connected()
	return connected && at == w.servers.Deposed()
}

// collectElections lists how servers recover. When nothing else can happen a deposed leader does not notice at once:
// time passes first.
func (w *World) collectElections() {
	switch {
	case w.outage.now:
		w.actions = append(w.actions, action{kind: actRegain})
	case w.servers.Deposed() >= 0 && w.brief && len(w.actions) > 0:
		w.actions = append(w.actions, action{kind: actNotice})
	}
}
