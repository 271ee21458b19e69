package torturecli

import (
	"fmt"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/storyindex/course"
)

// progress returns who is told of a run's progress: its bar, and the record of its course in the user's
// folder.
func (o *output) progress(bar *bar) func(sim.Progress) {
	return func(p sim.Progress) {
		bar.show(p)
		if o.course != nil {
			o.course.Add(pointOf(p))
		}
	}
}

func pointOf(p sim.Progress) course.Point {
	point := course.Point{
		Time: p.Elapsed.Seconds(), Episodes: int64(p.Episodes), Operations: p.Operations,
		Faults: map[string]int64{}, Violations: int64(p.Violations),
	}
	for kind, n := range p.Struck {
		point.Faults[kind] = int64(n)
	}
	return point
}

// endCourse writes the last of the course. A course that cannot be written does not change what the run
// found.
func (o *output) endCourse(c *commandContext) {
	if o.course == nil {
		return
	}
	if err := o.course.Close(); err != nil {
		fmt.Fprintf(c.err, "torture: %v; its verdict does not depend on that\n", err)
	}
}
