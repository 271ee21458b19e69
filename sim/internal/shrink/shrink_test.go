package shrink_test

import (
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	_ "github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/internal/draw"
	"github.com/zktorture/zktorture/sim/internal/shrink"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// What shrinking gives up is larger than the best as a whole, too; the rest runs as it does without a bound.
func TestOnlyWhatIsLargerIsGivenUp(t *testing.T) {
	w, gaveUp, larger := find(t, "lock"), 0, 0
	const pairs = 100
	for i := range uint64(pairs) {
		source := func(seed uint64) func() world.Source {
			return func() world.Source { return draw.NewRandom(seed, i) }
		}
		whole, bounded, isLarger := shrink.Within(w, shrink.Terms{}, source(1), source(2))
		if isLarger {
			larger++
		}
		switch {
		case bounded.Aborted != nil && !isLarger:
			t.Errorf("pair %d: a run that is not larger was given up", i)
		case bounded.Aborted != nil:
			gaveUp++
		case bounded.Hash != whole.Hash:
			t.Errorf("pair %d: hash %x within a bound, %x without", i, bounded.Hash, whole.Hash)
		}
	}
	if larger < pairs/4 || gaveUp < larger*9/10 {
		t.Errorf("of %d that are larger %d were given up", larger, gaveUp)
	}
}

// shrunk are the smallest stories of what a recipe breaks, by property.
func shrunk(t *testing.T, kind string, faults world.Faults, seed uint64) (*workload.Workload, map[string]sim.Found) {
	t.Helper()
	w, err := workload.Find(kind, "broken")
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(t.Context(), w, sim.Config{Episodes: 2000, Seed: seed, Faults: faults, NoFaultsAtAll: true, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]sim.Found{}
	for _, f := range r.Violations {
		found[f.Property] = f
	}
	return w, found
}

// Of a minimised story no single choice can go or become smaller.
func TestStoriesAreOneMinimal(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, kind := range []string{"lock", "queue"} {
		for _, faults := range []world.Faults{world.NoFaults, world.Loss, world.Expiry, world.Crash, world.Cancel, world.AllFaults} {
			w, found := shrunk(t, kind, faults, 1)
			for property, f := range found {
				t.Run(kind+" "+faults.String()+" "+property, func(t *testing.T) {
					edits, breaks := shrink.SingleEdits(w, shrink.Terms{None: true, Faults: faults}, property, f.Choices)
					if !breaks {
						t.Fatalf("replayed, it does not break %s", property)
					}
					for _, edit := range edits {
						t.Errorf("simpler with %s", edit)
					}
				})
			}
		}
	}
}

// Stories are nearly as small as the bugs are known to allow, whatever the counterexample was: with at most a client and two
// calls more.
func TestStoriesAreSmall(t *testing.T) {
	testkit.ManyWorlds(t)
	type size struct{ clients, calls int }
	for _, of := range []struct {
		kind     string
		faults   world.Faults
		smallest map[string]size
	}{
		{"lock", world.NoFaults, map[string]size{"lost-wakeup": {2, 3}, "order": {2, 3}, "exclusion": {2, 4}, "progress": {1, 3}}},
		{"lock", world.Loss, map[string]size{"orphan": {1, 3}, "unexpected-error": {1, 3}}},
		{"queue", world.NoFaults, map[string]size{"false-empty": {2, 4}}},
		{"queue", world.Loss, map[string]size{"duplicate": {1, 1}, "false-empty": {1, 2}}},
	} {
		for seed := range uint64(testkit.Sized(2, 5)) {
			_, found := shrunk(t, of.kind, of.faults, seed+1)
			for property, smallest := range of.smallest {
				if is := (size{found[property].Clients, calls(found[property])}); is.clients > smallest.clients+1 || is.calls > smallest.calls+2 {
					t.Errorf("%s of a %s under %v, seed %d: %+v; the smallest is %+v", property, of.kind, of.faults, seed+1, is, smallest)
				}
			}
		}
	}
}

// calls counts the operations of a story that were begun while faults could strike.
func calls(f sim.Found) (n int) {
	for _, step := range f.Trace {
		if step.N <= f.Steps && step.Kind == world.KindCall {
			n++
		}
	}
	return n
}

// What happened in a run leads to the same run again, without the numbers of the answers that made it happen.
func TestEventsAreTheRun(t *testing.T) {
	for _, kind := range []string{"lock", "queue", "election", "doublebarrier", "rwlock"} {
		w, cfg := find(t, kind), shrink.Terms{Faults: world.EveryFault}
		for seed := range uint64(testkit.Share(100)) {
			if hash, again := shrink.FollowOne(w, cfg, draw.NewRandom(1, seed)); hash != again {
				t.Errorf("%s, seed %d: hash %x, and %x by its events", kind, seed, hash, again)
			}
		}
	}
}

func find(t *testing.T, kind string) world.Workload {
	t.Helper()
	w, err := workload.Find(kind, workload.Ours)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
