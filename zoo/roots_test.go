package zoo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// A known bug is one mistake, by which several properties break. What comes first is what the mistake is known to break.
func TestRootsOfKnownBugs(t *testing.T) {
	bugs, err := Find(testkit.Sized([]string{"W2", "ZL8", "DQ6"}, []string{"W2", "ZL8", "ZL15", "DQ6", "LK9"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range bugs {
		found := broken(t, a, 1000)
		if len(found) < 2 || found[0].Property != a.Property {
			t.Errorf("%s, which is known to break %s, breaks %s", a.ID, a.Property, sizes(found))
		}
	}
}

// broken is what a known bug breaks under the faults that it needs.
func broken(t *testing.T, a KnownBug, episodes int) []sim.Found {
	t.Helper()
	testkit.ManyWorlds(t)
	faults, err := world.ParseFaults(a.Needs)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Seed: 1, Episodes: episodes, Faults: faults, NoFaultsAtAll: true, Clients: a.Clients}
	r, err := sim.Run(t.Context(), a.Broken(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r.Violations
}

func sizes(found []sim.Found) string {
	var all []string
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s (%d steps, %d faults)", f.Property, f.Steps, f.Faults))
	}
	return strings.Join(all, ", ")
}
