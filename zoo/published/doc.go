// Package published has recipes as they were published, with their bugs. Use them only to test a
// tester.
//
// # The model
//
// Each known bug of a recipe has an id, such as W1. A recipe calls steps; a bug puts a short
// function of its own in the place of one. A list beside the recipe's constructor has them all:
//
//	// BUG: W4 who has given up meanwhile queues again
//	{"W4", func(w *writeLock) { w.gaveUp = func(string) bool { return false } }},
//
// A recipe with up to three bugs asks for them where they matter: if c.bugs.Has("C2"). The comment
// "BUG: W4" says what is wrong.
//
// A recipe is made with [Bugs]. [AllBugs] gives it as it was published, [NoBugs] the fixed recipe,
// and [OnlyBugs] of one id the recipe with that bug alone. So it and its fixed
// version differ in nothing else. [Bugs.Later] is for a bug that a later version introduced.
//
// A bug can be hunted alone only if the other bugs are fixed, also those that make a class fail at
// its first call. So the fixed versions have what the originals lack: a guid in each name (W3, DQ5), a sync
// before a list that must not be old (W8, DQ7), czxids after the wrap (W14, DQ6), a look at the
// recipe's own znode when a session has been replaced (W7). Some bugs show only if a second one is
// on. W0 is not in the literature: a directory that others remove.
//
// # What other languages have and Go lacks
//
//   - A synchronized method holds a monitor: here one that goes to the longest waiter and is not
//     reentrant. wait, notify and notifyAll are a condition without memory (condition.go).
//   - Static fields are shared by all objects of a process: here by those that get the same value.
//   - A Watcher's process method is called by the client's event thread. Here a goroutine waits for
//     the one event of each watch. Java's client also calls watchers when the connection changes;
//     kazoo's tells them of a break, and drops them. Recipes that rely on either are run with such a
//     client ([goclient.ClientSemantics]).
//   - ConnectionLossException is any error of unknown outcome, and zk.ErrNoServer.
//     SessionExpiredException is zk.ErrSessionExpired, which go-zookeeper hardly ever returns, since
//     it opens a new session by itself. InterruptedException is the end of a context.
//
// [goclient.ClientSemantics]: https://pkg.go.dev/github.com/zktorture/zktorture/fakezk/goclient#ClientSemantics
package published

import (
	"slices"
	"strings"
)

// Bugs is a set of bug ids: it says which of a recipe's published bugs are in force.
type Bugs struct {
	all bool
	ids []string
}

// AllBugs is the recipe as it was published.
func AllBugs() Bugs { return Bugs{all: true} }

// NoBugs is the recipe with every known bug fixed.
func NoBugs() Bugs { return Bugs{} }

// OnlyBugs is the recipe with these bugs and no others.
func OnlyBugs(ids ...string) Bugs { return Bugs{ids: slices.Clone(ids)} }

// Has reports whether a bug is in force. The recipe had it when it was published.
func (b Bugs) Has(id string) bool { return b.all || slices.Contains(b.ids, id) }

// Later reports whether a bug is in force that the class did not have when it was published so, but
// has in other versions: only by its name.
func (b Bugs) Later(id string) bool { return slices.Contains(b.ids, id) }

// String lists the ids.
func (b Bugs) String() string {
	switch {
	case b.all:
		return "as published"
	case len(b.ids) == 0:
		return "none"
	}
	return strings.Join(b.ids, ",")
}

// mistake is a known bug of a recipe: it puts a short function of its own, or a value, in the place
// of a step of the correct recipe.
type mistake[R any] struct {
	id      string
	replace func(r *R)
}

// mistaken makes those mistakes in a correct recipe that are in force, in their order.
func mistaken[R any](r *R, inForce func(id string) bool, all []mistake[R]) *R {
	for _, m := range all {
		if inForce(m.id) {
			m.replace(r)
		}
	}
	return r
}
