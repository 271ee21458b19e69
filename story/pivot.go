package story

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
)

// continuations is how many random continuations run from each step.
const continuations = 100

// Tell replays a counterexample and makes its story, with the pivotal step. It takes about a second: a hundred runs
// for each step. If ctx ends first, the story has no pivotal step. The errors are those of [Same], [replay.Replay] and
// [replay.Continuations].
func Tell(ctx context.Context, w world.Workload, c *replay.Counterexample) (*Story, error) {
	r, err := replay.Replay(w, c)
	if err != nil {
		return nil, err
	}
	s, err := fromReplay(c, w, r)
	if err != nil {
		return nil, err
	}
	curve, err := replay.Continuations(ctx, w, c, r, continuations)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	for _, p := range curve {
		s.Curve = append(s.Curve, Point{int64(p.Step), p.Runs, p.Broken, p.Unknown})
	}
	s.Pivot = s.pivot()
	return s, nil
}

// Brief is [Tell] without the pivotal step: it takes a single run.
func Brief(w world.Workload, c *replay.Counterexample) (*Story, error) {
	r, err := replay.Replay(w, c)
	if err != nil {
		return nil, err
	}
	return fromReplay(c, w, r)
}

// pivot finds the steepest rise of the curve; of equal rises the first. A curve without a rise beyond chance has its
// pivot at step 0: the calls themselves are at fault, not the schedule.
func (s *Story) pivot() *Pivot {
	if len(s.Curve) == 0 {
		return nil
	}
	p := &Pivot{After: s.Curve[0], Sealed: s.sealed()}
	best := chance(s.Curve[0].Runs)
	for i, after := range s.Curve[1:] {
		if rise := after.Broken - s.Curve[i].Broken; rise > best {
			p.Before, p.After, best = s.Curve[i], after, rise
		}
	}
	p.Step = p.After.Step
	p.Text = prose{s}.tellPivot(p)
	return p
}

// chance is how far the counts of two steps may differ by chance: two standard deviations of the difference of two
// binomials with equal odds.
func chance(runs int) int { return int(2 * math.Sqrt(float64(runs)/2)) }

// sealed returns the first step from which every continuation ends in the violation, -1 if there is none.
func (s *Story) sealed() int64 {
	step := int64(-1)
	for i := len(s.Curve) - 1; i >= 0 && s.Curve[i].Broken == s.Curve[i].Runs; i-- {
		step = s.Curve[i].Step
	}
	return step
}

func (s prose) tellPivot(p *Pivot) string {
	if p.Step == 0 {
		if p.After.Broken == p.After.Runs {
			return fmt.Sprintf("timing does not matter: each of %d random runs of these calls ends in %s", p.After.Runs, s.Property)
		}
		return fmt.Sprintf("no step in particular: %d of %d random runs of these calls end in %s%s",
			p.After.Broken, p.After.Runs, s.Property, p.tellSealed())
	}
	return fmt.Sprintf("step %d (%s): from before it %d of %d random runs end in %s, from after it %d%s",
		p.Step, s.happenedAt(p.Step), p.Before.Broken, p.After.Runs, s.Property, p.After.Broken, p.tellSealed())
}

func (p *Pivot) tellSealed() string {
	switch {
	case p.Sealed < 0:
		return "; not even the last step makes it certain"
	case p.Sealed > p.Step && p.After.Broken < p.After.Runs:
		return fmt.Sprintf("; from after step %d all", p.Sealed)
	}
	return ""
}

// happened describes what happened in a step.
func (s prose) happened(step int64) string {
	if e := s.eventAt(step); e != nil {
		return s.line(*e)
	}
	return "the world"
}

// happenedAt is happened with the line of code that did it.
func (s prose) happenedAt(step int64) string {
	if e := s.eventAt(step); e != nil && e.Code != "" {
		return s.line(*e) + ", by " + e.Code
	}
	return s.happened(step)
}

// eventAt returns what happened in a step besides calls and returns, nil if that is nothing.
func (s *Story) eventAt(step int64) *Event {
	i := slices.IndexFunc(s.Events, func(e Event) bool {
		return e.Step == step && e.Kind != kindCall && e.Kind != kindReturn
	})
	if i < 0 {
		return nil
	}
	return &s.Events[i]
}
