package draw

import (
	"math/rand/v2"
	"testing"

	"github.com/zktorture/zktorture/sim/world"
)

// An event that races with the last of a chain of ten comes after it in about one of twelve orders. With a fair coin for
// each step that would be one of two thousand.
func TestPOSDrawsTheOrderOfWhatRaces(t *testing.T) {
	last := 0
	for seed := range uint64(1100) {
		if ofOrder(seed, 10) {
			last++
		}
	}
	if last < 25 || last > 150 {
		t.Errorf("in %d of 1100 the event came last; about 90 were expected", last)
	}
}

// ofOrder lets partial-order sampling carry out one event of a chain, and of another chain so many which do not race with
// it but for the last; it reports whether the first chain's came last.
func ofOrder(seed uint64, others int) bool {
	rng := rand.New(rand.NewPCG(seed, 0))
	var w world.World
	var o order
	for done := 0; done <= others; done++ {
		kind := world.ActTell
		if done == others {
			kind = world.ActOutside
		}
		actions := []world.Action{{Kind: world.ActOutside, Client: 1}, {Kind: kind, Client: 2}}
		if o.pick(actions, w.Race, rng.Uint64) == 0 {
			return false
		}
	}
	return true
}
