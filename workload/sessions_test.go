package workload_test

import (
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// The locks of a MultiLock are of one session, also if the goroutine that keeps one of them has not heard yet that its
// session is gone when the last is acquired in another.
func TestLocksHeldTogetherAreOfOneSession(t *testing.T) {
	r := campaign(t, lookUp(t, "lock", "ours/multi"), sim.Config{
		Strategy: "mix", Episodes: testkit.Sized(1500, 5000), Clients: 2, Ops: 1, Seed: 3, Faults: world.Expiry | world.Stall,
	})
	for _, f := range r.Violations {
		t.Error(f.Message)
	}
}
