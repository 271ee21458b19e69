package sim

import (
	"slices"

	"github.com/zktorture/zktorture/fakezk"
)

// servers are those of n to which the client that dials may connect: of equal ones the first, and not a deposed leader
// that it has left.
func (s *search) servers(n int) (options []int) {
	w := s.world
	for r := range n {
		if r == w.servers.Deposed() && s.been>>w.kept.dials&1 != 0 {
			continue
		}
		if !slices.ContainsFunc(options, func(other int) bool { return s.equal(w, r, other) }) {
			options = append(options, r)
		}
	}
	return options
}

// equal tells whether nothing that can happen from now on tells two servers apart but their names. Up-to-date ones are
// equal, unless one of them may be struck by itself: the leader by being deposed, a follower with clients by falling
// behind. Of those without clients, where that can be, it matters how far they have come.
func (s *search) equal(w *World, a, b int) bool {
	switch {
	case s.without.Has(ReduceServers) || !w.current(a) || !w.current(b):
		return false
	case s.left == 0:
		return true
	case w.faults.Has(Lag):
		return w.lag[a] == unseen && w.lag[b] == unseen && w.servers.ZxidOf(a) == w.servers.ZxidOf(b)
	case w.faults.Has(Deposed):
		return w.follows(a) && w.follows(b)
	}
	return true
}

// current tells whether a server has all that is committed, or will have before it serves anybody, unless it is struck.
func (w *World) current(r int) bool {
	return r != w.servers.Deposed() && (w.lag[r] == upToDate || w.lag[r] == unseen)
}

// view says what of the servers cannot matter any more. If no fault is left, those without clients will be up to date
// for the next.
func (s *search) view(w *World) fakezk.View {
	if s.without.Has(ReduceServers) {
		return fakezk.View{}
	}
	v := fakezk.View{Alike: s.left == 0 || w.faults&(Lag|Deposed) == 0}
	for r := range w.replicas {
		v.Alike = v.Alike && w.current(r)
	}
	if s.left == 0 {
		v.Forgotten = func(r int) bool { return w.lag[r] == unseen }
	}
	return v
}

// noteBeen notes which clients are with a deposed leader: they do not come back to it.
func (s *search) noteBeen(w *World) {
	if w.servers.Deposed() < 0 {
		s.been = 0
		return
	}
	for _, p := range w.procs {
		for _, c := range p.clients {
			if w.atDeposed(c) {
				s.been |= 1 << p.id
			}
		}
	}
}

// variants are those of n in which the fault strikes that was chosen: what may end at any moment may also end late.
func (s *search) variants(n int) []int {
	if !s.without.Has(ReduceVariants) {
		switch Faults(1 << s.world.nthFault(s.kind)) {
		case Stall:
			return []int{stallShort}
		case Deposed:
			return []int{deposedBrief}
		}
	}
	return upTo(n)
}
