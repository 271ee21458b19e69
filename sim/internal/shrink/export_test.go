package shrink

import (
	"context"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/world"
)

// Terms are what the episodes of a test have in common: all faults unless it says which, or None, and three clients.
type Terms struct {
	Faults  world.Faults
	None    bool
	Clients int
}

func (t Terms) episode(source world.Source) *runner.Episode {
	if t.Faults == 0 && !t.None {
		t.Faults = world.AllFaults
	}
	if t.Clients == 0 {
		t.Clients = 3
	}
	return &runner.Episode{
		Settings: world.Settings{Source: source, Faults: t.Faults, Clients: t.Clients, Ops: 4, StepsMax: 400},
	}
}

func shrinker(w world.Workload, t Terms, property string) *Shrinker {
	return &Shrinker{Property: property, Budget: 1, Episode: t.episode, Serial: runner.NewSerial(context.Background(), w)}
}

// Within runs choices whole, and again until they become larger than what other choices give. It reports whether the
// whole run is larger.
func Within(w world.Workload, t Terms, choices, bound func() world.Source) (whole, bounded *world.Run, larger bool) {
	s := shrinker(w, t, "")
	smallest := world.Cost(s.run(bound(), nil).Run)
	whole, bounded = s.run(choices(), nil).Run, s.run(choices(), smallest).Run
	return whole, bounded, slices.Compare(world.Cost(whole), smallest) >= 0
}

// FollowOne runs an episode, and again by what happened in it.
func FollowOne(w world.Workload, t Terms, source world.Source) (hash, followed uint64) {
	s := shrinker(w, t, "")
	o := s.run(source, nil)
	return o.Hash, s.run(newGuided(o.candidate()), nil).Hash
}

// SingleEdits lists the single choices that can be deleted or lowered so that a property still breaks, in a
// simpler run, and reports whether it breaks at all.
func SingleEdits(w world.Workload, t Terms, property string, choices world.Choices) (helped []string, breaks bool) {
	s := shrinker(w, t, property)
	best := s.run(choices.Replay(), nil)
	try := func(i int, edit string, edited []world.Made) {
		s.best, s.Budget = best, 1
		if s.keep(s.run(newAligned(edited), world.Cost(best.Run))) {
			m := best.Made[i]
			helped = append(helped, fmt.Sprintf("choice %d (%s, %d) %s", i, m.Label, m.Value, edit))
		}
	}
	for i, m := range best.Made {
		try(i, "deleted", slices.Delete(slices.Clone(best.Made), i, i+1))
		for value := range m.Value {
			lower := slices.Clone(best.Made)
			lower[i].Value = value
			try(i, fmt.Sprintf("set to %d", value), lower)
		}
	}
	return helped, best.Breaks(property) != nil
}
