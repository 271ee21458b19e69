package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// Progress never goes back, and ends with what the result says.
func TestProgressEndsWithTheResult(t *testing.T) {
	testkit.ManyWorlds(t)
	var last sim.Progress
	r, err := sim.Run(t.Context(), find(t, "lock", "broken"), sim.Config{
		Episodes: 300, Seed: 1, Faults: world.Loss | world.Crash, NoShrink: true,
		Progress: func(p sim.Progress) {
			if p.Episodes < last.Episodes || p.Operations < last.Operations || p.Violations < last.Violations ||
				p.Elapsed < last.Elapsed {
				t.Errorf("%+v after %+v", p, last)
			}
			last = p
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if last.Episodes != r.Episodes || last.Of != 300 || last.Operations != r.Operations || last.Operations == 0 ||
		last.Elapsed > r.Elapsed {
		t.Errorf("the last progress is %+v, the result %d episodes with %d operations", last, r.Episodes, r.Operations)
	}
	if d := cmp.Diff(r.Struck, last.Struck); d != "" || last.Struck["loss"] == 0 || len(last.Struck) != 2 {
		t.Errorf("struck are %v: %s", last.Struck, d)
	}
	if most := times(r.Violations); last.Violations == 0 || last.Violations > most {
		t.Errorf("%d episodes broke a property, which happened %d times", last.Violations, most)
	}
}

func times(found []sim.Found) (n int) {
	for _, f := range found {
		n += f.Times
	}
	return n
}
