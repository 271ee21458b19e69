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
func (w *Workload) vary(variant func(e Episode, path string) Episode) *Workload {
	plan := w.plan
	w.plan = func(p *sim.Plan, path string) Episode { return variant(plan(p, path), path) }
	return w
}

// patient is for a queue whose take promises to wait, whatever happens to the connection: if it fails
// by that and has removed nothing, that is unexpected.
func (w *Workload) patient() *Workload {
	return w.vary(func(e Episode, _ string) Episode { return patientEpisode{e} })
}

type patientEpisode struct{ Episode }

func (e patientEpisode) Judge(v *View) Judgement {
	j := e.Episode.Judge(v)
	i := slices.IndexFunc(v.Ops, func(op *sim.Op) bool {
		return op.Name == "take" && !op.Cancelled && Disconnected(op.Err) && !errors.Is(op.Err, recipes.ErrUnknownOutcome)
	})
	if i >= 0 {
		j.Add(sim.Violation{Property: "unexpected-error", Ops: []*sim.Op{v.Ops[i]}, Message: fmt.Sprintf(
			"%s's take at %s failed with %q instead of waiting", Who(v.Ops[i]), v.When(v.Ops[i]), v.Ops[i].Err)})
	}
	return j
}
