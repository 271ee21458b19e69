package sim_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// causal is a workload of which b and c follow from a, and d follows from c.
type causal struct{ sim.Workload }

func (causal) Terms() world.Terms { return world.Terms{Follows: causes} }

func causes(property, cause string) bool {
	return slices.Contains([]string{"b<a", "c<a", "d<c", "d<a"}, property+"<"+cause)
}

func named(name string, steps, faults, episode int) sim.Found {
	return sim.Found{Violation: sim.Violation{Property: name}, Steps: steps, Faults: faults, Episode: episode}
}

// often is what broke in so many episodes.
func often(f sim.Found, times int) sim.Found {
	f.Times = times
	return f
}

// rarely is what was not found without a rare fault.
func rarely(f sim.Found) sim.Found {
	f.Rare = world.Reap
	return f
}

func names(found []sim.Found) string {
	var all strings.Builder
	for _, f := range found {
		all.WriteString(f.Property)
	}
	return all.String()
}

// The gravest comes first; of several as grave the root, which follows from nothing else, and of such the simplest.
func TestRootFirst(t *testing.T) {
	for _, test := range []struct {
		found []sim.Found
		want  string
	}{
		{nil, ""},
		{[]sim.Found{named("b", 1, 0, 0), named("a", 9, 1, 5)}, "ab"},
		{[]sim.Found{named("d", 1, 0, 0), named("a", 9, 1, 5)}, "ad"},
		{[]sim.Found{named("d", 1, 0, 0), named("c", 5, 0, 1), named("a", 9, 1, 5)}, "acd"},
		{[]sim.Found{named("d", 3, 0, 0), named("c", 5, 0, 1), named("b", 4, 1, 5)}, "bcd"},
		{[]sim.Found{named("x", 4, 0, 0), named("y", 3, 1, 1)}, "yx"},                     // fewer steps
		{[]sim.Found{named("x", 4, 2, 0), named("y", 4, 1, 1)}, "yx"},                     // fewer faults
		{[]sim.Found{named("x", 4, 1, 2), named("y", 4, 1, 1)}, "yx"},                     // found earlier
		{[]sim.Found{often(named("x", 3, 0, 0), 1), often(named("y", 4, 1, 1), 2)}, "yx"}, // more frequent
		{[]sim.Found{named("leak", 1, 0, 0), named("x", 3, 0, 1), named("exclusion", 9, 5, 5), named("hang", 2, 0, 0),
			named("lost", 9, 5, 5)}, "exclusionlostxhangleak"}, // graver
		{[]sim.Found{rarely(named("a", 1, 0, 0)), named("d", 9, 0, 1), rarely(named("x", 0, 0, 0)), named("c", 9, 1, 5)}, "cdxa"},
	} {
		sim.RootFirst(causal{}, test.found)
		if got := names(test.found); got != test.want {
			t.Errorf("they come as %s; want %s", got, test.want)
		}
	}
	unordered := []sim.Found{named("b", 1, 0, 0), named("a", 9, 1, 5)}
	if sim.RootFirst(plain{}, unordered); names(unordered) != "ba" {
		t.Errorf("without causes they come as %s, and not the simplest first", names(unordered))
	}
}

// plain says of no property what it follows from.
type plain struct{ sim.Workload }

func (plain) Terms() (t world.Terms) { return t }

// circular is a workload that contradicts itself: everything follows from everything.
type circular struct{ sim.Workload }

func (circular) Terms() world.Terms {
	return world.Terms{Follows: func(_, _ string) bool { return true }}
}

// Whatever was found, and in whatever order: nothing is lost, the order is the same, and no violation comes before
// its cause.
func TestRootFirstIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 6).Draw(t, "steps")
		var found []sim.Found
		for i, n := range steps {
			found = append(found, named(string(rune('a'+i)), n, n%2, i))
		}
		shuffled := rapid.Permutation(found).Draw(t, "shuffled")
		for _, w := range []sim.Workload{causal{}, circular{}} {
			a, b := slices.Clone(found), slices.Clone(shuffled)
			sim.RootFirst(w, a)
			sim.RootFirst(w, b)
			letters := strings.Split(names(a), "")
			slices.Sort(letters)
			if names(a) != names(b) || strings.Join(letters, "") != names(found) {
				t.Fatalf("%s comes as %s, and as %s when shuffled", names(found), names(a), names(b))
			}
			for i := range a {
				for _, later := range a[i+1:] {
					if (causal{}) == w && causes(a[i].Property, later.Property) {
						t.Fatalf("%s: %s comes before its cause %s", names(a), a[i].Property, later.Property)
					}
				}
			}
		}
	})
}
