package recipes_test

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	simworld "github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Rounds of episodes. What is badly broken shows in the first, before the others take their time.
var rounds = []int{50, 400}

// TestSimulation runs every recipe through bad days, with every fault, elections by themselves, and every property of
// its workload. This is the test that must notice a mutant (make mutants).
func TestSimulation(t *testing.T) {
	for round, episodes := range rounds {
		if round > 0 {
			testkit.ManyWorlds(t)
		}
		for _, e := range workload.Entries() {
			if strings.HasPrefix(e.Recipe, workload.Ours) {
				for _, faults := range []simworld.Faults{simworld.AllFaults, simworld.Quorum | simworld.Deposed, simworld.EveryFault} {
					simulate(t, e, sim.Config{Episodes: episodes, Seed: uint64(round + 1), Faults: faults, NoShrink: true})
				}
			}
		}
		if testing.Short() {
			return
		}
	}
}

// TestWithSyncInSimulation: as long as no leader is deposed without noticing, Conn.Sync is as good as a transaction.
func TestWithSyncInSimulation(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, w := range []func() *workload.Workload{
		func() *workload.Workload {
			return workload.Counter(func(c recipes.Conn, path string) workload.Adder {
				return recipes.NewCounter(c, path, recipes.WithSync())
			})
		},
		func() *workload.Workload {
			return workload.PriorityQueue(func(c recipes.Conn, path string) workload.PriorityQueuer {
				return recipes.NewPriorityQueue(c, path, recipes.WithSync())
			})
		},
	} {
		simulate(t, workload.Entry{Kind: "with sync", New: w}, sim.Config{Episodes: rounds[1], Seed: 1, Faults: simworld.AllFaults, NoShrink: true})
	}
}

// simulate ends the test at the first violation: a mutant is killed once.
func simulate(t *testing.T, e workload.Entry, c sim.Config) {
	t.Helper()
	r, err := sim.Run(t.Context(), e.New(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != sim.VerdictOK {
		t.Fatalf("%s (%s), seed %d: %s %s: %v", e.Kind, e.Recipe, c.Seed, r.Verdict, r.Reason, violated(r))
	}
}

// violated names the properties that did not hold.
func violated(r sim.Result) (properties []string) {
	for _, v := range r.Violations {
		properties = append(properties, v.Property+": "+v.Message)
	}
	return properties
}
