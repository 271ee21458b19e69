package zoo

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// An animal has one mistake, by which several properties break. What comes first is what the mistake is known to break.
func TestRootsOfAnimals(t *testing.T) {
	animals, err := Find(testkit.Sized([]string{"W2", "ZL8", "DQ6"}, []string{"W2", "R6", "ZL8", "ZL15", "DQ6", "LK9"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range animals {
		found := broken(t, a, 1000)
		if len(found) < 2 || found[0].Property != a.Property {
			t.Errorf("%s, which is known to break %s, breaks %s", a.ID, a.Property, sizes(found))
		}
	}
}

// The same of the whole zoo: it is not so of every animal, but of more than if the simplest story came first (minutes).
func TestRootsOfTheZoo(t *testing.T) {
	if os.Getenv("ZKTORTURE_ROOTS") == "" {
		t.Skip("takes minutes: ZKTORTURE_ROOTS=all")
	}
	var several, rootFirst, simplestFirst int
	for _, a := range Animals() {
		found := broken(t, a, 2000)
		if len(found) < 2 || !slices.ContainsFunc(found, func(f sim.Found) bool { return f.Property == a.Property }) {
			continue
		}
		several++
		if found[0].Property == a.Property {
			rootFirst++
		} else {
			t.Logf("%s, which is known to break %s, breaks %s", a.ID, a.Property, sizes(found))
		}
		if sim.RootFirst(nil, found); found[0].Property == a.Property {
			simplestFirst++
		}
	}
	t.Logf("of %d animals that break several properties, the known one comes first in %d, "+
		"by the simplest story alone in %d",
		several, rootFirst, simplestFirst)
	if rootFirst <= simplestFirst {
		t.Error("the table of causes is of no use")
	}
}

// broken is what an animal breaks under the faults that it needs.
func broken(t *testing.T, a Animal, episodes int) []sim.Found {
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
