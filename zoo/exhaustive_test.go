package zoo

import (
	"slices"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/prove"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// searched searches all executions of a workload's simplest plan.
func searched(t *testing.T, w *workload.Workload, cfg sim.Config) sim.Result {
	t.Helper()
	testkit.ManyWorlds(t)
	cfg.Strategy, cfg.NoFaultsAtAll, cfg.NoShrink, cfg.Plain = sim.Exhaustive, true, true, true
	r, err := sim.Run(t.Context(), w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A search finds what is broken, and of what is not it says that it has seen everything.
func TestASearchFindsAnAnimalOrIsComplete(t *testing.T) {
	a := animal(t, "W2")
	r := searched(t, a.Broken(), sim.Config{})
	if r.Verdict != sim.VerdictViolation || len(r.Violations) != 1 || r.Extent.Word != tally.Bounded {
		t.Errorf("%v, %v, %d violations", r.Verdict, r.Extent, len(r.Violations))
	}
	r = searched(t, a.Twin(), sim.Config{Faults: world.Loss, AtMost: 1})
	if r.Verdict != sim.VerdictOK || r.Extent.Word != tally.Complete || r.Extent.Ends < 100 {
		t.Errorf("%v, %v", r.Verdict, r.Extent)
	}
	if r = searched(t, a.Twin(), sim.Config{Episodes: 50}); r.Verdict != sim.VerdictUnknown || r.Extent.Runs != 50 {
		t.Errorf("%v, %v", r.Verdict, r.Extent)
	}
}

// The order in which options are taken changes nothing about what there is to see.
func TestASearchBackwardsSeesTheSame(t *testing.T) {
	w := animal(t, "W2").Twin()
	forwards, backwards := searched(t, w, sim.Config{}), searched(t, w, sim.Config{Backwards: true})
	a, b := forwards.Extent, backwards.Extent
	if a.Digest != b.Digest || a.States != b.States || a.Ends != b.Ends {
		t.Errorf("forwards %+v, backwards %+v", a, b)
	}
}

// brokenBy returns the properties that a search finds broken.
func brokenBy(r sim.Result) (properties []string) {
	for _, v := range r.Violations {
		properties = append(properties, v.Property)
	}
	slices.Sort(properties)
	return properties
}

// What a search leaves out hides no bug: of animals, in bounds so small that a search comes to its end without any
// reduction too, both find the same to be broken, and have seen the same states. Every third animal is tried, all with
// ZKTORTURE_THOROUGH=all.
func TestReductionsHideNoBug(t *testing.T) {
	const runs = 500
	wanted, every := 20, 3
	if testkit.Thorough() {
		wanted, every = 60, 1
	}
	compared, broken := 0, 0
	for i, a := range Animals() {
		if i%every != 0 {
			continue
		}
		for _, cfg := range []sim.Config{
			{Clients: 2, Faults: a.Faults(), AtMost: 1}, {Clients: 2}, {Clients: 1, Faults: a.Faults(), AtMost: 2},
			{Clients: 1, Faults: a.Faults(), AtMost: 1},
		} {
			cfg.Whole, cfg.Episodes, cfg.Without = true, runs, prove.AllReductions
			whole := searched(t, a.Broken(), cfg)
			if whole.Extent.Word != tally.Complete {
				continue
			}
			cfg.Without = 0
			reduced := searched(t, a.Broken(), cfg)
			if !slices.Equal(brokenBy(whole), brokenBy(reduced)) {
				t.Errorf("%s: %v without reductions, %v with them", a.ID, brokenBy(whole), brokenBy(reduced))
			}
			compared++
			broken += min(len(whole.Violations), 1)
			break
		}
	}
	t.Logf("%d animals, of which %d break", compared, broken)
	if compared < wanted || broken == 0 {
		t.Errorf("only %d animals could be compared, of which %d break", compared, broken)
	}
}

// Where returns that give something back are in the order of the others, a search sees more states, and where each end is
// judged by itself it makes more runs; neither breaks more. Every third animal is tried, all with ZKTORTURE_THOROUGH=all.
func TestWhatNoJudgeTellsApartHidesNoBug(t *testing.T) {
	compared, broken, states, runs := 0, 0, 0, 0
	for i, a := range Animals() {
		if a.Broken().Terms().GivesBack == nil || i%3 != 0 && !testkit.Thorough() {
			continue
		}
		cfg := sim.Config{Clients: 2, Faults: a.Faults(), AtMost: 1, Whole: true, Episodes: 2000}
		reduced := searched(t, a.Broken(), cfg)
		for _, cfg.Without = range prove.ByJudges {
			whole := searched(t, a.Broken(), cfg)
			if whole.Extent.Word != tally.Complete {
				break
			}
			if !slices.Equal(brokenBy(whole), brokenBy(reduced)) || reduced.Extent.Word != tally.Complete {
				t.Errorf("%s: %v, without reductions %s %v, %v", a.ID, brokenBy(reduced), prove.Texts(cfg.Without), brokenBy(whole), reduced.Extent)
			}
			compared++
			broken += min(len(whole.Violations), 1)
			states += whole.Extent.States - reduced.Extent.States
			if whole.Extent.States == reduced.Extent.States {
				runs += whole.Extent.Runs - reduced.Extent.Runs
			}
		}
	}
	t.Logf("%d searches, of which %d find something; %d states and %d runs are saved", compared, broken, states, runs)
	if compared < testkit.Sized(10, 50) || broken < 4 || states < 100 || runs < 100 {
		t.Errorf("only %d searches could be compared, of which %d find something; %d states and %d runs are saved", compared, broken, states, runs)
	}
}
