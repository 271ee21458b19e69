package workload

import (
	"slices"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// Two of three holds are as short as can be, and each interlude is drawn.
func TestInterludesAreDrawn(t *testing.T) {
	const holds = 3000
	long, drawn := 0, map[interlude]int{}
	p := world.NewPlan(sim.NewRandomSource(1, 1), 3, 2, 4, world.AllFaults, "/t")
	for range holds {
		todo := drawInterludes(p, "plan")
		if len(todo) > 0 {
			long++
		}
		for _, e := range todo {
			drawn[e]++
		}
	}
	if long < holds/4 || long > holds/2 {
		t.Errorf("%d of %d holds take time", long, holds)
	}
	for _, e := range interludes {
		if drawn[e] < long/10 {
			t.Errorf("%v: drawn %d times in %d holds", e, drawn[e], long)
		}
	}
}

// The second object that a holder takes is judged like the first.
func TestInnerLocksAreJudged(t *testing.T) {
	inner := func(client, from, to int, token int64) []*world.Op {
		take := &world.Op{Name: theInner.Acquire, Client: client, Outcome: world.OK, SessionAt: int64(client + 1),
			Call: world.StampOf(from), Return: world.StampOf(from) + 1}
		take.Data = &Held{op: take, token: token}
		give := &world.Op{Name: theInner.Release, Client: client, Outcome: world.OK,
			Call: world.StampOf(to), Return: world.StampOf(to) + 1}
		return []*world.Op{take, give}
	}
	for _, test := range []struct {
		a, b []*world.Op
		want string
	}{
		{inner(0, 1, 3, 5), inner(1, 4, 6, 7), ""},
		{inner(0, 1, 5, 5), inner(1, 4, 6, 7), "exclusion"},
		{inner(0, 1, 3, 5), inner(1, 4, 6, 5), "fencing"},
	} {
		var j Judgement
		lockContest.inner(&View{World: holding{}, Ops: slices.Concat(test.a, test.b)}, &j)
		found := ""
		for _, v := range j.Violations {
			found += v.Property
		}
		if found != test.want {
			t.Errorf("found %q, want %q", found, test.want)
		}
	}
}
