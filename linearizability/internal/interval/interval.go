// Package interval has instants in order, what is surely there from one instant until another, and three questions
// about it.
//
//	[Supply]  can every deadline be met by a slot of its own?
//	[Least]   what is the least of some successive numbers, while they change?
//	[Shrink]  which few of many things show the same?
package interval

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Forever is the end of what has none.
const Forever int64 = math.MaxInt64

// Mark is something, such as an item or a step, at an instant.
type Mark struct {
	At   int64
	What int32
}

// Sort sorts marks by instant; those of one instant stay in their order.
func Sort(marks []Mark) { SortBy(marks, func(m Mark) int64 { return m.At }) }

// From returns the index of the first mark at t or later.
func From(marks []Mark, t int64) int {
	return sort.Search(len(marks), func(i int) bool { return marks[i].At >= t })
}

// After returns the index of the first mark later than t: how many there are until then.
func After(marks []Mark, t int64) int {
	return sort.Search(len(marks), func(i int) bool { return marks[i].At > t })
}

// BestFrom returns for every i what is best of marks[i:].
func BestFrom(marks []Mark, better func(a, b int32) bool) []int32 {
	best := make([]int32, len(marks))
	for i := len(marks) - 1; i >= 0; i-- {
		best[i] = marks[i].What
		if i+1 < len(marks) && better(best[i+1], best[i]) {
			best[i] = best[i+1]
		}
	}
	return best
}

// BestUntil returns for every i what is best of marks[:i+1].
func BestUntil(marks []Mark, better func(a, b int32) bool) []int32 {
	best := make([]int32, len(marks))
	for i := range marks {
		best[i] = marks[i].What
		if i > 0 && better(best[i-1], best[i]) {
			best[i] = best[i-1]
		}
	}
	return best
}

// SortBy sorts by a key, and keeps the order of what has the same. It takes linear time if all is
// nearly in order, as histories are.
func SortBy[T any](all []T, key func(T) int64) {
	moves := 32 * len(all)
	for i := 1; i < len(all) && moves >= 0; i++ {
		x, k := all[i], i
		for at := key(x); k > 0 && key(all[k-1]) > at; k-- {
			all[k] = all[k-1]
			moves--
		}
		all[k] = x
	}
	if moves < 0 {
		slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	}
}

// Presence is what is surely there after one instant and before another, and perhaps not at them.
type Presence struct {
	From, Until int64
}

// Union returns when at least one of presences is there, as presences that do not overlap, in
// order. They are given by From.
func Union(all []Presence) (union []Presence) {
	for _, p := range all {
		if last := len(union) - 1; last >= 0 && p.From < union[last].Until {
			union[last].Until = max(union[last].Until, p.Until)
		} else {
			union = append(union, Presence{From: p.From, Until: p.Until})
		}
	}
	return union
}
