package workload

import (
	"slices"
	"testing"

	"github.com/zktorture/zktorture/sim"
)

// Two of three holds are as short as can be, and each errand is drawn.
func TestErrandsAreDrawn(t *testing.T) {
	const holds = 3000
	long, drawn := 0, map[errand]int{}
	p := sim.NewPlan(sim.NewRandomSource(1, 1), 3, 2, 4, sim.AllFaults, "/t")
	for range holds {
		todo := drawErrands(p, "plan")
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
	for _, e := range errands {
		if drawn[e] < long/10 {
			t.Errorf("%v: drawn %d times in %d holds", e, drawn[e], long)
		}
	}
}

// The second object that a holder takes is judged like the first.
func TestInnerLocksAreJudged(t *testing.T) {
	inner := func(client, from, to int, token int64) []*sim.Op {
		take := &sim.Op{Name: theInner.acquire, Client: client, Outcome: sim.OK, SessionAt: int64(client + 1),
			Call: sim.StampOf(from), Return: sim.StampOf(from) + 1}
		take.Data = &hold{op: take, token: token}
		give := &sim.Op{Name: theInner.release, Client: client, Outcome: sim.OK,
			Call: sim.StampOf(to), Return: sim.StampOf(to) + 1}
		return []*sim.Op{take, give}
	}
	for _, test := range []struct {
		a, b []*sim.Op
		want string
	}{
		{inner(0, 1, 3, 5), inner(1, 4, 6, 7), ""},
		{inner(0, 1, 5, 5), inner(1, 4, 6, 7), "exclusion"},
		{inner(0, 1, 3, 5), inner(1, 4, 6, 5), "fencing"},
	} {
		var j Judgement
		j.inner(&View{World: holding{}, Ops: slices.Concat(test.a, test.b)})
		found := ""
		for _, v := range j.Violations {
			found += v.Property
		}
		if found != test.want {
			t.Errorf("found %q, want %q", found, test.want)
		}
	}
}
