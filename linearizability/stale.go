package linearizability

import "slices"

// StaleReads returns the history with its reads widened to what ZooKeeper promises of them: a server
// that lags may answer from the past, though not from before what the same session has seen (ZooKeeper
// Programmer's Guide, "Consistency Guarantees": timeliness, single system image). The call of every
// peek, get and empty poll is moved back to just after the process's previous operation; that of a
// process's first operation to the first call of the history. A recipe that promises up-to-date
// answers (it sends sync first) is to be judged without.
func StaleReads(h History) History {
	widened := slices.Clone(h)
	first := int64(Forever)
	for i := range h {
		first = min(first, h[i].Call)
	}
	last := map[Value]int64{} // by process: just after its operations so far
	for _, i := range byCall(h) {
		process := h[i].owner()
		if readsOnly(&h[i]) {
			since, found := last[process]
			if !found {
				since = first
			}
			widened[i].Call = min(h[i].Call, since)
		}
		if h[i].Outcome != Unknown {
			last[process] = max(last[process], h[i].Return+1)
		}
	}
	return widened
}

// readsOnly tells whether the operation changed nothing and its result is what it read.
func readsOnly(op *Operation) bool {
	return op.Outcome == OK && (op.Op == "peek" || op.Op == "get" || op.Op == "poll" && op.Result.IsNull())
}
