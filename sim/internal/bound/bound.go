// Package bound is what package sim knows of searches of all executions: what they are of, and who makes them.
package bound

import (
	"cmp"
	"context"
	"time"

	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/world"
)

// Campaign is a campaign that is a search, and where it notes what was run. Most fields are those of Config of package sim.
type Campaign struct {
	Workload                              world.Workload
	Terms                                 runner.Terms
	AtMost, Users, Share, Shares, RunsMax int
	Backwards, Plain, Whole               bool
	Without                               Reductions
	Checkpoint                            string
	Steps                                 Steps // may be nil

	Of     string // which campaign it is
	Begun  time.Time
	Counts func(*world.Run) bool // whether a run breaks a property that counts
	Record func(*world.Run)
	Found  func() bool             // whether a run that was recorded broke any
	Part   any                     // what came of the runs that were recorded, as JSON in checkpoints …
	Add    func(part []byte) error // … to which it adds that of one
}

// Steps is told of each step between two states, by their hashes, in order: its deed is the number of a fault or 0, its variant,
// and the action or the target; then choices within it. From is 0 for a set-up, without a deed, and to for the end of the torture.
type Steps func(from uint64, deed string, inner []int, to uint64)

// Search is a search of a campaign.
type Search interface {
	// Run searches until all is done, something is found, or one of the contexts ends.
	Run(ctx, stop context.Context, dog *runner.Watchdog)
	// Reached says how far it has come.
	Reached() *Reached
}

// Reached is how far shares of a search have come: Search of package tally.
type Reached struct {
	Shares  int    `json:"shares"` // that are in it
	Runs    int    `json:"runs"`
	States  int    `json:"states"`
	Waiting int    `json:"waiting"`
	Ends    int    `json:"ends"`
	Digest  uint64 `json:"digest"`
	Why     string `json:"why,omitempty"`    // why a share has not come to its end, "" if all have …
	WhyOf   int    `json:"why_of,omitempty"` // … and the first of which that is true
}

// Plus returns how far the shares of both have come, each nil if there are none.
func (s *Reached) Plus(t *Reached) *Reached {
	if s == nil || t == nil {
		return cmp.Or(s, t)
	}
	sum := Reached{s.Shares + t.Shares, s.Runs + t.Runs, s.States + t.States, s.Waiting + t.Waiting, s.Ends + t.Ends, s.Digest + t.Digest,
		s.Why, s.WhyOf}
	if s.Why == "" || t.Why != "" && t.WhyOf < s.WhyOf {
		sum.Why, sum.WhyOf = t.Why, t.WhyOf
	}
	return &sum
}

// New returns a search that has not begun. It is nil in a program without package search, which sim/prove imports.
var New func(*Campaign) Search
