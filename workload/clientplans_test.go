package workload

import (
	"testing"

	"github.com/zktorture/zktorture/sim/world"
)

// calm draws the simplest of everything but the most clients, and gives each user what stands in its place.
type calm struct{ byPlace bool }

func (c calm) Choose(n int, label string) int {
	switch {
	case label == world.LabelClients:
		return n - 1
	case c.byPlace && label == world.PlanLabel(1):
		return 1 % n
	}
	return 0
}

// Clients with equal scripts have equal plans, unless the first of them does something of its own in the end.
func TestClientsHaveEqualPlans(t *testing.T) {
	for kind, wanted := range map[string]struct{ known, equal, byPlace bool }{
		"lock": {true, true, false}, "election": {true, true, false}, "semaphore": {true, true, false},
		"rwlock": {true, true, false}, "doublebarrier": {true, true, false}, "barrier": {true, false, false},
		"counter": {}, "queue": {}, "lockingqueue": {}, "priorityqueue": {}, "membership": {true, true, false},
	} {
		w, err := Find(kind, Ours)
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range []calm{{}, {byPlace: true}} {
			e := w.Plan(world.NewPlan(source, 2, 1, 1, world.NoFaults, "/t"))
			_, plans, known := w.Terms().Hash(e, true)
			if !known {
				t.Errorf("%s plans more than data", kind)
			}
			equal := wanted.equal
			if source.byPlace {
				equal = wanted.byPlace
			}
			if (plans != nil) != wanted.known || plans != nil && (len(plans) != 2 || (plans[0] == plans[1]) != equal) {
				t.Errorf("%s, %+v: plans %x", kind, source, plans)
			}
		}
	}
}

// The order of clients counts where something was drawn that does not go with them, and so does what that was.
func TestWhatIsDrawnBesideTheScripts(t *testing.T) {
	plan := func(first, second string, priorities ...int32) (uint64, uint64) {
		c := Script[string]{Whole: true, layout: []int{1, 1}, turns: [][]string{{first}, {second}}}
		if priorities != nil {
			c.beside = priorities
		}
		apart, _, _ := c.planHash(false)
		symmetric, _, _ := c.planHash(true)
		return apart, symmetric
	}
	apart, symmetric := plan("a", "b")
	if exchanged, same := plan("b", "a"); exchanged == apart || same != symmetric {
		t.Error("clients that exchange their scripts are the same but for their order")
	}
	_, five := plan("a", "b", 5)
	_, six := plan("a", "b", 6)
	if _, exchanged := plan("b", "a", 5); five == six || five == symmetric || exchanged == five {
		t.Error("what was drawn beside the scripts does not count")
	}
}
