package sim

import (
	"context"
	"math/rand/v2"

	"github.com/zktorture/zktorture/internal/digest"
)

// place is one way in which one fault could strike at one of the base episode's choices.
type place struct {
	at int // which choice
	spot
	variant int
}

// baseSource draws an episode without faults and notes every place where one could strike.
type baseSource struct {
	random randomSource
	made   int
	spots  []spot
	places []place
}

func (s *baseSource) Choose(n int, label string) int {
	s.made++
	switch label {
	case LabelFault:
		return 0
	case LabelSwarm:
		return min(int(s.random.rng.Uint64()%4), 1) // each fault is in three of four episodes
	case labelAtMost:
		return n - 1
	}
	return s.random.Choose(n, label)
}

func (s *baseSource) look(w *World, label string) {
	if label != LabelFault {
		return
	}
	s.spots = w.spots(s.spots[:0])
	for _, spot := range s.spots {
		for variant := range spot.variants {
			s.places = append(s.places, place{s.made, spot, variant})
		}
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

// sweepBlock is how many episodes there are between two at which the sweep begins with new base episodes.
const sweepBlock = 4096

// sweep hands out base episodes, each followed by all its single faults and half as many sampled pairs and patterns.
func (c *campaign) sweep(ctx context.Context, send func(job) bool) {
	alone := newSolo(ctx, c.workload, c.cfg)
	defer alone.end()
	for block := c.from / sweepBlock; block*sweepBlock < c.cfg.Episodes && c.sweepBlock(alone, block, send); block++ {
	}
}

// sweepBlock hands out those episodes of a block that are wanted, and tells whether more may be. It runs the bases before
// them, too, one of some 150 episodes.
func (c *campaign) sweepBlock(alone *solo, block int, send func(job) bool) bool {
	index, end := block*sweepBlock, min((block+1)*sweepBlock, c.cfg.Episodes)
	for base := uint64(block) << 32; index < end; base++ {
		source := &baseSource{random: *newRandomSource(c.cfg.Seed, base)}
		o := alone.run(c.cfg.episode(source))
		if alone.frozen != nil || alone.interrupted() {
			if alone.frozen != nil {
				c.freeze(alone.frozen.Error())
			}
			return false
		}
		all := c.strikesOf(base, source.places)
		for _, strikes := range all[:min(len(all), end-index)] {
			if index >= c.from && !send(job{index, newSweepSource(c.cfg.Seed, base, o.made, strikes)}) {
				return false
			}
			index++
		}
	}
	return true
}

// strikesOf lists what to strike: nothing (the base itself), each place, pairs, and as many patterns.
func (c *campaign) strikesOf(base uint64, places []place) [][]place {
	all := [][]place{nil}
	for _, p := range places {
		all = append(all, []place{p})
	}
	rng := rand.New(rand.NewPCG(c.cfg.Seed, digest.Mix(base)))
	for i := range len(places) / 2 {
		a, b := places[rng.IntN(len(places))], places[rng.IntN(len(places))]
		if a.at > b.at {
			a, b = b, a
		}
		all = append(all, []place{a, b})
		if i%2 == 1 {
			all[len(all)-1] = patternFrom(a, places, rng)
		}
	}
	return all
}

// soonAfter is how many choices after a fault of a pattern the next is struck at most: those of a few requests.
const soonAfter = 12

// patternFrom samples two or three faults against one client, the first of which is given, each soon after the one before
// and such as fits it.
func patternFrom(p place, places []place, rng *rand.Rand) []place {
	strikes := []place{p}
	for length := 2 + rng.IntN(2); len(strikes) < length; {
		last := strikes[len(strikes)-1]
		var next []place
		for _, q := range places {
			if q.at > last.at && q.at <= last.at+soonAfter && q.client == last.client && fits[last.fault].Has(q.fault) {
				next = append(next, q)
			}
		}
		if next == nil {
			break
		}
		strikes = append(strikes, next[rng.IntN(len(next))])
	}
	return strikes
}
