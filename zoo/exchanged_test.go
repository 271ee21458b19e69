package zoo_test

import (
	"cmp"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/zoo"
)

// exchanging is a workload whose episodes are judged again and again, each time with two returns exchanged between which
// a search does not tell which was first.
type exchanging struct {
	sim.Workload
	t         *testing.T
	id        string
	exchanges *atomic.Int64
}

func (x exchanging) Plan(p *world.Plan) world.Episode { return exchanged{x.Workload.Plan(p), x} }

type exchanged struct {
	world.Episode
	by exchanging
}

func (e exchanged) Judge(w *world.World) world.Judgement {
	j, returned := e.Episode.Judge(w), slices.Clone(w.Ops())
	returned = slices.DeleteFunc(returned, func(op *world.Op) bool { return op.Return == 0 })
	slices.SortFunc(returned, func(a, b *world.Op) int { return cmp.Compare(a.Return, b.Return) })
	gives := e.by.Terms().GivesBack
	for i := range max(1, len(returned)) - 1 {
		a, b := returned[i], returned[i+1]
		if !gives(a.Name) && !gives(b.Name) || a.Client == b.Client || between(w, a.Return, b.Return) {
			continue
		}
		a.Return, b.Return = b.Return, a.Return
		again := e.Episode.Judge(w)
		a.Return, b.Return = b.Return, a.Return
		e.by.exchanges.Add(1)
		if x, y := brokenIn(j), brokenIn(again); !slices.Equal(x, y) || j.Unknown != again.Unknown {
			e.by.t.Errorf("%s: %v; with the returns of c%d's %s and c%d's %s exchanged: %v", e.by.id, x, a.Client+1, a.Name,
				b.Client+1, b.Name, y)
		}
	}
	return j
}

// between reports whether something that judges see happens between two returns.
func between(w *world.World, from, to int64) bool {
	in := func(step int) bool { return step > world.StepOf(from) && step <= world.StepOf(to) }
	return slices.ContainsFunc(w.Changes(), func(c world.Change) bool { return in(c.Step) }) ||
		slices.ContainsFunc(w.Ops(), func(op *world.Op) bool {
			died, crashed := w.Crash(op.Client, op.Incarnation)
			return op.Call > from && op.Call < to || in(world.StepOf(op.Told)) || crashed && in(world.StepOf(died))
		})
}

// brokenIn are the properties that a judgement says are broken.
func brokenIn(j world.Judgement) (properties []string) {
	for _, v := range j.Violations {
		properties = append(properties, v.Property)
	}
	slices.Sort(properties)
	return properties
}

// No judge of a kind whose operations give something back asks which of two that overlap returned first, if one of them is
// such an operation.
func TestWhenSomethingWasGivenBackIsComparedWithCallsOnly(t *testing.T) {
	var exchanges atomic.Int64
	judged := 0
	for _, a := range zoo.Animals() {
		for _, w := range []sim.Workload{a.Broken(), a.Twin()} {
			if w.Terms().GivesBack == nil {
				continue
			}
			judged++
			x := exchanging{w, t, a.ID, &exchanges}
			for _, f := range []world.Faults{a.Faults(), world.EveryFault} {
				cfg := sim.Config{Episodes: testkit.Sized(60, 2000), Seed: 5, Faults: f, NoFaultsAtAll: true, NoShrink: true, Whole: true}
				if _, err := sim.Run(t.Context(), x, cfg); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if t.Logf("%d exchanges in %d workloads", exchanges.Load(), judged); judged < 80 || exchanges.Load() < 2000 {
		t.Errorf("only %d exchanges in %d workloads were judged", exchanges.Load(), judged)
	}
}
