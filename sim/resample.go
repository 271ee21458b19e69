package sim

import "slices"

// resamples is how many new episodes the search for a simpler one draws.
var resamples = 1500

// resample looks for a simpler episode that breaks the same property by drawing new ones with at most as many users
// and faults as the best. Edits of a list of choices do not lead from one schedule to a quite different, shorter one;
// luck does, because small worlds have few schedules.
func (s *shrinker) resample() {
	source := &smallerSource{random: newRandomSource(0, 0)}
	for i := range resamples {
		if s.budget <= 0 {
			return
		}
		s.budget--
		source.random.reset(uint64(i), s.best.hash)
		source.bound(s.best)
		s.keep(s.run(source))
	}
}

// keep keeps a run in which the property breaks if it is simpler than the best.
func (s *shrinker) keep(o *outcome) bool {
	if o.breaks(s.property) == nil || slices.Compare(cost(o), cost(s.best)) >= 0 {
		return false
	}
	s.best = o
	return true
}

// smallerSource draws episodes that are no larger than a given one.
type smallerSource struct {
	random  *randomSource
	swarm   []int // answers to the swarm's questions
	clients int
	doubles bool // two users on one session
	faults  int
}

// bound takes the bounds from an outcome.
func (s *smallerSource) bound(o *outcome) {
	s.clients, s.doubles, s.faults = o.users, o.users > o.clients, o.faults
	s.swarm = s.swarm[:0]
	for _, m := range o.made {
		if m.label == LabelSwarm {
			s.swarm = append(s.swarm, m.value)
		}
	}
}

func (s *smallerSource) Choose(n int, label string) int {
	switch label {
	case LabelSwarm:
		if len(s.swarm) == 0 {
			return 0
		}
		answer := s.swarm[0]
		s.swarm = s.swarm[1:]
		return answer
	case "clients":
		n = min(n, s.clients)
	case "two users":
		if !s.doubles {
			return 0
		}
	case "faults at most":
		n = max(min(n, s.faults), 1)
	}
	return s.random.Choose(n, label)
}
