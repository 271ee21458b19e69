package cli

import (
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/cmd/internal/ciformat"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/stamps"
	"github.com/zktorture/zktorture/workload"
)

// ciOf reports a run: a case for each property of the workload, and for each violation of a property common to all
// recipes. An unbroken property passes only if the run was decided.
func (t *Trial) ciOf(result sim.Result, problems []ciformat.Problem) ciformat.Report {
	report := ciformat.Report{
		Title: fmt.Sprintf("%s (%s) on %s", result.Workload, result.Recipe, t.backend), Seconds: result.Elapsed.Seconds(),
	}
	rest := sim.VerdictOK
	if result.Reason != "" || result.Interrupted {
		rest = sim.VerdictUnknown
	}
	if kind, err := workload.KindNamed(result.Workload); err == nil {
		for _, promise := range kind.Promises {
			if name := promise.Name(); name != "" {
				report.Cases = append(report.Cases, ciformat.Case{Name: name, BrokenBy: promise.BrokenBy,
					Verdict: rest, Reason: result.Reason})
			}
		}
	}
	for _, p := range problems {
		report.Breaks(p)
	}
	return report
}

// problems are the violations of a run, with their stories.
func (t *Trial) problems(c *console.Context, w *workload.Workload, result sim.Result, saved output.Evidence) (all []ciformat.Problem) {
	for i, found := range result.Violations {
		p := ciformat.Problem{Property: found.Property, Message: found.Message}
		if i >= len(saved.Examples) {
			p.Story = storyOfHistory(found).Text(story.TextOptions{})
		} else {
			p.Story = storyOf(c, w, saved.Examples[i], saved.Files[i])
		}
		all = append(all, p)
	}
	return all
}

// storyOfHistory is the story of a violation on real servers.
func storyOfHistory(found sim.Found) *story.Story {
	h, _ := found.History.(linearizability.History)
	return stamps.Part(h, found.Property, found.Message, 3, func(o linearizability.Operation) bool {
		return slices.ContainsFunc(found.Ops, func(op *world.Op) bool { return op.Call == o.Call })
	})
}
