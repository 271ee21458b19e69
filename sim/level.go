package sim

import "math/rand/v2"

// level is a source that draws runs with so many users and so many faults at most, none twice: of a small level
// all.
type level struct {
	users, shared, faults int
	kinds                 []int // the answers to the swarm's questions at most
	known                 *tree

	// Of the run:
	random *randomSource
	calm   uint64 // of 8 choices while it is planned, how many are 0 at once
	asked  int    // by the swarm
	at     *tree
	made   []made
}

// levels are those that may have smaller runs than the best: fewer users, fewer faults, or the rest of the best's
// own.
func (s *shrinker) levels() (levels []*level) {
	b := s.best
	add := func(users, faults int) {
		for shared := min(b.users-b.clients, users/2); shared >= 0; shared-- {
			l := &level{users: users, shared: shared, faults: faults, random: newRandomSource(0, 0), known: &tree{}}
			for _, m := range b.made {
				if m.label == LabelSwarm {
					l.kinds = append(l.kinds, m.value)
				}
			}
			levels = append(levels, l)
		}
	}
	if b.users > 2 {
		add(1, b.faults)
	}
	if b.users > 1 {
		add(b.users-1, b.faults)
	}
	if b.faults > 0 {
		add(b.users, b.faults-1)
	}
	add(b.users, b.faults)
	return levels
}

// draw draws a run of a level. It returns false if all are known, or none can be smaller than the best.
func (s *shrinker) draw(l *level, rng *rand.Rand) bool {
	l.reset(rng)
	s.budget--
	o := s.run(l, s.bound(l))
	s.keep(o)
	l.known.add(l.made)
	return !l.known.done && (o.aborted == nil || o.users <= l.users)
}

// bound is what a run of a level may not cost.
func (s *shrinker) bound(l *level) []int {
	switch {
	case l.users < s.best.users:
		return []int{l.users + 1}
	case l.faults < s.best.faults:
		return []int{l.users, s.best.users - s.best.clients, l.faults + 1}
	}
	return cost(s.best)
}

func (l *level) reset(rng *rand.Rand) {
	l.random.reset(rng.Uint64(), rng.Uint64())
	l.random.fault = 1 + rng.Uint64N(4)
	l.calm = 2 + rng.Uint64N(6)
	l.asked, l.at, l.made = 0, l.known, l.made[:0]
}

// Choose implements [Source]. What the level decides is not drawn.
func (l *level) Choose(n int, label string) int {
	switch {
	case label == LabelClients:
		return min(n, l.users-l.shared) - 1
	case label == labelAtMost:
		return min(n, max(l.faults, 1)) - 1
	case label == LabelSwarm && !l.kind(), label == LabelShared && l.shared == 0, label == LabelFault && l.faults == 0:
		return 0
	}
	var answer int
	answer, l.at = l.at.pass(l.draw(n, label))
	l.made = append(l.made, made{answer, n, label})
	return answer
}

// kind tells whether the next kind of faults is in the best run's episode.
func (l *level) kind() bool {
	l.asked++
	return l.asked <= len(l.kinds) && l.kinds[l.asked-1] != 0
}

func (l *level) draw(n int, label string) int {
	switch {
	case label == LabelSwarm:
		return int(min(1, l.random.rng.Uint64()%8))
	case !happening(label) && label != LabelReplica && label != LabelShared && l.random.rng.Uint64()%8 < l.calm:
		return 0
	}
	return l.random.Choose(n, label)
}
