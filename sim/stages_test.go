package sim_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// noting notes the faults of the episodes that are planned, in their order.
type noting struct {
	sim.Workload
	mu    sync.Mutex
	drawn []world.Faults
}

func (n *noting) Plan(p *world.Plan) world.Episode {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drawn = append(n.drawn, p.Faults)
	return n.Workload.Plan(p)
}

// faultsOf are the faults that some episodes of a campaign have drawn, one after the other.
func faultsOf(t *testing.T, cfg sim.Config, from, episodes int) []world.Faults {
	t.Helper()
	w := &noting{Workload: find(t, "lock", "ours")}
	cfg.Workers, cfg.Seed, cfg.Once = 1, 1, true
	if _, err := cfg.RunPart(t.Context(), w, from, episodes); err != nil {
		t.Fatal(err)
	}
	return w.drawn
}

func union(all []world.Faults) (sum world.Faults) {
	for _, f := range all {
		sum |= f
	}
	return sum
}

// Stages are without faults, with few, with all that are not rare, and with all.
func TestStages(t *testing.T) {
	few := world.Loss | world.Expiry | world.Cancel
	for _, stage := range []struct {
		from, to int
		may      world.Faults
	}{{0, 200, world.NoFaults}, {200, 400, few}, {400, 800, world.AllFaults &^ world.Rare}, {800, 900, world.AllFaults}} {
		if got := union(faultsOf(t, sim.Config{Strategy: "stages", Faults: world.AllFaults}, stage.from, stage.to-stage.from)); got != stage.may {
			t.Errorf("episodes %d to %d have %v, and not %v", stage.from, stage.to-1, got, stage.may)
		}
	}
	if got := union(faultsOf(t, sim.Config{Strategy: "stages", Faults: world.Expiry | world.Wrap}, 0, 800)); got != world.Expiry {
		t.Errorf("stages of expiry and wrap have %v", got)
	}
}

// Rare faults strike only when they are asked for, and which these are is said.
func TestRareFaultsAreAskedFor(t *testing.T) {
	if got := union(faultsOf(t, sim.Config{Strategy: "stages"}, 800, 100)); got != world.UsualFaults {
		t.Errorf("nobody asked for %v", got)
	}
	for want, faults := range map[string]world.Faults{
		"not tried: wrap, reap (rare)": 0, "not tried: reap (rare)": world.AllFaults &^ world.Reap,
		"": world.AllFaults,
	} {
		if r := run(t, find(t, "lock", "ours"), sim.Config{Episodes: 1, Faults: faults}); r.NotTried() != want {
			t.Errorf("of %v: %q, want %q", faults, r.NotTried(), want)
		}
	}
	for text, faults := range map[string]world.Faults{
		"all": world.AllFaults, "all,-wrap,-reap": world.UsualFaults, "all,-reap,quorum": world.AllFaults&^world.Reap | world.Quorum,
	} {
		if got, err := world.ParseFaults(text); err != nil || got != faults || faults.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// Who names no strategy to Check gets stages, but of few faults.
func TestStagesOfCheck(t *testing.T) {
	for _, test := range []struct {
		want    string
		options []sim.Option
	}{
		{"stages", nil}, {"stages", []sim.Option{sim.WithFaults("all,-reap")}}, {"stages", []sim.Option{sim.WithFaults("all")}},
		{"mix", []sim.Option{sim.WithFaults("none")}}, {"mix", []sim.Option{sim.WithFaults("loss,expiry")}},
		{"random", []sim.Option{sim.WithStrategy("random")}},
	} {
		if cfg, err := sim.ForTest(t, test.options...); err != nil || cfg.Strategy != test.want {
			t.Errorf("strategy %s, %v; want %s", cfg.Strategy, err, test.want)
		}
	}
}

// What was found in a stage is minimised and replayed with the faults of this stage.
func TestStageOfACounterexample(t *testing.T) {
	testkit.ManyWorlds(t)
	w, cfg := find(t, "lock", "broken"), sim.Config{Strategy: "stages", Episodes: 300, Seed: 1, ShrinkTime: 1}
	r := run(t, w, cfg)
	seen := map[string]bool{}
	for _, f := range r.Violations {
		want := "none"
		if f.Episode >= 200 {
			want = "loss,expiry,cancel"
		}
		c, err := cfg.Counterexample(r, f)
		if err != nil {
			t.Fatal(err)
		}
		replayed, err := sim.Replay(w, c)
		if err != nil || replayed.Diverged >= 0 || c.Faults != want || want == "none" && f.Faults != 0 {
			t.Errorf("%s of episode %d: faults %s, of which %d struck, %+v, %v", f.Property, f.Episode, c.Faults, f.Faults, replayed, err)
		}
		seen[want] = true
	}
	if len(seen) != 2 {
		t.Errorf("something was found in %d stages", len(seen))
	}
}

// What was not found without a rare fault comes last, and says so.
func TestRareComesLast(t *testing.T) {
	testkit.ManyWorlds(t)
	w := find(t, "queue", "broken")
	r := run(t, w, sim.Config{Strategy: "stages", Faults: world.AllFaults, Episodes: 2000, Seed: 1, ShrinkTime: 1})
	rare := func(f sim.Found) bool { return f.Rare != world.NoFaults }
	if i := slices.IndexFunc(r.Violations, rare); i < 1 || !slices.ContainsFunc(r.Violations[i:], rare) {
		t.Errorf("of %d the first that is rare is no. %d", len(r.Violations), i)
	} else if slices.ContainsFunc(r.Violations[i:], func(f sim.Found) bool { return !rare(f) }) {
		t.Error("what is not rare comes behind what is")
	}
	order := slices.IndexFunc(r.Violations, func(f sim.Found) bool { return f.Property == "order" })
	if order < 0 || !r.Violations[order].Rare.Has(world.Wrap) || r.Violations[order].Episode < 800 {
		t.Errorf("what needs a counter that wraps is no. %d of %d", order, len(r.Violations))
	}
}
