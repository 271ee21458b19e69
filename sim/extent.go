package sim

import (
	"cmp"
	"fmt"
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

// PartSearch is how far shares of a search have come, see [Extent].
type PartSearch struct {
	Shares    int    `json:"shares"` // that are in it
	Runs      int    `json:"runs"`
	Estimated int    `json:"estimated"`
	States    int    `json:"states"`
	Ends      int    `json:"ends"`
	Digest    uint64 `json:"digest"`
	Why       string `json:"why,omitempty"`    // why a share has not come to its end, "" if all have …
	WhyOf     int    `json:"why_of,omitempty"` // … and the first of which that is true
}

// plus returns how far the shares of both have come, each nil if there are none.
func (s *PartSearch) plus(t *PartSearch) *PartSearch {
	switch {
	case s == nil:
		return t
	case t == nil:
		return s
	}
	sum := PartSearch{
		s.Shares + t.Shares, s.Runs + t.Runs, s.Estimated + t.Estimated, s.States + t.States, s.Ends + t.Ends,
		s.Digest + t.Digest, s.Why, s.WhyOf,
	}
	if s.Why == "" || t.Why != "" && t.WhyOf < s.WhyOf {
		sum.Why, sum.WhyOf = t.Why, t.WhyOf
	}
	return &sum
}

// reached says how far a search, or a share, has come.
func (s *search) reached() *PartSearch {
	p := &PartSearch{
		Shares: 1, Runs: s.runs, Estimated: s.runs, States: len(s.seen), Ends: s.ends, Digest: s.digest,
	}
	switch {
	case s.why != nil:
		p.Why, p.WhyOf = s.why.Error(), s.share
	case !s.complete:
		p.Why, p.WhyOf = "a violation was found", s.share
	}
	if !s.complete {
		p.Estimated = int(float64(s.runs) / max(s.done(), 1e-9))
	}
	return p
}

// extent says what is covered by a campaign whose search, if it is one, has so many shares.
func (p *Part) extent(shares int) Extent {
	s := p.Search
	if s == nil {
		return Extent{Word: ExtentSampled, Episodes: p.Episodes}
	}
	e := Extent{
		Word: ExtentComplete, Reason: s.Why, Runs: s.Runs, Estimated: s.Estimated, States: s.States, Ends: s.Ends,
		Digest: s.Digest,
	}
	if s.Shares != shares {
		e.Reason = cmp.Or(s.Why, fmt.Sprintf("%d of %d shares", s.Shares, shares))
	}
	if e.Reason != "" {
		e.Word = ExtentBounded
	}
	return e
}
