package workload_test

import (
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Rounds of three must not be harder than rounds of two.
func TestOurDoubleBarrierForThree(t *testing.T) {
	w := workload.DoubleBarrier(3, func(c recipes.Conn, _ string) workload.Rendezvous {
		return recipes.NewDoubleBarrier(c, "/t/doublebarrier", 3)
	})
	wantClean(t, w, world.AllFaults)
}
