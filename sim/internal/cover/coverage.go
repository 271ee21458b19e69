package cover

import (
	"fmt"
	"maps"

	"github.com/zktorture/zktorture/sim/world"
)

// Coverage says which ways for a fault to hit the recipe the episodes of a campaign have shown: true of those that were
// taken, false of those that were offered only. What several workers or parts have seen adds up by [Coverage.Add].
type Coverage map[world.Way]bool

// Add adds what others have seen.
func (c Coverage) Add(o Coverage) {
	for way, struck := range o {
		c[way] = c[way] || struck
	}
}

// Struck is how many of the ways were taken.
func (c Coverage) Struck() (n int) {
	for struck := range maps.Values(c) {
		if struck {
			n++
		}
	}
	return n
}

// String says it in a line.
func (c Coverage) String() string {
	if len(c) == 0 {
		return "coverage: no fault could strike"
	}
	return fmt.Sprintf("coverage: %d of %d combinations of fault, operation and request", c.Struck(), len(c))
}
