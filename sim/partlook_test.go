package sim_test

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/workload"
)

// What a part tells of strikes is what the campaign tells when it is concluded.
func TestPartTellsStrikes(t *testing.T) {
	w, err := workload.Find("lock", "ours")
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Strategy: "random", Seed: 3, Episodes: 60, Workers: 1}
	part, err := cfg.RunPart(t.Context(), w, 0, 60)
	if err != nil {
		t.Fatal(err)
	}
	result, err := cfg.Conclude(t.Context(), w, part)
	if err != nil {
		t.Fatal(err)
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
	if len((&tally.Part{}).Strikes()) > 0 {
		t.Error("a part of nothing tells of something")
	}
}
