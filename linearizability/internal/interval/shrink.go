package interval

import "slices"

// Divide cuts things into parts that may be left out by themselves: the indices of each. What is
// good has to stay good without any of them.
type Divide[T any] func([]T) [][]int

// Shrink leaves out parts of bad things, at first size of them at once, then ever fewer, as long as
// the rest is bad, and there may be more tries.
func Shrink[T any](all []T, size int, divide Divide[T], more func() bool, bad func([]T) bool) []T {
	for size = max(1, size); size > 0; size /= 2 {
		for at := 0; more(); {
			parts := divide(all)
			if at >= len(parts) {
				break
			}
			fewer := without(all, slices.Concat(parts[at:min(at+size, len(parts))]...))
			if bad(fewer) {
				all = fewer
			} else {
				at += size
			}
		}
	}
	return all
}

// without returns what is left without the given indices.
func without[T any](all []T, indices []int) []T {
	leave := make([]bool, len(all))
	for _, i := range indices {
		leave[i] = true
	}
	var kept []T
	for i := range all {
		if !leave[i] {
			kept = append(kept, all[i])
		}
	}
	return kept
}
