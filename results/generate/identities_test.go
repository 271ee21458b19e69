package main

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/zoo"
)

// identified are three animals that break the same property: two make the same mistake, two are one recipe. Of W14 one
// story has a fault and the other none.
func identified() []caught {
	animals, err := zoo.Find([]string{"W14", "L7", "W2"})
	if err != nil {
		panic(err)
	}
	story := func(faults world.Faults) *sim.Found {
		f := &sim.Found{Violation: sim.Violation{Property: "exclusion"}, Steps: 3}
		if faults != 0 {
			f.Trace = append(f.Trace, world.Step{N: 1, Detail: world.Detail{Kind: world.KindFault, Fault: faults}})
		}
		f.Trace = append(f.Trace, world.Step{N: 2, Detail: world.Detail{Kind: world.KindExchange, Request: "exists", Op: 1}},
			world.Step{N: 4, Detail: world.Detail{Kind: world.KindExchange, Request: "sync"}})
		return f
	}
	return []caught{
		{animals[0], []*sim.Found{story(0), story(world.Wrap), story(0)}}, {animals[1], []*sim.Found{story(0)}},
		{animals[2], []*sim.Found{story(world.Wrap)}},
	}
}

func TestIdentityFacts(t *testing.T) {
	ways := identityFacts(identified())["Ways"].([]told)
	for i, want := range []told{
		{"the property", 1, 1, 3, 0, shared{1, 1}, shared{1, 1}, shared{1, 1}},
		{"… and the faults, with what they hit", 2, 4.0 / 3, 3, 200.0 / 3, shared{1, 1}, shared{1, 1}, shared{0, 1}},
		{"… and every request", 2, 4.0 / 3, 3, 200.0 / 3, shared{1, 1}, shared{1, 1}, shared{0, 1}},
		{"the property and the shape", 2, 4.0 / 3, 3, 200.0 / 3, shared{1, 1}, shared{1, 1}, shared{0, 1}},
	} {
		if got := ways[i]; got != want {
			t.Errorf("it is %+v, want %+v", got, want)
		}
	}
}
