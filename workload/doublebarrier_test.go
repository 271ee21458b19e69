package workload_test

import (
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

func TestOurDoubleBarrierIsClean(t *testing.T) { wantOursClean(t, "doublebarrier") }

// Rounds of three must not be harder than rounds of two.
func TestOurDoubleBarrierForThree(t *testing.T) {
	w := workload.DoubleBarrier(3, func(c recipes.Conn, _ string) workload.Rendezvous {
		return recipes.NewDoubleBarrier(c, "/t/doublebarrier", 3)
	})
	wantClean(t, w, sim.AllFaults)
}

// Published barriers, each with one of its bugs.
func TestBrokenDoubleBarriers(t *testing.T) {
	for _, c := range []struct {
		id             string
		faults         sim.Faults
		property, part string
	}{
		{"P1", sim.NoFaults, "lost-wakeup", "although"},
		{"B17", sim.NoFaults, "early-enter", "no more than 1 of 2 members were there"},
		{"SP1", sim.NoFaults, "early-leave", "inside"},
		{"SP8", sim.NoFaults, "lost-wakeup", "nobody works inside"},
		{"SP12", sim.NoFaults, "early-enter", "no more than 1 of 2 members were there"},
		{"SP13", sim.NoFaults, "lost-wakeup", "although"},
		{"B4", sim.Cancel, "early-enter", "no more than 1 of 2 members were there"},
		{"SP10", sim.Loss, "early-enter", "members were there"},
	} {
		animals, err := zoo.Find([]string{c.id})
		if err != nil {
			t.Fatal(err)
		}
		wantBroken(t, animals[0].Broken(), c.faults, c.property, c.part)
	}
}
