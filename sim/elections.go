package sim

import "fmt"

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

func findDeposed(w *World, add func(target)) {
	if !w.outage.now && w.servers.Deposed() < 0 {
		add(target{client: -1, variants: 1})
	}
}

// strikeDeposed has the first of the others elected.
func strikeDeposed(w *World, _ target, _ int) {
	old := w.servers.Leader()
	successor := 0
	if old == 0 {
		successor = 1
	}
	w.noteFault(Deposed, -1, "", fmt.Sprintf("server %d is cut off from the others, which elect server %d and close their "+
		"connections; server %d does not notice", old, successor, old))
	w.servers.Depose(w.now(), successor)
	w.followAll()
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
	w.noteHealed(Deposed, -1, fmt.Sprintf("server %d notices that it does not lead any more, and closes its connections", old))
}

// atDeposed tells whether a client is connected to a deposed leader.
func (w *World) atDeposed(c client) bool {
	at, connected := c.Connected()
	return connected && at == w.servers.Deposed()
}

// collectElections lists how servers recover. A deposed leader may notice at any moment; when nothing else can happen,
// time passes until it does.
func (w *World) collectElections() {
	switch {
	case w.outage.now:
		w.actions = append(w.actions, action{kind: actRegain})
	case w.servers.Deposed() >= 0 && len(w.actions) > 0:
		w.actions = append(w.actions, action{kind: actNotice})
	}
}
