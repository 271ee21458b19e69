package linearizability

import (
	"cmp"
	"slices"
	"sort"
)

// hintQueue moves the ends of offers forward to where they must have been over:
//
//   - a value was offered before it was seen;
//   - if a was surely removed before b was seen at the head, a was offered before b was.
//
// A value that nobody surely removed may have gone with any removal of unknown outcome.
func hintQueue(steps []step) {
	values := stays(steps)
	heads := make([]bound, 0, len(values))
	for _, v := range values {
		v.offer.end = min(v.offer.end, v.seen)
		v.offer.rank = v.seen
		heads = append(heads, bound{from: v.latest, by: v.offer.end})
	}
	first := firstAfter(heads)
	for _, v := range values {
		v.offer.end = min(v.offer.end, first(v.seen))
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

// stays returns the stay of every value that was offered.
func stays(steps []step) []stay {
	lost := Forever                // when the first removal of unknown outcome was called
	place := make(map[int32]int32) // by item: one more than its place in values
	values := make([]stay, 0, len(steps))
	for i := range steps {
		switch s := &steps[i]; {
		case s.kind == stepOffer:
			values = append(values, stay{offer: s, seen: Forever, latest: s.call})
			place[s.item] = int32(len(values))
		case s.unknown:
			lost = min(lost, s.call)
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
	return values
}
