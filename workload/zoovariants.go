package workload

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// Variants of the workloads for recipes of the zoo.

// vary makes each episode of a workload another one.
func (w *Workload) vary(variant func(e episode, path string) episode) *Workload {
	plan := w.plan
	w.plan = func(p *sim.Plan, path string) episode { return variant(plan(p, path), path) }
	return w
}

// patient is for a queue whose take promises to wait, whatever happens to the connection: if it fails
// by that and has removed nothing, that is unexpected.
func (w *Workload) patient() *Workload {
	return w.vary(func(e episode, _ string) episode { return patientEpisode{e} })
}

type patientEpisode struct{ episode }

func (e patientEpisode) judge(v *view) judgement {
	j := e.episode.judge(v)
	i := slices.IndexFunc(v.ops, func(op *sim.Op) bool {
		return op.Name == "take" && !op.Cancelled && disconnected(op.Err) && !errors.Is(op.Err, recipes.ErrUnknownOutcome)
	})
	if i >= 0 {
		j.add(sim.Violation{Property: "unexpected-error", Ops: []*sim.Op{v.ops[i]}, Message: fmt.Sprintf(
			"%s's take at %s failed with %q instead of waiting", who(v.ops[i]), v.when(v.ops[i]), v.ops[i].Err)})
	}
	return j
}
