package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// What a part tells of strikes and coverage is what the campaign tells when it is concluded.
func TestPartTellsStrikesAndCoverage(t *testing.T) {
	w, err := workload.Find("lock", "ours")
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Strategy: "random", Seed: 3, Episodes: 60, Workers: 1, Coverage: true}
	part, err := sim.RunPart(t.Context(), w, cfg, 0, 60)
	if err != nil {
		t.Fatal(err)
	}
	result, err := sim.Conclude(t.Context(), w, cfg, part)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result.Coverage, part.Covered()); diff != "" {
		t.Errorf("coverage of the campaign (-) and of its part (+):\n%s", diff)
	}
	strikes := part.Strikes()
	if len(strikes) < 5 {
		t.Errorf("only %d faults have struck: %v", len(strikes), strikes)
	}
	for fault, n := range result.Struck {
		if strikes[fault] != n {
			t.Errorf("%s struck %d times, by its part %d times", fault, n, strikes[fault])
		}
	}
	if (&sim.Part{}).Covered() != nil || len((&sim.Part{}).Strikes()) > 0 {
		t.Error("a part of nothing tells of something")
	}
}
