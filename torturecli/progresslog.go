package torturecli

import (
	"fmt"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/storyindex/progresslog"
)

// progress returns who is told of a run's progress: its bar, and the progress log in the user's
// folder.
func (o *output) progress(bar *bar) func(sim.Progress) {
	return func(p sim.Progress) {
		bar.show(p)
		if o.progressLog != nil {
			o.progressLog.Add(pointOf(p))
		}
	}
}

func pointOf(p sim.Progress) progresslog.Point {
	point := progresslog.Point{
		Time: p.Elapsed.Seconds(), Episodes: int64(p.Episodes), Operations: p.Operations,
		Faults: map[string]int64{}, Violations: int64(p.Violations),
	}
	for kind, n := range p.Struck {
		point.Faults[kind] = int64(n)
	}
	return point
}

// endProgressLog writes the last of the progress log. A log that cannot be written does not change what the run
// found.
func (o *output) endProgressLog(c *commandContext) {
	if o.progressLog == nil {
		return
	}
	if err := o.progressLog.Close(); err != nil {
		fmt.Fprintf(c.err, "torture: %v; its verdict does not depend on that\n", err)
	}
}
