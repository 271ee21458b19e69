package ratelimit

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

func TestLimiter(t *testing.T) { sim.Check(t, workloadOf("careful", New)) }

func TestCarelessLimiter(t *testing.T) {
	careless := workloadOf("careless", NewCareless)
	r, err := sim.Run(t.Context(), careless, sim.Config{Episodes: 20000, Seed: 1, Faults: world.Lag, Until: "overrun"})
	if err != nil || len(r.Violations) != 1 {
		t.Fatalf("it is not seen that it grants too much: %v, %v", r.Violations, err)
	}
	if found := r.Violations[0]; found.Steps > 15 {
		t.Errorf("its story has %d steps:\n%s", found.Steps, found.Story(careless))
	}
}
