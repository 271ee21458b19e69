package sim

import (
	"math/bits"
	"math/rand/v2"
)

// faultLister is a source that sees, before each choice of a fault, all that could strike.
type faultLister interface{ offer(w *World) }

// place is one way in which one fault could strike at one of the base episode's choices.
type place struct {
	at                    int // which choice
	kind, target, variant int
}

// baseSource draws an episode without faults and notes every place where one could strike.
type baseSource struct {
	random randomSource
	made   int
	places []place
}

func (s *baseSource) Choose(n int, label string) int {
	s.made++
	switch label {
	case LabelFault:
		return 0
	case LabelSwarm:
		return min(int(s.random.rng.Uint64()%4), 1) // each fault is in three of four episodes
	case "faults at most":
		return n - 1
	}
	return s.random.Choose(n, label)
}

func (s *baseSource) offer(w *World) {
	for kind := 1; kind <= bits.OnesCount16(uint16(w.faults&^Wrap)); kind++ {
		targets := 0
		faultTable[w.nthFault(kind)].find(w, func(t target) {
			for variant := range t.variants {
				s.places = append(s.places, place{s.made, kind, targets, variant})
			}
			targets++
		})
	}
}

// sweepSource makes the choices of a base episode again, with faults struck at some places.
type sweepSource struct {
	chance
	base    []made
	at      int
	strikes []place
	current place
}

// newSweepSource returns a source for the base-th episode, which made these choices. What the runtime decides is drawn as it
// was there.
func newSweepSource(seed, base uint64, all []made, strikes []place) *sweepSource {
	return &sweepSource{chance: newChance(seed, base), base: withoutRuntime(all), strikes: strikes}
}

func (s *sweepSource) Choose(n int, label string) int {
	switch label {
	case LabelTarget:
		return min(s.current.target, n-1)
	case LabelVariant:
		return min(s.current.variant, n-1)
	}
	at := s.at
	s.at++
	if label == LabelFault && len(s.strikes) > 0 && s.strikes[0].at <= at {
		s.current = s.strikes[0]
		s.strikes = s.strikes[1:]
		return min(s.current.kind, n-1)
	}
	if at >= len(s.base) || label == LabelFault {
		return 0
	}
	return min(s.base[at].value, n-1)
}

// sweep hands out base episodes, each followed by all its single faults and half as many sampled pairs.
func (c *campaign) sweep(send func(job) bool) {
	alone := newSolo(c.workload, c.cfg)
	defer alone.end()
	for base, index := uint64(0), 0; index < c.cfg.Episodes; base++ {
		source := &baseSource{random: *newRandomSource(c.cfg.Seed, base)}
		o := alone.run(c.cfg.episode(source))
		if alone.frozen != nil {
			c.freeze(alone.frozen.Error())
			return
		}
		for _, strikes := range c.strikesOf(base, source.places) {
			if index >= c.cfg.Episodes || !send(job{index, newSweepSource(c.cfg.Seed, base, o.made, strikes)}) {
				return
			}
			index++
		}
	}
}

// strikesOf lists what to strike: nothing (the base itself), each place, and pairs.
func (c *campaign) strikesOf(base uint64, places []place) [][]place {
	all := [][]place{nil}
	for _, p := range places {
		all = append(all, []place{p})
	}
	rng := rand.New(rand.NewPCG(c.cfg.Seed, mix(base)))
	for range len(places) / 2 {
		a, b := places[rng.IntN(len(places))], places[rng.IntN(len(places))]
		if a.at > b.at {
			a, b = b, a
		}
		all = append(all, []place{a, b})
	}
	return all
}
