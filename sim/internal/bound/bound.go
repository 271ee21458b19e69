// Package bound is what package sim knows of searches of all executions: what they are of, and who makes them.
package bound

import (
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
	Reached() Reached
}

// Reached is how far a search has come, see Extent of package tally.
type Reached struct {
	Runs, Estimated, States, Ends int
	Digest                        uint64
	Why                           string // it has not come to its end; "" if it has
}

// New returns a search that has not begun. It is nil in a program without package search, which sim/prove imports.
var New func(*Campaign) Search
