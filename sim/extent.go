package sim

import (
	"fmt"
	"time"
)

// Words for what a verdict covers.
const (
	ExtentSampled  = "SAMPLED"  // so many episodes of very many
	ExtentBounded  = "BOUNDED"  // a search that did not come to its end
	ExtentComplete = "COMPLETE" // all executions within the bound
)

// Extent says what a verdict covers. Only what is COMPLETE is exhaustive, within its bound.
type Extent struct {
	Word   string `json:"word"`
	Reason string `json:"reason,omitempty"` // of a search that is BOUNDED: what ended it
	// Of a search: how many runs it made, and about how many it would have made to its end (0: not known); states seen,
	// each one once; runs that were not cut at a state seen before; and a digest of all states, which does not depend on
	// the order in which they were seen.
	Runs      int    `json:"runs,omitempty"`
	Estimated int    `json:"estimated,omitempty"`
	States    int    `json:"states,omitempty"`
	Ends      int    `json:"ends,omitempty"`
	Digest    uint64 `json:"-"`
	Episodes  int    `json:"episodes,omitempty"` // SAMPLED: so many

	CPU time.Duration `json:"-"` // processor time of the search, and of all else that the process did meanwhile
}

// String says it in a line.
func (c Extent) String() string {
	switch c.Word {
	case ExtentComplete:
		return fmt.Sprintf("COMPLETE: %d executions to their end, %d states, %d runs", c.Ends, c.States, c.Runs)
	case ExtentBounded:
		return fmt.Sprintf("BOUNDED (%s): not finished: %d of an estimated %d runs", c.Reason, c.Runs, c.Estimated)
	}
	return fmt.Sprintf("SAMPLED (%d)", c.Episodes)
}

// extent says how far a search has come.
func (s *search) extent() Extent {
	c := Extent{
		Word: ExtentComplete, Runs: s.runs, Estimated: s.runs, States: len(s.seen), Ends: s.ends, Digest: s.digest, CPU: s.spent,
	}
	if !s.complete {
		c.Word, c.Reason = ExtentBounded, "a violation was found"
		if s.why != nil {
			c.Reason = s.why.Error()
		}
		c.Estimated = int(float64(s.runs) / max(s.done(), 1e-9))
	}
	return c
}

func (c *campaign) extent() Extent {
	if c.search != nil {
		return c.search.extent()
	}
	return Extent{Word: ExtentSampled, Episodes: c.result.Episodes}
}
