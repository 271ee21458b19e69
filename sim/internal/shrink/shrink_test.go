package shrink_test

import (
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/internal/draw"
	"github.com/zktorture/zktorture/sim/internal/shrink"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
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

// hunted are animals of all kinds of recipes and all kinds of faults.
var hunted = []string{
	"W1", "W5", "W7", "W12", "W16", "DQ2", "DQ7", "E4", "B13", "LK10", "L6", "L14", "Q1", "ZL3", "C1", "S4", "R6", "X5",
}

// shrunk is the smallest story of an animal that one hunt gives, and how it was hunted.
func shrunk(t *testing.T, id string, seed uint64) (zoo.Animal, shrink.Terms, sim.Found) {
	t.Helper()
	animals, err := zoo.Find([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	a := animals[0]
	catch, err := zoo.NewHunter(zoo.HuntConfig{Seed: seed, SkipTwin: true, Workers: 1}).Hunt(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if catch.Found == nil {
		t.Fatalf("%s got away: %s", id, catch.Problem)
	}
	return a, shrink.Terms{None: true, Faults: a.Faults(), Clients: a.Clients}, *catch.Found
}

// Of a minimised story no single choice can go or become smaller. S2, another semaphore's lost reply, takes four thousand
// episodes to be found, S4 some hundred: it comes with the rest of ZKTORTURE_THOROUGH=all.
func TestStoriesAreOneMinimal(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, id := range testkit.Sized(hunted, append(hunted, "S2")) {
		t.Run(id, func(t *testing.T) {
			a, cfg, f := shrunk(t, id, 1)
			edits, breaks := shrink.SingleEdits(a.Broken(), cfg, a.Property, f.Choices)
			if !breaks {
				t.Fatalf("replayed, it does not break %s", a.Property)
			}
			for _, edit := range edits {
				t.Errorf("simpler with %s", edit)
			}
		})
	}
}

// Stories are as small as the bugs are known to allow, whatever the counterexample was: L6 takes one user, though most
// counterexamples have two and no fault of one of the kinds that this takes. Others come to their smallest mostly.
func TestStoriesAreSmallest(t *testing.T) {
	testkit.ManyWorlds(t)
	seeds := testkit.Sized(2, 5)
	for id, smallest := range map[string]struct{ clients, calls, reached int }{
		"W6": {2, 4, seeds}, "L6": {1, 1, seeds}, "Q1": {2, 4, seeds}, "ZL3": {2, 4, seeds - 1}, "W7": {1, 2, seeds - 1},
	} {
		reached := 0
		for seed := range uint64(seeds) {
			_, _, f := shrunk(t, id, seed+1)
			if calls := zoo.Operations(f); f.Clients <= smallest.clients && calls <= smallest.calls {
				reached++
			} else {
				t.Logf("%s, seed %d: %d clients, %d operations", id, seed+1, f.Clients, calls)
			}
		}
		if reached < smallest.reached {
			t.Errorf("%s: %d of %d stories have at most %+v", id, reached, seeds, smallest)
		}
	}
}

// What happened in a run leads to the same run again, without the numbers of the answers that made it happen.
func TestEventsAreTheRun(t *testing.T) {
	for _, kind := range []string{"lock", "queue", "election", "doublebarrier", "rwlock", "twophase"} {
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
