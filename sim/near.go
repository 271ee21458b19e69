package sim

import "github.com/zktorture/zktorture/internal/digest"

// nearSource makes the choices of a known episode again, up to a place, and all others at random.
type nearSource struct {
	forkedSource
	near []Choices
}

func (s *nearSource) reset(seed, episode uint64) {
	s.random.reset(seed, episode)
	which := digest.Mix(digest.Mix(seed) ^ episode)
	known := s.near[which%uint64(len(s.near))]
	s.rest = known[:digest.Mix(which)%uint64(len(known)+1)]
}

// digestOf is a digest of lists of choices.
func digestOf(near []Choices) uint64 {
	var d digest.Sum
	for _, known := range near {
		d.Int(int64(len(known)))
		for _, v := range known {
			d.Int(int64(v))
		}
	}
	return uint64(d)
}
