package shrink

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zktorture/zktorture/sim/world"
)

// Drawing from a tree of choices draws every run, and none twice.
func TestTreeDrawsEachRunOnce(t *testing.T) {
	for seed := range uint64(200) {
		next := func(path []int) int { // a tree of up to five questions with up to four answers
			rng := rand.New(rand.NewPCG(seed, uint64(len(path))))
			for _, answer := range path {
				rng = rand.New(rand.NewPCG(rng.Uint64(), uint64(answer)))
			}
			if len(path) == 5 {
				return 0
			}
			return rng.IntN(5)
		}
		var all func(path []int) (runs [][]int)
		all = func(path []int) (runs [][]int) {
			n := next(path)
			if n == 0 {
				return [][]int{slices.Clone(path)}
			}
			for answer := range n {
				runs = append(runs, all(append(slices.Clone(path), answer))...)
			}
			return runs
		}
		rng := rand.New(rand.NewPCG(seed, 1<<40))
		drawn := leaves(next, rng.IntN)
		slices.SortFunc(drawn, slices.Compare)
		if want := all(nil); !slices.EqualFunc(drawn, want, slices.Equal[[]int]) {
			t.Fatalf("seed %d: drew %d runs, of %d", seed, len(drawn), len(want))
		}
	}
}

// leaves draws runs of a tree of choices, in which the answers below next lead to known ones, until all are known.
func leaves(next func(path []int) (n int), draw func(n int) int) (runs [][]int) {
	for known := (&tree{}); !known.done; {
		var run []world.Made
		var path []int
		for at, n := known, next(nil); n > 0; n = next(path) {
			var answer int
			answer, at = at.pass(draw(n))
			run, path = append(run, world.Made{Value: answer, N: n, Label: "?"}), append(path, answer)
		}
		known.add(run)
		runs = append(runs, path)
	}
	return runs
}
