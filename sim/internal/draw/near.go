package draw

import (
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/world"
)

var _ = add(Near, "each episode begins like a known one, such as a counterexample, and continues at random from a point that is drawn",
	func(near []world.Choices) episodeSource {
		return &nearSource{Forked: Forked{random: NewRandom(0, 0)}, near: near}
	})

// nearSource makes the choices of a known episode again, up to a place, and all others at random.
type nearSource struct {
	Forked
	near []world.Choices
}

func (s *nearSource) Reset(seed, episode uint64) {
	s.random.Reset(seed, episode)
	which := digest.Mix(digest.Mix(seed) ^ episode)
	known := s.near[which%uint64(len(s.near))]
	s.Rest = known[:digest.Mix(which)%uint64(len(known)+1)]
}

// DigestOf is a digest of lists of choices.
func DigestOf(near []world.Choices) uint64 {
	var d digest.Sum
	for _, known := range near {
		d.Int(int64(len(known)))
		for _, v := range known {
			d.Int(int64(v))
		}
	}
	return uint64(d)
}

// Forked makes the first choices of another run again, and all others at random.
type Forked struct {
	world.ReplaySource
	random *Random
}

// Fork returns a source that makes some choices, and all others as [NewRandom].
func Fork(first world.Choices, seed, episode uint64) *Forked {
	return &Forked{world.ReplaySource{Rest: first}, NewRandom(seed, episode)}
}

func (s *Forked) Choose(n int, label string) int {
	if len(s.Rest) == 0 {
		return s.random.Choose(n, label)
	}
	return s.ReplaySource.Choose(n, label)
}

func (s *Forked) Foretell(t *bubble.Tape) {
	s.ReplaySource.Foretell(t)
	s.random.Foretell(t)
}
