package shrink

import (
	"math/rand/v2"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/draw"
	"github.com/zktorture/zktorture/sim/world"
)

// level is a source that draws runs with so many users and so many faults at most, none twice: of a small level all.
type level struct {
	users, shared, faults int
	kinds                 []int // the answers to the swarm's questions at most
	known                 *tree

	// Of the run:
	random *draw.Random
	calm   uint64 // of 8 choices while it is planned, how many are 0 at once
	asked  int    // by the swarm
	at     *tree
	made   []world.Made
}

// levels are those that may have smaller runs than the best: fewer users, fewer faults, or the rest of the best's
// own.
func (s *Shrinker) levels() (levels []*level) {
	b := s.best
	add := func(users, faults int) {
		for shared := min(b.Users-b.Clients, users/2); shared >= 0; shared-- {
			l := &level{users: users, shared: shared, faults: faults, random: draw.NewRandom(0, 0), known: &tree{}}
			for _, m := range b.Made {
				if m.Label == world.LabelSwarm {
					l.kinds = append(l.kinds, m.Value)
				}
			}
			levels = append(levels, l)
		}
	}
	if b.Users > 2 {
		add(1, b.Faults)
	}
	if b.Users > 1 {
		add(b.Users-1, b.Faults)
	}
	if b.Faults > 0 {
		add(b.Users, b.Faults-1)
	}
	add(b.Users, b.Faults)
	return levels
}

// draw draws a run of a level. It returns false if all are known, or none can be smaller than the best.
func (s *Shrinker) draw(l *level, rng *rand.Rand) bool {
	l.reset(rng)
	s.Budget--
	o := s.run(l, s.bound(l))
	s.keep(o)
	l.known.add(l.made)
	return !l.known.done && (o.Aborted == nil || o.Users <= l.users)
}

// bound is what a run of a level may not cost.
func (s *Shrinker) bound(l *level) []int {
	switch {
	case l.users < s.best.Users:
		return []int{l.users + 1}
	case l.faults < s.best.Faults:
		return []int{l.users, s.best.Users - s.best.Clients, l.faults + 1}
	}
	return world.Cost(s.best.Run)
}

func (l *level) reset(rng *rand.Rand) {
	l.random.Reset(rng.Uint64(), rng.Uint64())
	l.random.Fault = 1 + rng.Uint64N(4)
	l.calm = 2 + rng.Uint64N(6)
	l.asked, l.at, l.made = 0, l.known, l.made[:0]
}

// Choose implements [Source]. What the level decides is not drawn.
func (l *level) Choose(n int, label string) int {
	switch {
	case label == world.LabelClients:
		return min(n, l.users-l.shared) - 1
	case label == world.LabelAtMost:
		return min(n, max(l.faults, 1)) - 1
	case label == world.LabelSwarm && !l.kind(), label == world.LabelShared && l.shared == 0, label == world.LabelFault && l.faults == 0:
		return 0
	}
	var answer int
	answer, l.at = l.at.pass(l.draw(n, label))
	l.made = append(l.made, world.Made{Value: answer, N: n, Label: label})
	return answer
}

// kind reports whether the next kind of faults is in the best run's episode.
func (l *level) kind() bool {
	l.asked++
	return l.asked <= len(l.kinds) && l.kinds[l.asked-1] != 0
}

func (l *level) draw(n int, label string) int {
	switch {
	case label == world.LabelSwarm:
		return int(min(1, l.random.Uint64()%8))
	case !happening(label) && label != world.LabelReplica && label != world.LabelShared && l.random.Uint64()%8 < l.calm:
		return 0
	}
	return l.random.Choose(n, label)
}

func (l *level) Foretell(t *bubble.Tape) { l.random.Foretell(t) }

func (l *level) Told(*bubble.Tape) {}
