package sim_test

import (
	"testing"

	"github.com/zktorture/zktorture/internal/bubbles"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// The lock of ExampleCheck keeps its promise, under both strategies.
func TestExampleLock(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return &smallLock{conn: c, path: path} })
	faults := sim.WithFaults(sim.Expiry | sim.Watch | sim.Pause | sim.Time | sim.Cancel)
	sim.Check(t, w, faults, sim.WithEpisodes(bubbles.Share(1000)), sim.WithSeed(1))
	sim.Check(t, w, faults, sim.WithEpisodes(bubbles.Share(1000)), sim.WithStrategy("sweep"))
}
