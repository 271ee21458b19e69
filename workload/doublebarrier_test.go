package workload_test

import (
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// Rounds of three must not be harder than rounds of two.
func TestOurDoubleBarrierForThree(t *testing.T) {
	w := workload.DoubleBarrier(3, func(c recipes.Conn, _ string) workload.Rendezvous {
		return recipes.NewDoubleBarrier(c, "/t/doublebarrier", 3)
	})
	wantClean(t, w, world.AllFaults)
}

// Published barriers, each with one of its bugs.
func TestBrokenDoubleBarriers(t *testing.T) {
	for _, c := range []struct {
		id             string
		faults         world.Faults
		property, part string
	}{
		{"P1", world.NoFaults, "lost-wakeup", "although"},
		{"B17", world.NoFaults, "early-enter", "at most 1 of 2 members were present"},
		{"SP1", world.NoFaults, "early-leave", "inside"},
		{"SP8", world.NoFaults, "lost-wakeup", "nobody works inside"},
		{"SP12", world.NoFaults, "early-enter", "at most 1 of 2 members were present"},
		{"SP13", world.NoFaults, "lost-wakeup", "although"},
		{"B4", world.Cancel, "early-enter", "at most 1 of 2 members were present"},
		{"SP10", world.Loss, "early-enter", "members were present"},
	} {
		animals, err := zoo.Find([]string{c.id})
		if err != nil {
			t.Fatal(err)
		}
		wantBroken(t, animals[0].Broken(), c.faults, c.property, c.part)
	}
}
