package sim

import (
	"cmp"
	"slices"
)

// Causal is a [Workload] that knows which of its properties break because others do.
type Causal interface {
	// Follows tells whether a violation of the property may result from a violation of the cause. It must be
	// transitive, and no property follows from itself.
	Follows(property, cause string) bool
}

// RootFirst sorts the violations of a campaign in the order in which to fix them. First comes the likely root: of
// those that follow from no other, if the workload is [Causal], the one with the fewest steps, then the fewest
// faults, then the one found first. The others are sorted in the same way.
func RootFirst(w Workload, found []Found) {
	rest := slices.Clone(found)
	slices.SortStableFunc(rest, simplest)
	for i := range found {
		root := max(0, slices.IndexFunc(rest, func(f Found) bool { return !followsFromAny(w, f, rest) }))
		found[i] = rest[root]
		rest = slices.Delete(rest, root, root+1)
	}
}

func simplest(a, b Found) int {
	return cmp.Or(cmp.Compare(a.Steps, b.Steps), cmp.Compare(a.Faults, b.Faults), cmp.Compare(a.Episode, b.Episode))
}

func followsFromAny(w Workload, f Found, causes []Found) bool {
	causal, ok := w.(Causal)
	return ok && slices.ContainsFunc(causes, func(cause Found) bool {
		return causal.Follows(f.Property, cause.Property)
	})
}
