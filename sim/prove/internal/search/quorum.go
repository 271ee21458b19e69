package search

import (
	"github.com/zktorture/zktorture/sim/world"
)

// awaitingQuorum are the clients, as bits, whose requests wait for a majority. Of what can happen to a request in an outage a
// search takes two ways: it fails at once, as no server can be reached, or it waits until there is a majority again, if
// that is not longer than the shorter outage takes.
type awaitingQuorum uint64

// actions are which of the world's a search takes next, by their numbers.
func (u awaitingQuorum) actions(w *world.View) (options []int) {
	long := w.LongOutage()
	for i, a := range w.Actions() {
		switch {
		case a.Kind == world.ActReconnect && u>>a.Client&1 != 0:
		case a.Kind == world.ActRegain && long && w.AwaitingQuorum() != 0:
		default:
			options = append(options, i)
		}
	}
	return options
}

// note notes who waits if time is what passes next.
func (u *awaitingQuorum) note(w *world.View, a world.Action) {
	if a.Kind == world.ActRegain {
		*u |= awaitingQuorum(w.AwaitingQuorum())
	}
}
