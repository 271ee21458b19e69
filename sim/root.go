package sim

import (
	"cmp"
	"slices"

	"github.com/zktorture/zktorture/sim/world"
)

// RootFirst sorts the violations of a campaign in the order in which to fix them. First comes the likely root: of
// those that follow from no other, as the workload says, the one with the fewest steps, then the fewest
// faults, then the one found first. The others are sorted in the same way. What needs [Found.Rare] comes last.
func RootFirst(w world.Workload, found []Found) {
	rest := slices.Clone(found)
	slices.SortStableFunc(rest, simplest)
	for i := range found {
		root := max(0, slices.IndexFunc(rest, func(f Found) bool { return !followsFromAny(w, f, rest) }))
		found[i] = rest[root]
		rest = slices.Delete(rest, root, root+1)
	}
}

func simplest(a, b Found) int {
	return cmp.Or(byRarity(a, b), cmp.Compare(a.Steps, b.Steps), cmp.Compare(a.Faults, b.Faults), cmp.Compare(a.Episode, b.Episode))
}

func byRarity(a, b Found) int { return min(int(a.Rare), 1) - min(int(b.Rare), 1) }

func followsFromAny(w world.Workload, f Found, causes []Found) bool {
	follows := w.Terms().Follows
	return follows != nil && slices.ContainsFunc(causes, func(cause Found) bool {
		return byRarity(cause, f) <= 0 && follows(f.Property, cause.Property)
	})
}
