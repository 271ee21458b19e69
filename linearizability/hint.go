package linearizability

import (
	"cmp"
	"slices"
	"sort"
)

// hintQueue moves forward the ends of offers and of removals of unknown outcome, to where they must
// have been over:
//
//   - a value was offered before it was seen;
//   - if a was surely removed before b was seen at the head, a was offered before b was;
//   - if a was offered before b, and nobody surely removed a, a removal of unknown outcome took a
//     before b was seen; and before the queue was found empty, if that was after a's offer.
//
// A value that nobody surely removed may have gone with any removal of unknown outcome.
func hintQueue(steps []step) {
	values, removals := stays(steps)
	for i := range values {
		values[i].offer.end = min(values[i].offer.end, values[i].seen)
		values[i].offer.rank = values[i].seen
	}
	hintOffers(values)
	if len(removals) > 0 {
		hintRemovals(removals, deadlines(steps, values))
	}
}

func hintOffers(values []stay) {
	offered := make([]bound, 0, len(values))
	for _, v := range values {
		offered = append(offered, bound{from: v.latest, by: v.offer.end})
	}
	first := firstAfter(offered)
	for _, v := range values {
		v.offer.end = min(v.offer.end, first(v.seen))
	}
}

// deadlines returns, in order, by when values that nobody surely removed had to be gone.
func deadlines(steps []step, values []stay) []int64 {
	var heads []bound // what others were at the head, or none
	for _, v := range values {
		heads = append(heads, bound{from: v.offer.call, by: v.seen})
	}
	for i := range steps {
		if s := &steps[i]; s.empty() {
			heads = append(heads, bound{from: s.call, by: s.end})
		}
	}
	first := firstAfter(heads)
	var all []int64
	for _, v := range values {
		if !v.removed && !v.offer.unknown {
			all = append(all, first(v.offer.end))
		}
	}
	slices.Sort(all)
	return all
}

// hintRemovals gives the removal that was called first the first deadline, and so on.
func hintRemovals(removals []*step, deadlines []int64) {
	slices.SortStableFunc(removals, func(a, b *step) int { return cmp.Compare(a.call, b.call) })
	for i := range min(len(removals), len(deadlines)) {
		removals[i].end = max(removals[i].call, deadlines[i])
	}
}

// bound says that something that began at from was over by a certain time.
type bound struct{ from, by int64 }

// firstAfter returns the function that returns the first by of the bounds with from > t, or Forever.
func firstAfter(bounds []bound) func(t int64) int64 {
	slices.SortFunc(bounds, func(a, b bound) int { return cmp.Compare(a.from, b.from) })
	first := Forever
	for i := len(bounds) - 1; i >= 0; i-- {
		first = min(first, bounds[i].by)
		bounds[i].by = first
	}
	return func(t int64) int64 {
		i := sort.Search(len(bounds), func(i int) bool { return bounds[i].from > t })
		if i == len(bounds) {
			return Forever
		}
		return bounds[i].by
	}
}

// stay is a value's time in the queue.
type stay struct {
	offer   *step
	seen    int64 // it was at the head at some time up to here; Forever if nobody surely saw it
	latest  int64 // and at some time from here on, or was removed by an operation of unknown outcome
	removed bool  // surely
}

// stays returns the stay of every value that was offered, and the removals of unknown outcome.
func stays(steps []step) (values []stay, removals []*step) {
	lost := Forever                      // when the first removal of unknown outcome was called
	place := make([]int32, len(steps)+1) // by item: one more than its place in values
	values = make([]stay, 0, len(steps))
	for i := range steps {
		switch s := &steps[i]; {
		case s.kind == stepOffer:
			values = append(values, stay{offer: s, seen: Forever, latest: s.call})
			place[s.item] = int32(len(values))
		case s.unknown:
			lost = min(lost, s.call)
			removals = append(removals, s)
		}
	}
	for i := range steps {
		s := &steps[i]
		if s.kind == stepOffer || s.unknown || s.item == noItem || place[s.item] == 0 {
			continue
		}
		v := &values[place[s.item]-1]
		v.seen, v.latest = min(v.seen, s.end), max(v.latest, s.call)
		v.removed = v.removed || s.kind == stepRemove
	}
	for i := range values {
		if v := &values[i]; !v.removed {
			v.latest = max(v.latest, lost)
		}
	}
	return values, removals
}
