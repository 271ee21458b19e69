package search

import (
	"slices"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim/internal/bound"
	"github.com/zktorture/zktorture/sim/world"
)

// servers are those of n to which the client that dials may connect: of equal ones the first, and not a deposed leader
// that it has left.
func (s *search) servers(n int) (options []int) {
	w := s.world
	for r := s.firstServer(); r < n; r++ {
		if r == w.Servers().Deposed() && s.been>>w.Dialler()&1 != 0 {
			continue
		}
		equal := func(other int) bool {
			return !s.Without.Has(bound.ReduceServers) && w.EqualServers(r, other, s.left > 0)
		}
		if !slices.ContainsFunc(options, equal) {
			options = append(options, r)
		}
	}
	return options
}

// view says what of the servers cannot matter any more.
func (s *search) view(w *world.View) fakezk.View {
	if s.Without.Has(bound.ReduceServers) {
		return fakezk.View{}
	}
	return w.ServersMatter(s.left > 0)
}

// noteBeen notes which clients are with a deposed leader: they do not come back to it.
func (s *search) noteBeen(w *world.View) {
	if w.Servers().Deposed() < 0 {
		s.been = 0
		return
	}
	s.been |= w.AllAtDeposed()
}

// variants are those of n in which the fault strikes that was chosen: what may end at any moment may also end late.
func (s *search) variants(n int) []int {
	if !s.Without.Has(bound.ReduceVariants) {
		switch s.world.NthFault(s.kind) {
		case world.Stall:
			return []int{world.StallShort}
		case world.Deposed:
			return []int{world.DeposedBrief}
		}
	}
	return upTo(n)
}
