package world

func init() {
	faultTable[Expiry.Index()] = fault{
		name: "expiry",
		help: "the session expires at the server (the client learns it later, perhaps much later)",
		find: findExpiry, strike: strikeExpiry,
		then: Loss | Expiry | Lag, // a name is used again in a new session
	}
}

func findExpiry(w *World, add func(Target)) {
	w.eachClient(func(p *process, i int, c client) {
		if w.servers.Alive(c.Session()) && !w.outage.now {
			add(Target{client: p.id, user: i, variants: 2})
		}
	})
}

// strikeExpiry is the first of an expiry's three moments: the server decides. The session's connection, if there is
// one, is closed, which the client sees in its own time; in the second variant it breaks at once, as by a partition.
func strikeExpiry(w *World, t Target, variant int) {
	p, c := w.targeted(t)
	noted := w.noteFault(Expiry, p.id, "", w.says("the server expires session 0x%x", c.Session()))
	w.servers.Expire(w.now(), c.Session())
	if _, connected := c.Connected(); connected && variant == 1 {
		noted.Server = -1
		p.held = false
		c.Break(errClosed)
	}
}
