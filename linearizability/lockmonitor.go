package linearizability

import (
	"math"
	"sort"
)

// The monitor of a lock rests on two facts.
//
// A hold only keeps others out. So an order of the operations that explains a history still explains it if a hold
// begins later and ends sooner, as long as it stays where it was among the others: the best that a tenure can do is
// to last from till to free, or, if that is nothing, to sit at one instant from free to till. Without tokens a
// history is therefore legal if and only if
//
//   - no two forward zones overlap, and
//   - no backward zone lies within a forward zone, not touching its ends.
//
// This is the theorem of Gibbons and Korach, "Testing Shared Memories", SIAM Journal on Computing 26(4), 1997,
// section 4, on registers of which every value is written once: the value is the holder.
//
// Tokens say in which order the tenures that have some came. That leaves nothing to choose but the instants of
// backward zones, of which the earliest is the best for all that come later: after the end of the tenure before, and
// not within a forward zone. Tenures without tokens stand in nobody's way beyond their forward zones, as those of no
// length can share an instant.
//
// All it takes is two sorts and a sweep each: O(n log n) for n operations.

func lockMonitor(steps []step) ruling {
	t := tenures(steps)
	if t.stray != nil {
		return illegal(t.strayFinding())
	}
	z := newZones(t)
	if pair := z.overlap(); pair != nil {
		return illegal(finding{"exclusion", t.certificate(pair...)})
	}
	if t.unclear != "" {
		return undetermined(t.unclear)
	}
	if culprits := z.disorder(t.byToken()); culprits != nil {
		return illegal(finding{"fencing", t.certificate(culprits...)})
	}
	return legal()
}

// zone is the open interval of a forward zone, or the closed one of a backward zone.
type zone struct {
	lo, hi int64
	tenure int32
}

// zones are the zones of a lock's tenures by lo. Once overlap finds nothing, the forward ones are disjoint.
type zones struct {
	tenancy           *tenancy
	forward, backward []zone
}

func newZones(t *tenancy) *zones {
	z := &zones{tenancy: t, forward: make([]zone, 0, len(t.all))}
	for i := range t.all {
		if x := &t.all[i]; x.held() {
			z.forward = append(z.forward, zone{x.till, x.free, int32(i)})
		} else {
			z.backward = append(z.backward, zone{x.free, x.till, int32(i)})
		}
	}
	sortBy(z.forward, func(a zone) int64 { return a.lo })
	return z
}

// overlap returns two tenures that cannot both be, or nothing.
func (z *zones) overlap() []int32 {
	for i := 1; i < len(z.forward); i++ {
		if a, b := z.forward[i-1], z.forward[i]; b.lo < a.hi {
			return []int32{a.tenure, b.tenure}
		}
	}
	for _, b := range z.backward {
		if a := z.around(b.lo); a != nil && b.hi < a.hi {
			return []int32{a.tenure, b.tenure}
		}
	}
	return nil
}

// around returns the forward zone that an instant is within, not at an end of, or nothing.
func (z *zones) around(instant int64) *zone {
	i := sort.Search(len(z.forward), func(i int) bool { return z.forward[i].lo >= instant })
	if i == 0 || z.forward[i-1].hi <= instant {
		return nil
	}
	return &z.forward[i-1]
}

// byToken returns the tenures that have tokens in order of these.
func (t *tenancy) byToken() []int32 {
	type entry struct {
		token  int64
		tenure int32
	}
	entries := make([]entry, 0, len(t.all))
	for i := range t.all {
		if s := &t.steps[t.all[i].grant]; !s.noToken {
			entries = append(entries, entry{s.token, int32(i)})
		}
	}
	sortBy(entries, func(a entry) int64 { return a.token })
	order := make([]int32, len(entries))
	for i := range entries {
		order[i] = entries[i].tenure
	}
	return order
}

func (t *tenancy) token(tenure int32) int64 { return t.steps[t.all[tenure].grant].token }

// disorder returns tenures, of those given by token, that cannot come in that order, and the one whose hold makes it
// so, if there is one; or nothing.
//
// Invariant: the tenures up to here have their instants, each the earliest, and the last ends at end, which is within
// no forward zone. It is because of the tenures in why.
func (z *zones) disorder(order []int32) []int32 {
	end, why := int64(math.MinInt64), []int32(nil)
	for i, k := range order {
		x := &z.tenancy.all[k]
		if i > 0 && z.tenancy.token(k) == z.tenancy.token(order[i-1]) {
			return []int32{order[i-1], k}
		}
		if end > x.till {
			return append(why, k)
		}
		switch {
		case x.held():
			end, why = x.free, append(why[:0], k)
		case end < x.free:
			end, why = x.free, append(why[:0], k)
			if a := z.around(end); a != nil {
				end, why = a.hi, append(why, a.tenure)
			}
		}
	}
	return nil
}
