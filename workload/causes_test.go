package workload

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/sim"
)

// Nothing follows from itself, not even by way of others; else of two that break neither would be the root.
func TestCausesAreAnOrder(t *testing.T) {
	var visit func(property string, from []string)
	visit = func(property string, from []string) {
		for i, before := range from {
			if before == property {
				t.Fatalf("%s follows from itself: %s", property, strings.Join(append(from[i:], property), ", "))
			}
		}
		for _, next := range consequences[property] {
			visit(next, append(from, property))
		}
	}
	for property := range consequences {
		visit(property, nil)
	}
}

// What the table names is broken by something: a judge has it in quotes.
func TestCausesAreProperties(t *testing.T) {
	var code strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == "causes.go" {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := code.String()
	for cause := range consequences {
		for _, property := range append([]string{cause}, consequences[cause]...) {
			if !strings.Contains(all, strconv.Quote(property)) {
				t.Errorf("%s is in the table of causes, and no judge finds it broken", property)
			}
		}
	}
}

// An animal has one mistake, by which several properties break. What comes first is what the mistake is known to break.
func TestRootsOfAnimals(t *testing.T) {
	for _, id := range []string{"W2", "R6", "ZL8", "ZL15", "DQ6", "LK9"} {
		animals, err := FindAnimals([]string{id})
		if err != nil {
			t.Fatal(err)
		}
		a := animals[0]
		faults, err := sim.ParseFaults(a.Needs)
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.Run(t.Context(), a.Broken(), sim.Config{Seed: 1, Episodes: 1000, Faults: faults, NoFaultsAtAll: true, Clients: a.Clients})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Violations) < 2 || r.Violations[0].Property != a.Property {
			t.Errorf("%s, which is known to break %s, breaks:", id, a.Property)
			for _, f := range r.Violations {
				t.Errorf("  %s in %d steps with %d faults", f.Property, f.Steps, f.Faults)
			}
		}
	}
}
