package workload

import (
	"testing"

	"github.com/zktorture/zktorture/internal/bubbles"
	"github.com/zktorture/zktorture/sim"
)

// Broken recipes run as equal as correct ones: equal seeds, equal steps, however many workers.
func TestTheZooIsDeterministic(t *testing.T) {
	bubbles.Many(t)
	for _, a := range Zoo() {
		for _, w := range []*Workload{a.Broken(), a.Twin()} {
			run := func(workers int) uint64 {
				r, err := sim.Run(t.Context(), w, sim.Config{Episodes: 30, Seed: 1, Workers: workers, NoShrink: true})
				if err != nil {
					t.Fatal(err)
				}
				return r.Hash
			}
			if one, other := run(1), run(4); one != other {
				t.Errorf("%s, %s: hash %s and %s", a.ID, w.Recipe(), sim.FormatHash(one), sim.FormatHash(other))
			}
		}
	}
}
