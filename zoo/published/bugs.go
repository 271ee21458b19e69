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
