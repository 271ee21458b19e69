package sim

// unserved are the clients, as bits, whose requests wait for a majority. Of what can happen to a request in an outage a
// search takes two ways: it fails at once, as no server can be reached, or it waits until there is a majority again, if
// that is not longer than the shorter outage takes.
type unserved uint64

// actions are which of the world's a search takes next, by their numbers.
func (u unserved) actions(w *World) (options []int) {
	long := w.outage.until-w.elapsed-w.offset > outages[0]
	for i, a := range w.actions {
		switch {
		case a.kind == actReconnect && u>>a.client&1 != 0:
		case a.kind == actRegain && long && w.waiting() != 0:
		default:
			options = append(options, i)
		}
	}
	return options
}

// note notes who waits if time is what passes next.
func (u *unserved) note(w *World, a action) {
	if a.kind == actRegain {
		*u |= w.waiting()
	}
}

// waiting are the clients of which requests wait for a connection, and could fail now.
func (w *World) waiting() (all unserved) {
	for _, a := range w.actions {
		if a.kind == actReconnect && w.procs[a.client].clients[a.user].Unsent() > 0 {
			all |= 1 << a.client
		}
	}
	return all
}
