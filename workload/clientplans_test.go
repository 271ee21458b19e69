package workload

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
)

// calm draws the simplest of everything but the most clients, and gives each user what stands in its place.
type calm struct{ byPlace bool }

func (c calm) Choose(n int, label string) int {
	switch {
	case label == sim.LabelClients:
		return n - 1
	case c.byPlace && label == sim.PlanLabel(1):
		return 1 % n
	}
	return 0
}

// Clients with equal scripts have equal plans, unless the first of them does something of its own in the end.
func TestClientsHaveEqualPlans(t *testing.T) {
	for kind, wanted := range map[string]struct{ known, equal, byPlace bool }{
		"lock": {true, true, false}, "election": {true, true, false}, "semaphore": {true, true, false},
		"rwlock": {true, true, false}, "doublebarrier": {true, true, false}, "barrier": {true, false, false},
		"counter": {}, "queue": {}, "lockingqueue": {}, "twophase": {}, "priorityqueue": {},
	} {
		w, err := Find(kind, Ours)
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range []calm{{}, {byPlace: true}} {
			e := w.Plan(sim.NewPlan(source, 2, 1, 1, sim.NoFaults, "/t")).(sim.WithClientPlans)
			plans, known := e.ClientPlans()
			equal := wanted.equal
			if source.byPlace {
				equal = wanted.byPlace
			}
			if known != wanted.known || known && (len(plans) != 2 || (plans[0] == plans[1]) != equal) {
				t.Errorf("%s, %+v: plans %x, known: %v", kind, source, plans, known)
			}
		}
	}
}
