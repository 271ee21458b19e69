package sim_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// explored explores, and returns the executions in their order.
func explored(t *testing.T, w sim.Workload, b sim.Bound) (sim.Result, []*world.Run) {
	t.Helper()
	var runs []*world.Run
	r, err := sim.ExploreEach(t.Context(), w, b, func(o *world.Run) { runs = append(runs, o) })
	if err != nil {
		t.Fatal(err)
	}
	return r, runs
}

// hashesOf are the different executions.
func hashesOf(runs []*world.Run) map[uint64]bool {
	hashes := map[uint64]bool{}
	for _, o := range runs {
		hashes[o.Hash] = true
	}
	return hashes
}

// reference are the executions within a bound of losses, found in another way: breadth first, from each execution by
// another answer to one question behind those that were answered so before.
func reference(t *testing.T, w sim.Workload, b sim.Bound) map[uint64]bool {
	plain := b
	plain.Departures, plain.Strikes = 0, 0
	_, runs := explored(t, w, plain)
	hashes := map[uint64]bool{}
	type edit struct {
		choices world.Choices
		fixed   int // so many of them
	}
	for todo := []edit{{runs[0].Choices, 0}}; len(todo) > 0; todo = todo[1:] {
		o := sim.RunChoices(w, b, todo[0].choices)
		hashes[o.Hash] = true
		for at := todo[0].fixed; at < len(o.Made); at++ {
			for v := range o.Made[at].N {
				made := slices.Clone(o.Made[:at+1])
				if made[at].Value == v || !free[made[at].Label] {
					continue
				}
				if made[at].Value = v; within(b, made) {
					todo = append(todo, edit{valuesOf(made), at + 1})
				}
			}
		}
	}
	return hashes
}

// free are the labels of the questions to which executions with losses answer otherwise than the plainest.
var free = map[string]bool{
	world.LabelNext: true, world.LabelFault: true, world.LabelUnconnected: true, world.LabelTarget: true, world.LabelVariant: true,
}

func valuesOf(made []world.Made) (values world.Choices) {
	for _, m := range made {
		values = append(values, m.Value)
	}
	return values
}

func within(b sim.Bound, made []world.Made) bool {
	departures, strikes := spent(made)
	return departures <= b.Departures && strikes <= b.Strikes
}

// spent counts the departures and the strikes among choices.
func spent(made []world.Made) (departures, strikes int) {
	for _, m := range made {
		switch {
		case m.Label == world.LabelNext && m.Value > 0:
			departures++
		case m.Label == world.LabelFault && m.Value > 0, m.Label == world.LabelUnconnected && m.Value > world.BeginVariants:
			strikes++
		}
	}
	return departures, strikes
}

// What is explored is what another enumeration finds, of workloads of a few requests.
func TestExploreRunsAllThatAReferenceFinds(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, w := range []scribble{{{"make", "remove", "list"}, {"list", "make"}}, {{"await", "list"}, {"make", "tell"}}, {{"enlist"}, {"list"}, {"make", "list"}}} {
		for _, b := range []sim.Bound{{Departures: 1}, {Departures: 2}, {Departures: 1, Faults: world.Loss, Strikes: 1}} {
			want := reference(t, w, b)
			r, runs := explored(t, w, b)
			if got := hashesOf(runs); !maps.Equal(got, want) || !r.Explored.Complete() || len(want) < 3 {
				t.Errorf("%v with %d departures and %d losses: %d executions, and the reference has %d: %v", w, b.Departures, b.Strikes,
					len(got), len(want), r.Explored)
			}
		}
	}
}

// Without departures there is one execution without faults, and one more for each way in which one can strike. No two
// make equal choices, and each is an execution that its choices run again.
func TestExploreWithoutDeparturesRunsEachStrikeOnce(t *testing.T) {
	testkit.ManyWorlds(t)
	w := find(t, "lock", "ours")
	if r, runs := explored(t, w, sim.Bound{Faults: world.AllFaults}); len(runs) != 1 || !r.Explored.Complete() {
		t.Errorf("%d executions without faults: %v", len(runs), r.Explored)
	}
	b := sim.Bound{Faults: world.Loss | world.Crash | world.Expiry, Strikes: 1}
	_, runs := explored(t, w, b)
	known := map[string]bool{}
	for i, o := range runs {
		if departures, strikes := spent(o.Made); departures > 0 || strikes > 1 || strikes == 0 && i > 0 {
			t.Errorf("execution %d has %d departures and %d strikes", i, departures, strikes)
		}
		text := fmt.Sprint(o.Choices)
		if known[text] {
			t.Errorf("execution %d has the choices of another", i)
		}
		known[text] = true
		if again := sim.RunChoices(w, b, o.Choices); again.Hash != o.Hash || again.Faults != o.Faults {
			t.Errorf("execution %d has hash %x, and its choices give %x", i, o.Hash, again.Hash)
		}
	}
	if len(runs) < 50 {
		t.Errorf("only %d executions", len(runs))
	}
}

