package world

func init() {
	faultTable[Watch.Index()] = fault{
		name: "watch",
		help: "a watch event is delayed, or lost with its connection and then re-armed or missed",
		find: findWatch, strike: strikeWatch,
		then: Loss | Expiry,
	}
}

// Variants of watch trouble.
const (
	watchHold = iota // what the server sends stays on the way for a while
	watchLose        // the connection breaks with the event on the way
	watchVariants
)

// findWatch finds clients to whom an event is on its way, or that wait for one.
func findWatch(w *World, add func(Target)) {
	w.eachClient(func(p *process, i int, c client) {
		_, connected := c.Connected()
		switch {
		case !connected || p.held:
		case eventPending(w, c):
			add(Target{client: p.id, user: i, variants: watchVariants})
		case c.Watches() > 0:
			add(Target{client: p.id, user: i, variants: 1})
		}
	})
}

func eventPending(w *World, c client) bool {
	waiting := w.servers.Waiting(c.Connection())
	return len(waiting) > 0 && waiting[0].Reply == nil && !waiting[0].Closed
}

func strikeWatch(w *World, t Target, variant int) {
	p, c := w.targeted(t)
	pending := eventPending(w, c)
	if variant == watchLose {
		m := w.servers.Waiting(c.Connection())[0]
		w.noteFault(Watch, p.id, "", "").losesEvent(w, m)
		c.Break(errClosed)
		return
	}
	w.noteFault(Watch, p.id, "", "what the server sends is held back from here on")
	p.held, p.heldEvent = true, pending
	if !pending {
		w.strikes(Watch.Index(), -1) // it counts when there is an event to hold back
	}
}
