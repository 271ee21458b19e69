package sim

// lag says how a server follows the leader.
//
// How far a server without clients is cannot be seen: it applies nothing until a client connects, and is then, as is
// drawn, up to date or as far behind as that client can accept. That is the worst that real servers can do, in one
// draw instead of many that would all have to fit together.
type lag uint8

const (
	upToDate lag = iota
	slow         // applies one transaction after the other, each when the world lets it
	stuck        // applies nothing, but for what a write or a sync through it makes it apply
	unseen       // has no clients
)

// Variants of a server's lag.
const (
	lagSlow = iota
	lagStuck
	lagVariants
)

// follows tells whether a server neither leads nor thinks so.
func (w *World) follows(r int) bool { return r != w.servers.Leader() && r != w.servers.Deposed() }

// forgetLag makes servers that have lost their last clients unseen.
func (w *World) forgetLag() {
	if !w.faults.Has(Lag) {
		return
	}
	for r := range w.replicas {
		if w.lag[r] != unseen && w.follows(r) && !w.seen(r) {
			w.servers.SetLag(r, true)
			w.lag[r] = unseen
		}
	}
}

// followAll ends all lag, as an election does.
func (w *World) followAll() {
	for r := range w.replicas {
		w.servers.SetLag(r, false)
		w.lag[r] = upToDate
	}
}

func (w *World) seen(replica int) bool {
	for _, p := range w.procs {
		for _, c := range p.clients {
			if at, connected := c.Connected(); connected && at == replica {
				return true
			}
		}
	}
	return false
}

// meet draws how far behind an unseen server is when a client is about to connect to it.
func (w *World) meet(p *process, c client, replica int) {
	if w.lag[replica] != unseen {
		return
	}
	n := w.choose(1+lagVariants, labelLagging)
	w.witness.atConnect(p, Lag, placeDial, waysToLag, n-1)
	if n == 0 {
		w.servers.SetLag(replica, false)
		w.lag[replica] = upToDate
		return
	}
	for w.servers.Behind(replica) > 0 && w.servers.ZxidOf(replica) < c.LastZxid() {
		w.servers.Apply(replica)
	}
	w.strikes(Lag.index(), 1)
	w.fallBehind(replica, n-1)
}

func (w *World) fallBehind(server, variant int) {
	w.fold(uint64(server)<<8 | uint64(variant))
	what := "falls behind"
	w.lag[server] = slow
	if variant == lagStuck {
		what = "hears nothing from the leader any more"
		w.lag[server] = stuck
	}
	behind := w.servers.Behind(server)
	if behind > 0 {
		what += w.says(", %d transactions ago", behind)
	}
	w.noteFault(Lag, -1, "", w.says("server %d %s", server, what)).Late = Late{server, behind}
	w.servers.SetLag(server, true)
}

func findLag(w *World, add func(target)) {
	for r := range w.replicas {
		if w.lag[r] == upToDate && w.follows(r) {
			add(target{client: r, variants: lagVariants})
		}
	}
	w.eachClient(func(p *process, i int, c client) {
		if _, connected := c.Connected(); connected {
			add(target{client: w.replicas + p.id, user: i, variants: 1})
		}
	})
}

func strikeLag(w *World, t target, variant int) {
	if t.client < w.replicas {
		w.fallBehind(t.client, variant)
		return
	}
	p := w.procs[t.client-w.replicas]
	w.noteFault(Lag, p.id, "", "leaves its server for another")
	p.held = false
	p.clients[t.user].Break(errClosed)
}
