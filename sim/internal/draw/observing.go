package draw

import (
	"math/bits"

	"github.com/zktorture/zktorture/sim/world"
)

// observing draws as [Random] does, but for what happens next, and for which faults strike when: there it
// looks at the world.
type observing struct {
	Random
	world.Blind
	targets targets // nil: faults are left to chance
	order   order
	world   *world.World
	late    bool // more may strike than in the first, simple episodes, and than where few faults may
	pos     bool // what happens next is drawn by partial-order sampling; else anything is as likely, without inertia …
	holds   bool // … but for what a client does that is held back
	held    int  // that client, -1 if none is

	next  int
	free  []int // actions of others than who is held back
	now   strikePlan
	asked world.Faults // what it has not been asked for yet whether that is in the episode

	// What the targets decide at the beginning:
	swarm   world.Faults // what may strike
	several bool         // so many faults as may be
	apart   bool         // clients begin without a connection
}

// targets is how an observing source chooses the faults.
type targets interface {
	// begin is called at the beginning of an episode with the faults that may be in it.
	begin(s *observing, allowed world.Faults)
	// strike says what strikes now.
	strike(s *observing, w *world.World) strikePlan
	// server chooses one of n servers for a client that connects, and lag one of n answers to how far that is behind.
	server(s *observing, w *world.World, n int) int
	lag(s *observing, n int) int
}

// strikePlan is which of the episode's faults strikes (0: none), which of its targets, and in which variant.
type strikePlan struct{ kind, target, variant int }

func (s *observing) Reset(seed, episode uint64) {
	s.Random.Reset(seed, episode)
	s.stay, s.late, s.pos, s.holds, s.held = 0, episode >= simple, s.targets == nil, false, -1
	if s.targets != nil {
		way := s.below(3)
		s.pos, s.holds = way == 0, way == 1
	}
	s.order.pending = s.order.pending[:0]
}

// simple is how many episodes of a campaign come first, whose stories are to be simple.
const simple = 20

// below draws a number below n.
func (s *observing) below(n int) int { return int(s.rng.Uint64() >> 32 % uint64(n)) }

// oneOf draws one of some faults; none of none.
func (s *observing) oneOf(all world.Faults) world.Faults {
	if all == 0 {
		return 0
	}
	for range s.below(bits.OnesCount16(uint16(all))) {
		all &= all - 1
	}
	return all & -all
}

// Chooses looks at the world.
func (s *observing) Chooses(w *world.World, label string) {
	s.world = w
	switch {
	case label == world.LabelNext:
		switch {
		case s.pos:
			s.next = s.order.pick(w.Actions(), w.Race, s.rng.Uint64)
		case s.holds:
			s.next = s.overtake(w)
		default:
			s.next = s.below(len(w.Actions()))
		}
	case s.targets == nil:
	case label == world.LabelSwarm:
		s.asked, s.several, s.apart, s.late = w.Allowed(), false, false, s.late && w.Allowed().Has(world.UsualFaults)
		s.targets.begin(s, s.asked)
	case label == world.LabelFault:
		s.now = s.targets.strike(s, w)
	}
}

func (s *observing) Choose(n int, label string) int {
	switch {
	case label == world.LabelNext:
		return s.next
	case s.targets == nil:
	case label == world.LabelSwarm:
		one := s.asked & -s.asked // the next of the faults: whether it is in the episode
		s.asked &^= one
		if s.swarm.Has(one) {
			return 1
		}
		return 0
	case label == world.LabelFault:
		return s.now.kind
	case label == world.LabelTarget:
		return s.now.target
	case label == world.LabelVariant:
		return s.now.variant
	case label == world.LabelReplica:
		return s.targets.server(s, s.world, n)
	case label == world.LabelLagging:
		return s.targets.lag(s, n)
	case label == world.LabelAtMost && s.several:
		return n - 1
	case label == world.LabelUnconnected && s.apart && s.below(4) > 0:
		return n - 1 - s.below(2)
	}
	return s.Random.Choose(n, label)
}

const (
	holdsOneOf = 2  // who acted last is held back with probability 1/holdsOneOf, where something depends on it …
	holdsTurns = 32 // … for so many turns in the mean
)

// overtake draws what happens next where one client after the other is held back: one on whom something depends, as it is
// about to write by what it has read, while others do what they can.
func (s *observing) overtake(w *world.World) int {
	all := w.Actions()
	switch last := all[0]; { // the first are of the client that acted last, if it can do anything
	case s.held >= 0 && s.below(holdsTurns) == 0:
		s.held = -1
	case s.held < 0 && !last.OfServer() && w.Decisive(last.Client) && s.below(holdsOneOf) == 0:
		s.held = last.Client
	}
	s.free = s.free[:0]
	for i, a := range all {
		if a.OfServer() || a.Client != s.held {
			s.free = append(s.free, i)
		}
	}
	if len(s.free) == 0 {
		return s.below(len(all))
	}
	return s.free[s.below(len(s.free))]
}
