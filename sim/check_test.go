package sim_test

import (
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// The lock of ExampleCheck keeps its promise, by the default strategy and by another one.
func TestExampleLock(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return &smallLock{conn: c, path: path} })
	faults := sim.WithFaults("expiry,pause,time,cancel")
	sim.Check(t, w, faults, sim.WithEpisodes(testkit.Share(1000)), sim.WithSeed(1))
	sim.Check(t, w, faults, sim.WithEpisodes(testkit.Share(1000)), sim.WithStrategy("random"), sim.WithSeed(1))
}
