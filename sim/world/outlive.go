package world

import (
	"sync/atomic"

	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// stale is where code has used a connection of an episode that was over, nil if it has not.
var stale atomic.Pointer[string]

// usedLate notes that a call comes when the connection is closed. When nothing of its world runs any more it is one of a later
// episode: a package variable has kept the connection.
func (w *World) usedLate() {
	if w.gone.Load() {
		at := bubble.Caller()
		stale.CompareAndSwap(nil, &at)
	}
}

// Outlives says what to do about something that a package variable keeps from one episode to the next.
const Outlives = "Let the constructor make it; or declare it by workload.Statics, and each process of the world has its own"

// usedStale says where a connection of an earlier episode was used, "" if none was.
func usedStale() string {
	if at := stale.Swap(nil); at != nil {
		return "a connection of an earlier episode is used at " + *at + ": a package variable has kept it. " + Outlives
	}
	return ""
}
