package search

import "slices"

// Newcomers are clients that have done nothing since the episode began, and that no fault has struck. Those with equal
// plans at the same server are as good as each other: whatever can happen from here on can happen with two of them
// exchanged. So of each such group one is the first to act or to be struck. It is the last: the order of their deeds is
// then not that of their numbers and sessions, nor, of two, that of their identities, by which a wrong recipe may go.
//
// For the same reason they begin in the order of their servers: which of them has begun, or is told in one step, before
// another cannot be seen but by the numbers of sessions and transactions.
//
// This assumes that the recipe, and the judge, tell clients apart only by what they do. A recipe that compares the
// numbers, sessions or identities of clients may do what is not run.

// later are the clients, as bits, that leave the next event to another newcomer.
func (s *search) later(t *state) (all uint64) {
	for b := range s.plans {
		for a := range b {
			if s.exchangeable(t, a, b) {
				all |= 1 << a
			}
		}
	}
	return all
}

// firstServer is the first to which the client that dials may connect: as long as nothing has struck, not before those
// with its plan.
func (s *search) firstServer() (first int) {
	b := s.world.Dialler()
	for a := range min(b, len(s.plans)) {
		if s.met == 0 && s.left == s.AtMost && s.plans[a] == s.plans[b] {
			_, first = s.world.Standing(a)
		}
	}
	return first
}

// exchangeable reports whether two clients, of which the second began later, are newcomers that nothing but their names
// tells apart. Between their beginnings no call of another has failed.
func (s *search) exchangeable(t *state, a, b int) bool {
	between := uint64(1<<b - 1<<a)
	return s.plans[a] == s.plans[b] && t.acted&(1<<a|1<<b) == 0 && t.alone&between == 0 &&
		s.standing[t.clients[a].own].server == s.standing[t.clients[b].own].server
}

// inTurn are those of the world's actions that no client leaves to another newcomer.
func (s *search) inTurn(options []int) []int {
	later := s.later(&s.now)
	return slices.DeleteFunc(options, func(i int) bool {
		a := s.world.Actions()[i]
		return !a.OfServer() && later>>a.Client&1 != 0
	})
}

// targets are those of a fault that no client leaves to another newcomer.
func (s *search) targets() (options []int) {
	w, later := s.world, s.later(&s.now)
	fault := w.NthFault(s.kind)
	for i, t := range w.Targets() {
		if victim := w.Victim(fault, t); victim < 0 || later>>victim&1 == 0 {
			options = append(options, i)
		}
	}
	return options
}
