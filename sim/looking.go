package sim

import "math/bits"

// looker is a source that looks at the world before it makes choices of these labels: [LabelSwarm], once, for the first of
// them; [LabelFault]; and [LabelNext], also if there is one action only and so nothing to choose.
type looker interface{ look(w *World, label string) }

// look lets the source look if it wants to.
func (w *World) look(label string) {
	if w.looker != nil {
		w.looker.look(w, label)
	}
}

// lookingSource draws as randomSource does, but for what happens next, and for which faults strike when: there it
// looks at the world.
type lookingSource struct {
	randomSource
	aim   aim // nil: faults are left to chance
	order order
	world *World
	pos   bool // what happens next is drawn by partial-order sampling; else anything is as likely, without inertia

	next  int
	now   strikePlan
	asked Faults // what it has not been asked for yet whether that is in the episode

	// What an aim decides at the beginning:
	swarm   Faults // what may strike
	several bool   // so many faults as may be
	apart   bool   // clients begin without a connection
}

// aim is how a lookingSource chooses the faults.
type aim interface {
	// begin is called at the beginning of an episode with the faults that may be in it.
	begin(s *lookingSource, allowed Faults)
	// strike says what strikes now.
	strike(s *lookingSource, w *World) strikePlan
	// server chooses one of n servers for a client that connects, and lag one of n answers to how far that is behind.
	server(s *lookingSource, w *World, n int) int
	lag(s *lookingSource, n int) int
}

// strikePlan is which of the episode's faults strikes (0: none), which of its targets, and in which variant.
type strikePlan struct{ kind, target, variant int }

func (s *lookingSource) reset(seed, episode uint64) {
	s.randomSource.reset(seed, episode)
	s.stay, s.pos = 0, s.aim == nil || s.below(2) == 0
	s.order.reset()
}

// below draws a number below n.
func (s *lookingSource) below(n int) int { return int(s.rng.Uint64() >> 32 % uint64(n)) }

// oneOf draws one of some faults; none of none.
func (s *lookingSource) oneOf(all Faults) Faults {
	if all == 0 {
		return 0
	}
	for range s.below(bits.OnesCount16(uint16(all))) {
		all &= all - 1
	}
	return all & -all
}

func (s *lookingSource) look(w *World, label string) {
	s.world = w
	switch {
	case label == LabelNext:
		if s.pos {
			s.next = s.order.pick(w, s.rng.Uint64)
		} else {
			s.next = s.below(len(w.actions))
		}
	case s.aim == nil:
	case label == LabelSwarm:
		s.asked, s.several, s.apart = w.cfg.faults, false, false
		s.aim.begin(s, s.asked)
	case label == LabelFault:
		s.now = s.aim.strike(s, w)
	}
}

func (s *lookingSource) Choose(n int, label string) int {
	switch {
	case label == LabelNext:
		return s.next
	case s.aim == nil:
	case label == LabelSwarm:
		return s.inSwarm()
	case label == LabelFault:
		return s.now.kind
	case label == LabelTarget:
		return s.now.target
	case label == LabelVariant:
		return s.now.variant
	case label == LabelReplica:
		return s.aim.server(s, s.world, n)
	case label == labelLagging:
		return s.aim.lag(s, n)
	case label == labelAtMost && s.several:
		return n - 1
	case label == labelUnconnected && s.apart && s.below(4) > 0:
		return n - 1 - s.below(2)
	}
	return s.randomSource.Choose(n, label)
}

// inSwarm answers whether the next of the faults is in the episode.
func (s *lookingSource) inSwarm() int {
	one := s.asked & -s.asked
	s.asked &^= one
	if s.swarm.Has(one) {
		return 1
	}
	return 0
}
