package workload

import "slices"

// consequences are the properties whose violations may follow from that of another one, by its name. What follows from
// what follows is not repeated. Where either of two may lead to the other nothing is said: then the simpler story
// is the better one (see [sim.RootFirst]).
var consequences = map[string][]string{
	// Two that hold one lock, lead, or claim one item: one of them was granted it out of turn, and waited for the wrong
	// znode; both write, and both finish the item.
	"exclusion": {"exclusion-in-session", "order", "fencing", "release", "stale-leader", "zombie-write", "duplicate"},
	// The sessions are no matter where even the users of one get in each other's way.
	"exclusion-in-session": {"order", "fencing", "release", "duplicate"},
	// A token that does not grow protects neither the resource from late writes nor the sink from repeated items.
	"fencing":   {"zombie-write", "once"},
	"duplicate": {"once"},
	// A client that does not know its place in the queue watches the znode that others watch, or peeks at another
	// than the head.
	"order": {"herd", "stale-peek"},

	// What always fails goes on failing.
	"unexpected-error": {"unusable"},

	// An item that is gone is missed by calls that look for it and by calls that wait for it.
	"lost": {"false-empty", "lost-wakeup"},
	// A sum is named when no single addition is to blame.
	"counted-twice": {"sum"},
	"lost-update":   {"sum"},

	// A commit without all votes stands beside an abort.
	"validity": {"atomicity"},
	// A list that lacks a member, or has one too many, was never the group's.
	"missing": {"snapshot"},
	"ghost":   {"snapshot"},
	// A member that enters alone leaves alone, and neither removes what the others have yet to make.
	"early-enter": {"early-leave"},
	"early-leave": {"leak"},

	// A znode that its maker has forgotten is in the way of others, and of its maker; where none waits yet it is
	// litter.
	"orphan":     {"deadlock", "progress", "leak"},
	"self-block": {"deadlock", "progress"},
	// A watch on what will not come lets its waiter sleep, or, when that has given up, is left. If the waiter's znode has
	// gone meanwhile, it is said of it only that it waits.
	"lost-wakeup": {"progress", "watch-leak", "goroutine-leak"},
}

// Follows implements [sim.Causal].
func (w *Workload) Follows(property, cause string) bool {
	return slices.ContainsFunc(consequences[cause], func(next string) bool {
		return next == property || w.Follows(property, next)
	})
}
