package world

func init() {
	faultTable[Lag.Index()] = fault{
		name: "lag",
		help: "a server falls behind, so its clients read old data; or a client moves to another server",
		find: findLag, strike: strikeLag,
		victim: func(w *World, t Target) int { return t.client - w.replicas },
		then:   Loss | Lag,
	}
}

// lag says how a server follows the leader.
//
// How far a server without clients is cannot be seen: it applies nothing until a client connects, and is then, as is
// drawn, up to date or as far behind as that client can accept. That is the worst that real servers can do.
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

// follows reports whether a server neither leads nor thinks so.
func (w *World) follows(r int) bool { return r != w.servers.Leader() && r != w.servers.Deposed() }

// forgetLag makes servers that have lost their last clients unseen.
func forgetLag(w *World) {
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
func followAll(w *World) {
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

// drawLag draws how far behind an unseen server is when a client is about to connect to it.
func (p *process) drawLag(c client, replica int) {
	w := p.world
	if w.lag[replica] != unseen {
		return
	}
	n := w.choose(1+lagVariants, LabelLagging)
	if n == 0 {
		w.servers.SetLag(replica, false)
		w.lag[replica] = upToDate
		return
	}
	for w.servers.Behind(replica) > 0 && w.servers.ZxidOf(replica) < c.LastZxid() {
		w.servers.Apply(replica)
	}
	w.strikes(Lag.Index(), 1)
	fallBehind(w, replica, n-1)
}

func fallBehind(w *World, server, variant int) {
	w.fold(uint64(server)<<8 | uint64(variant))
	what := "is slow, and behind"
	w.lag[server] = slow
	if variant == lagStuck {
		what = "is cut off from the leader, and behind"
		w.lag[server] = stuck
	}
	switch behind := w.servers.Behind(server); {
	case behind == 1:
		what += " by 1 transaction"
	case behind > 1:
		what += w.says(" by %d transactions", behind)
	}
	w.noteFault(Lag, -1, "", w.says("server %d %s", server, what)).Late = server
	w.servers.SetLag(server, true)
}

func findLag(w *World, add func(Target)) {
	for r := range w.replicas {
		if w.lag[r] == upToDate && w.follows(r) {
			add(Target{client: r, variants: lagVariants})
		}
	}
	w.eachClient(func(p *process, i int, c client) {
		if _, connected := c.Connected(); connected {
			add(Target{client: w.replicas + p.id, user: i, variants: 1})
		}
	})
}

func strikeLag(w *World, t Target, variant int) {
	if t.client < w.replicas {
		fallBehind(w, t.client, variant)
		return
	}
	p := w.procs[t.client-w.replicas]
	w.noteFault(Lag, p.id, "", "leaves its server for another")
	p.held = false
	p.clients[t.user].Break(errClosed)
}

// EqualServers reports whether nothing that can happen from now on tells two servers apart but their names. Up-to-date
// ones are equal, unless one of them may be struck by itself: the leader by being deposed, a follower with clients by
// falling behind. Of those without clients, where that can be, it matters how far they have come.
func (w *World) EqualServers(a, b int, faultsLeft bool) bool {
	current := func(r int) bool { return r != w.servers.Deposed() && (w.lag[r] == upToDate || w.lag[r] == unseen) }
	switch {
	case !current(a) || !current(b):
		return false
	case !faultsLeft:
		return true
	case w.faults.Has(Lag):
		return w.lag[a] == unseen && w.lag[b] == unseen && w.servers.ZxidOf(a) == w.servers.ZxidOf(b)
	case w.faults.Has(Deposed):
		return w.follows(a) && w.follows(b)
	}
	return true
}