// What breaks a property is minimised and can be replayed as any counterexample.
func TestExploreFindsAKnownBug(t *testing.T) {
	testkit.ManyWorlds(t)
	w := find(t, "lock", "broken")
	b := sim.Bound{Faults: world.AllFaults, Strikes: 1, Departures: 2}
	r, runs := explored(t, w, b)
	if r.Verdict != sim.VerdictViolation || len(r.Violations) == 0 || r.Explored.Complete() || r.Explored.Short == "" {
		t.Fatalf("%v, %d violations: %v", r.Verdict, len(r.Violations), r.Explored)
	}
	for i, o := range runs {
		if broken := len(o.Violations) > 0; broken != (i == len(runs)-1) {
			t.Errorf("execution %d of %d is broken: %v", i, len(runs), broken)
		}
	}
	c, err := b.Config().Counterexample(r, r.Violations[0])
	if err != nil {
		t.Fatal(err)
	}
	if again, err := sim.Replay(w, c); err != nil || again.Diverged >= 0 || again.Violation.Property != c.Property {
		t.Errorf("%v: %+v", err, again)
	}
}

// Equal bounds give equal executions, on one processor and on four.
func TestExploreIsTheSameOnAnyMachine(t *testing.T) {
	testkit.ManyWorlds(t)
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	b := sim.Bound{Faults: world.Watch | world.Deposed, Strikes: 1, Departures: 1}
	var all []sim.Explored
	for _, processors := range []int{1, 4} {
		runtime.GOMAXPROCS(processors)
		r, _ := explored(t, find(t, "lock", "ours"), b)
		if all = append(all, *r.Explored); !r.Explored.Complete() || r.Verdict != sim.VerdictOK {
			t.Errorf("%v: %v", r.Verdict, r.Explored)
		}
	}
	if all[0] != all[1] || all[0].Runs < 100 || all[0].Hash == "" {
		t.Errorf("%+v\n%+v", all[0], all[1])
	}
}

// A search that ends early says how far it has come, and that is a pass: something was run, and nothing broke.
func TestExploreSaysHowFarItHasCome(t *testing.T) {
	w := find(t, "lock", "ours")
	whole, _ := explored(t, w, sim.Bound{Faults: world.Loss, Strikes: 1, Departures: 1})
	b := sim.Bound{Faults: world.Loss, Strikes: 1, Departures: 3, Runs: whole.Explored.Total + 50}
	r, runs := explored(t, w, b)
	if e := r.Explored; e.Complete() || e.Departures != 1 || e.Runs != whole.Explored.Runs || e.Hash != whole.Explored.Hash ||
		e.Total != b.Runs || len(runs) != b.Runs || r.Verdict != sim.VerdictOK {
		t.Errorf("%v: %v; the whole: %v", r.Verdict, e, whole.Explored)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := sim.Explore(over, w, sim.Bound{}); err != nil || r.Verdict != sim.VerdictUnknown || r.Explored.Departures != -1 {
		t.Errorf("%v, %v: %v", err, r.Verdict, r.Explored)
	}
}

// Executions over the wire are explored, too.
func TestExploreOverTheWire(t *testing.T) {
	testkit.ManyWorlds(t)
	w := find(t, "lock", "ours").OverWire()
	b := sim.Bound{Faults: world.Loss, Strikes: 1, Runs: 200}
	r, runs := explored(t, w, b)
	if r.Verdict != sim.VerdictOK || len(runs) < 50 || !r.Wire {
		t.Errorf("%v, %v: %v", r.Verdict, r.Reason, r.Explored)
	}
	for i, o := range runs {
		if again := sim.RunChoices(w, b, o.Choices); again.Hash != o.Hash {
			t.Errorf("execution %d has hash %x, and its choices give %x", i, o.Hash, again.Hash)
		}
	}
}

// Bounds that cannot be are refused.
func TestExploreRefusesBounds(t *testing.T) {
	w := find(t, "lock", "ours")
	for _, b := range []sim.Bound{{Strikes: -1}, {Strikes: 7}, {Departures: -1}, {Runs: -1}, {Clients: 65}, {Ops: 1001}} {
		if _, err := sim.Explore(t.Context(), w, b); !errors.Is(err, sim.ErrConfig) {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

// Executions that their choices do not determine are not taken for others.
func TestExploreNoticesThatItDiverges(t *testing.T) {
	w := &moody{scribble: scribble{{"make", "remove"}, {"list", "make"}}}
	r, err := sim.Explore(t.Context(), w, sim.Bound{Departures: 2, Runs: 1000})
	if err != nil || r.Verdict != sim.VerdictUnknown || !strings.Contains(r.Reason, "equal choices gave another execution") {
		t.Errorf("%v, %v, %v", err, r.Verdict, r.Reason)
	}
}
