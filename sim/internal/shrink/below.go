package shrink

import (
	"math/rand/v2"
	"slices"

	"github.com/zktorture/zktorture/sim/world"
)

// draws is after how many runs the search below the best ends if none of them is smaller: the larger the best, the
// more.
func (o *tried) draws() int { return min(85*o.Users*(o.Calls+2*o.Faults), 2500) }

// below looks for runs that are smaller than the best and that no edit leads to, as they need another schedule and
// other plans at the same time. In turn it draws runs near the best, and runs of small levels.
func (s *Shrinker) below() {
	best, levels := s.best, s.levels()
	for i := 0; i < s.best.draws() && s.Budget > 0; i++ {
		rng := rand.New(rand.NewPCG(s.best.Hash, uint64(i)))
		if i%2 == 0 || len(levels) == 0 {
			s.follow(s.best.candidate().near(rng))
		} else if l := levels[i/2%len(levels)]; !s.draw(l, rng) {
			levels = slices.DeleteFunc(levels, func(other *level) bool { return other == l })
		}
		if s.best != best {
			s.simplify()
			best, levels, i = s.best, s.levels(), -1
		}
	}
}

// near changes a candidate at random in several places.
func (p candidate) near(rng *rand.Rand) candidate {
	one := func(e edit, n int) {
		if q, _ := e(p, rng.IntN(n)); q.made != nil {
			p = q
		}
	}
	for range 1 + rng.IntN(3) {
		switch rng.IntN(8) {
		case 0:
			one(withoutKind, world.FaultCount)
		case 1:
			one(withoutUser, len(p.layout))
		case 2, 3:
			one(withoutTurn, 2*len(p.layout))
		case 4:
			p = p.swapped(rng)
		case 5:
			p = p.planned(rng)
		}
	}
	if n := len(p.events); n > 0 && rng.IntN(8) == 0 {
		p.events = p.events[:rng.IntN(n)]
	}
	p.events = slices.Clone(p.events)
	for i := range p.events {
		if p.events[i].Fault > 0 {
			p.strikeElsewhere(i, rng)
		}
	}
	for n := len(p.events); n > 0 && rng.IntN(3) > 0; {
		move(p.events, rng.IntN(n), rng.IntN(n))
	}
	return p
}

// swapped swaps two turns of a user.
func (p candidate) swapped(rng *rand.Rand) candidate {
	at, turns := p.plan(rng.IntN(p.users()))
	if turns < 2 {
		return p
	}
	p.made = slices.Clone(p.made)
	other := turnOf(at, turns, rng.IntN(turns))
	for i, this := range turnOf(at, turns, rng.IntN(turns)) {
		p.made[this], p.made[other[i]] = p.made[other[i]], p.made[this]
	}
	return p
}

// planned draws some of the users' plans anew.
func (p candidate) planned(rng *rand.Rand) candidate {
	p.made = slices.Clone(p.made)
	for i, m := range p.made {
		if !happening(m.Label) && m.Label != world.LabelSwarm && rng.IntN(4) == 0 {
			p.made[i].Value = rng.IntN(m.N) * rng.IntN(2)
		}
	}
	return p
}

// strikeElsewhere lets a fault strike in another place, mostly.
func (p candidate) strikeElsewhere(i int, rng *rand.Rand) {
	e := &p.events[i]
	e.Anytime = rng.IntN(2) == 0
	if rng.IntN(2) == 0 {
		e.Variant = rng.IntN(3)
	}
	if rng.IntN(4) == 0 {
		e.Client = rng.IntN(len(p.layout))
	}
	if rng.IntN(2) == 0 {
		move(p.events, i, rng.IntN(len(p.events)))
	}
}

func move(events []world.Event, from, to int) {
	e := events[from]
	copy(events[from:], events[from+1:])
	copy(events[to+1:], events[to:len(events)-1])
	events[to] = e
}
