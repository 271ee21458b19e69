package draw

import (
	"math/rand/v2"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/world"
)

var _ = add("random", "each episode draws its own schedule and its own subset of the faults",
	func([]world.Choices) episodeSource { return NewRandom(0, 0) })

// Random draws from a seed. How often faults strike, and how long a client goes on before
// another takes over, are drawn once an episode, so that episodes differ in kind.
type Random struct {
	rng   rand.PCG
	Fault uint64 // a fault strikes with probability 1/2^fault
	stay  uint64 // the same client goes on with probability stay/8, before fair choice
	chance
}

func NewRandom(seed, episode uint64) *Random {
	s := &Random{}
	s.Reset(seed, episode)
	return s
}

func (s *Random) Reset(seed, episode uint64) {
	s.rng.Seed(seed, digest.Mix(episode))
	s.Fault = 1 + s.rng.Uint64()%5
	s.stay = s.rng.Uint64() % 8
	s.chance = newChance(seed, episode)
}

func (s *Random) Choose(n int, label string) int {
	x := s.rng.Uint64()
	switch label {
	case world.LabelFault:
		if x&(1<<s.Fault-1) != 0 {
			return 0
		}
		return 1 + int(x>>32%uint64(n-1))
	case world.LabelNext:
		if x&7 < s.stay {
			return 0
		}
	}
	return int(x >> 32 % uint64(n))
}

// chance draws what the runtime decides in an episode. It is apart from what draws the other choices, so that these are the
// same in an ordinary build.
type chance struct {
	seed  uint64 // of the next time that goroutines run
	often uint64 // of 256 decisions, how many may be other than 0; drawn once an episode
}

func newChance(seed, episode uint64) chance {
	if !bubble.Exact {
		return chance{}
	}
	x := digest.Mix(seed ^ digest.Mix(^episode))
	return chance{x, [...]uint64{0, 16, 64, 128, 256}[digest.Mix(x)%5]}
}

func (c *chance) Foretell(t *bubble.Tape) {
	c.seed = digest.Mix(c.seed)
	t.Seed, t.Often = c.seed|1, c.often
}

func (c *chance) Told(*bubble.Tape) {}
