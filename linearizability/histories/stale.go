package histories

import (
	"cmp"
	"fmt"
	"slices"

	lin "github.com/zktorture/zktorture/linearizability"
	known "github.com/zktorture/zktorture/linearizability/operations"
)

// StaleReads returns the history with its reads widened to what ZooKeeper promises of them. A server that lags may
// answer from the past, and again and again, though a session never sees less than it has written or seen before
// (ZooKeeper Programmer's Guide, "Consistency Guarantees": single system image, timeliness). Each process is taken to
// be one session for as long as its operations have the outcome ok; after another outcome it may have a new session,
// which has seen nothing.
//
// The call of every peek, get and empty poll is moved back as far as its session may have lagged: to the first call
// of the history, or to the session's last write. That write need not have been the last when its reply arrived, and
// what others wrote meanwhile may not be seen yet. So the read is moved back to just after the write only if no other
// write can have taken effect while it ran, else to its call. That accuses nobody wrongly, but lets pass some reads
// that miss their own session's write, or go back.
//
// A read that is moved back may overlap other operations of its process, so each has a process of its own in the
// history returned.
//
// A recipe that promises up-to-date answers (it sends sync first) is to be judged without.
func StaleReads(h lin.History) lin.History {
	widened := slices.Clone(h)
	first := lin.Forever
	for i := range h {
		first = min(first, h[i].Call)
	}
	seen := map[lin.Value]int64{} // by process: from when on its session has surely seen all
	alone := writesAlone(h)
	for _, i := range byCall(h) {
		process := h[i].Owner()
		switch op := &h[i]; {
		case op.Outcome != lin.OK:
			delete(seen, process)
		case readsOnly(op):
			since, found := seen[process]
			if !found {
				since = first
			}
			if since < op.Call {
				widened[i].Call, widened[i].Process = since, lin.Str(fmt.Sprintf("stale read %d", i+1))
			}
		case alone[i]:
			seen[process] = op.Return + 1
		default:
			seen[process] = op.Call
		}
	}
	return widened
}

// readsOnly reports whether the operation changed nothing and its result is what it read.
func readsOnly(op *lin.Operation) bool {
	kind := known.Of(op.Op)
	return op.Outcome == lin.OK && (kind.Role == known.Read || kind.Result == known.ItemOrNil && op.Vain())
}

// writesAlone tells by operation whether no possible change overlaps it or touches it.
func writesAlone(h lin.History) []bool {
	alone := make([]bool, len(h))
	last, until := -1, int64(0) // the write called last, and the end of those called before or with it
	for _, i := range byCall(h) {
		op := &h[i]
		if op.Outcome == lin.Fail || readsOnly(op) {
			continue
		}
		if alone[i] = last < 0 || op.Call > until; last >= 0 && op.Call <= endOf(&h[last]) {
			alone[last] = false
		}
		if last < 0 || endOf(op) > until {
			until = endOf(op)
		}
		last = i
	}
	return alone
}

// endOf is the last instant at which an operation can have taken effect.
func endOf(op *lin.Operation) int64 {
	if op.Outcome == lin.Unknown {
		return lin.Forever
	}
	return op.Return
}

// byCall returns the indices of h in order of call, then of place.
func byCall(h lin.History) []int {
	order := make([]int, len(h))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(h[a].Call, h[b].Call) })
	return order
}
