package tally

import (
	"fmt"

	"github.com/zktorture/zktorture/sim/internal/bound"
)

// Words for what a verdict covers.
const (
	Sampled  = "SAMPLED"  // so many episodes of very many
	Bounded  = "BOUNDED"  // a search that did not come to its end
	Complete = "COMPLETE" // all executions within the bound
)

// Extent says what a verdict covers. Only what is COMPLETE is exhaustive, within its bound.
type Extent struct {
	Word   string `json:"word"`
	Reason string `json:"reason,omitempty"` // of a search that is BOUNDED: what ended it
	// Of a search: how many runs it made; states seen, each one once; those of them of which steps are left, as far as is known;
	// ends, in which faults are healed and the rest follows; and a digest of all states, which does not depend on their order.
	Runs     int    `json:"runs,omitempty"`
	States   int    `json:"states,omitempty"`
	Waiting  int    `json:"waiting,omitempty"`
	Ends     int    `json:"ends,omitempty"`
	Digest   uint64 `json:"-"`
	Episodes int    `json:"episodes,omitempty"` // SAMPLED: so many
}

// String says it in a line.
func (c Extent) String() string {
	switch c.Word {
	case Complete:
		return fmt.Sprintf("COMPLETE: %d ends, %d states, %d runs", c.Ends, c.States, c.Runs)
	case Bounded:
		return fmt.Sprintf("BOUNDED (%s): not finished: %d runs, %d states, from %d of which it has not gone on", c.Reason, c.Runs, c.States, c.Waiting)
	}
	return fmt.Sprintf("SAMPLED (%d)", c.Episodes)
}

// Search is how far shares of a search have come, see [Extent].
type Search = bound.Reached
