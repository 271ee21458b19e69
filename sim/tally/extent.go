package tally

import (
	"fmt"
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
	// Of a search: how many runs it made, and about how many it would have made to its end (0: not known); states seen,
	// each one once; runs that were not cut at a state seen before; and a digest of all states, which does not depend on
	// the order in which they were seen.
	Runs      int    `json:"runs,omitempty"`
	Estimated int    `json:"estimated,omitempty"`
	States    int    `json:"states,omitempty"`
	Ends      int    `json:"ends,omitempty"`
	Digest    uint64 `json:"-"`
	Episodes  int    `json:"episodes,omitempty"` // SAMPLED: so many
}

// String says it in a line.
func (c Extent) String() string {
	switch c.Word {
	case Complete:
		return fmt.Sprintf("COMPLETE: %d executions to their end, %d states, %d runs", c.Ends, c.States, c.Runs)
	case Bounded:
		if c.Estimated == 0 {
			return fmt.Sprintf("BOUNDED (%s): not finished: %d runs, %d states", c.Reason, c.Runs, c.States)
		}
		return fmt.Sprintf("BOUNDED (%s): not finished: %d of an estimated %d runs", c.Reason, c.Runs, c.Estimated)
	}
	return fmt.Sprintf("SAMPLED (%d)", c.Episodes)
}

// Search is how far shares of a search have come, see [Extent].
type Search struct {
	Shares    int    `json:"shares"` // that are in it
	Runs      int    `json:"runs"`
	Estimated int    `json:"estimated"`
	States    int    `json:"states"`
	Ends      int    `json:"ends"`
	Digest    uint64 `json:"digest"`
	Why       string `json:"why,omitempty"`    // why a share has not come to its end, "" if all have …
	WhyOf     int    `json:"why_of,omitempty"` // … and the first of which that is true
}

// Plus returns how far the shares of both have come, each nil if there are none.
func (s *Search) Plus(t *Search) *Search {
	switch {
	case s == nil:
		return t
	case t == nil:
		return s
	}
	sum := Search{
		s.Shares + t.Shares, s.Runs + t.Runs, s.Estimated + t.Estimated, s.States + t.States, s.Ends + t.Ends,
		s.Digest + t.Digest, s.Why, s.WhyOf,
	}
	if s.Why == "" || t.Why != "" && t.WhyOf < s.WhyOf {
		sum.Why, sum.WhyOf = t.Why, t.WhyOf
	}
	return &sum
}
