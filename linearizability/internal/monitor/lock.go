package monitor

import (
	"math"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
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

// Lock judges the steps of a lock or an election.
func Lock(steps []step.Step) step.Ruling {
	t := Tenures(steps)
	if t.stray != nil {
		return step.Illegal(t.strayFinding())
	}
	z := newZones(t)
	if pair := z.overlap(); pair != nil {
		return step.Illegal(step.Finding{Property: "exclusion", Steps: t.certificate(pair...)})
	}
	if t.unclear != "" {
		return step.Undecided(t.unclear)
	}
	if culprits := z.disorder(t.byToken()); culprits != nil {
		return step.Illegal(step.Finding{Property: "fencing", Steps: t.certificate(culprits...)})
	}
	return step.Legal()
}

// zones are the zones of a lock's tenures. Once overlap finds nothing, the forward ones are disjoint.
type zones struct {
	tenancy  *tenancy
	forward  *interval.Crowd
	backward []interval.Presence // from free until till
}

func newZones(t *tenancy) *zones {
	z, forward := &zones{tenancy: t}, make([]interval.Presence, 0, len(t.all))
	for i := range t.all {
		if x := &t.all[i]; x.held() {
			forward = append(forward, interval.Presence{From: x.till, Until: x.free, Weight: 1, Of: int32(i)})
		} else {
			z.backward = append(z.backward, interval.Presence{From: x.free, Until: x.till, Of: int32(i)})
		}
	}
	z.forward = interval.NewCrowd(forward)
	return z
}

// overlap returns two tenures that cannot both be, or nothing.
func (z *zones) overlap() []int32 {
	if pair := z.forward.Over(1); pair != nil {
		return pair
	}
	for _, b := range z.backward {
		if a := z.around(b.From); a != nil && b.Until < a.Until {
			return []int32{a.Of, b.Of}
		}
	}
	return nil
}

// around returns the forward zone that an instant is within, not at an end of, or nothing.
func (z *zones) around(instant int64) *interval.Presence {
	i := z.forward.FirstFrom(instant)
	if i == 0 || z.forward.Starts[i-1].Until <= instant {
		return nil
	}
	return &z.forward.Starts[i-1]
}

// byToken returns the tenures that have tokens in order of these.
func (t *tenancy) byToken() []int32 {
	tokens := make([]interval.Mark, 0, len(t.all))
	for i := range t.all {
		if s := &t.steps[t.all[i].grant]; !s.Null {
			tokens = append(tokens, interval.Mark{At: s.Hold().Token, What: int32(i)})
		}
	}
	interval.Sort(tokens)
	order := make([]int32, len(tokens))
	for i := range tokens {
		order[i] = tokens[i].What
	}
	return order
}

func (t *tenancy) token(tenure int32) int64 { return t.steps[t.all[tenure].grant].Hold().Token }

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
				end, why = a.Until, append(why, a.Of)
			}
		}
	}
	return nil
}
