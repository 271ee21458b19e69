package workload

import (
	"slices"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// What cannot be known in a world is not judged there, and that is said; in simulation everything is.
func TestWhatIsNotKnownIsNotJudged(t *testing.T) {
	held := []string{"belief", "false-lost", "herd", "idle", "order"}
	want := map[string][]string{
		"lock": held, "rwlock": held, "semaphore": held, "election": held, "membership": {"belief", "lost-wakeup", "snapshot"},
		"counter":      {"undeclared"},
		"lockingqueue": {"belief", "false-lost", "idle"}, "ids": {"belief"}, "shards": {"belief"},
		"cache": {"repeated"},
	}
	for _, kind := range namesOf(kinds) {
		w, err := Find(kind, Ours)
		if err != nil {
			t.Fatal(err)
		}
		e := w.Episode(world.NewPlan(calmest{}, 1, 1, 1, world.NoFaults, "/t"), "/t/x")
		if j := e.Judge((&scene{}).view()); !slices.Equal(slices.Sorted(slices.Values(j.NotJudged)), want[kind]) {
			t.Errorf("%s on real servers: not judged are %q, want %q", kind, j.NotJudged, want[kind])
		}
		r, err := sim.Run(t.Context(), w, sim.Config{Episodes: 5, Seed: 1})
		if err != nil || len(r.NotJudged) > 0 {
			t.Errorf("%s in simulation: not judged are %q, %v", kind, r.NotJudged, err)
		}
	}
}

// calmest plans the calmest episode.
type calmest struct{}

func (calmest) Choose(int, string) int { return 0 }
