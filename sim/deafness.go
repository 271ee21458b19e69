package sim

import "slices"

// deafness is some time in which a process did not hear from the servers, or did not run.
type deafness struct {
	step int
	ms   int64
}

// noteDeafness notes that so many milliseconds have passed, if one of the process's clients could not hear that.
func (w *World) noteDeafness(p *process, ms int64) {
	hears := func(c client) bool { return w.pings(p, c) && !w.unheard(p, c) && !c.Deaf() }
	if ms > 0 && slices.ContainsFunc(p.clients, func(c client) bool { return !hears(c) }) {
		p.deaf = append(p.deaf, deafness{w.step, ms})
		w.keepDeafness(p, ms)
	}
}

// CutOff tells whether a client did not hear its servers for a third of the session timeout or more, altogether, from
// one stamp to another: for so long a client may be silent before it pings, and earlier none can think its session
// lost.
func (w *World) CutOff(client int, from, to int64) bool {
	var ms int64
	for _, d := range w.procs[client].deaf {
		if d.step >= StepOf(from) && d.step <= StepOf(to) {
			ms += d.ms
		}
	}
	return ms >= sessionTimeout/3
}
