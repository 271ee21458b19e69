package prove_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// The shares of a search add up to the search, whether something breaks or not.
func TestSharesAddUp(t *testing.T) {
	testkit.ManyWorlds(t)
	counter, err := workload.Find("counter", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []sim.Workload{counter, ScribblePlans()} {
		cfg := sim.Config{
			Strategy: sim.Exhaustive, Faults: world.Cancel, NoFaultsAtAll: true, AtMost: 1, Whole: true, NoShrink: true,
		}
		whole, err := sim.Run(t.Context(), w, cfg)
		if err != nil || whole.Extent.Word != tally.Complete || (whole.Verdict == sim.VerdictOK) != (w.Name() == "counter") {
			t.Fatalf("%s: %s, %v, %v", w.Name(), whole.Verdict, whole.Extent, err)
		}
		for _, cfg.Shares = range []int{2, 5} {
			var parts []tally.Part
			for cfg.Share = range cfg.Shares {
				p, err := cfg.RunPart(t.Context(), w, 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				if cfg.Shares == 2 && p.Search.States == whole.Extent.States {
					t.Errorf("%s: one of two shares has all %d states", w.Name(), p.Search.States)
				}
				parts = append(parts, p)
			}
			r := added(t, w, cfg, parts)
			r.Elapsed, r.Running = whole.Elapsed, whole.Running
			if a, b := fmt.Sprintf("%+v", whole), fmt.Sprintf("%+v", r); a != b {
				t.Errorf("%s: the shares add up to\n%s\nnot\n%s", w.Name(), b, a)
			}
			slices.Reverse(parts)
			if back := added(t, w, cfg, parts); !reflect.DeepEqual(found(back), found(r)) || back.Extent != r.Extent {
				t.Errorf("%s: backwards the shares add up to %v, not %v", w.Name(), back.Extent, r.Extent)
			}
			if r = added(t, w, cfg, parts[1:]); r.Extent.Word != tally.Bounded || r.Verdict == sim.VerdictOK {
				t.Errorf("%s: without a share it is %s, %v", w.Name(), r.Verdict, r.Extent)
			}
		}
	}
}

// added is what the parts of a search add up to, through JSON.
func added(t *testing.T, w sim.Workload, cfg sim.Config, parts []tally.Part) sim.Result {
	t.Helper()
	var sum tally.Part
	for _, p := range parts {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var read tally.Part
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if err := sum.Add(read); err != nil {
			t.Fatal(err)
		}
	}
	r, err := cfg.Conclude(t.Context(), w, sum)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
