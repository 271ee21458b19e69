package fifo

import (
	"github.com/zktorture/zktorture/linearizability/internal/interval"
)

// Value a has to go through the queue before b if
//
//	E  a was in the queue before b was offered:       by(a) < from(b), or
//	F  a had reached the head before b left it:  reached(a) < stayed(b).
//
// The steps other than empty results are legal if and only if no values have to go before each other in a circle (Lee
// and Mathur, 2025; without peeks: Henzinger, Sezgin and Vafeiadis, 2013). Nothing else needs to be looked for than
// circles of these forms:
//
//	a E b F a             b overtook a
//	a F b F a             a and b were both at the head
//	a E b F c F a         c was at the head between a and b, which went in the other order
//
// Proof. Call c firm if reached(c) < stayed(c): it surely was at the head in between. In a shortest circle no value
// has to go before another but the next one.
//
//  1. At most one E. Of a E b and c E d, either a E d or c E b: by(a) < from(d), or else by(c) <
//     from(d) <= by(a) < from(b). Either is a shortcut, unless they follow on each other, and a E b E d
//     gives a E d.
//  2. In a F b F d, b is firm: or else reached(a) < stayed(b) <= reached(b) < stayed(d), a shortcut.
//  3. Two firm values of which one follows on the other by F make a circle of two unless the intervals
//     (reached, stayed) do not meet; and if a F b F d, where b and d are firm, is no shortcut, stayed(d)
//     <= reached(a) < stayed(b), so that they do meet. So there are at most two F in a row, and the
//     circles that are left are the three above.

// overtaken finds a E b F a: sweeping over b in order of from, it keeps the a that stayed longest.
func (q *queueCase) overtaken(peeks bool) *Finding {
	next, longest := 0, int32(none)
	for _, b := range q.byFrom {
		for ; next < len(q.byBy) && q.byBy[next].At < b.At; next++ {
			longest = q.longer(longest, q.byBy[next].What)
		}
		if longest != none && q.visits[longest].stayed > q.visits[b.What].reached {
			return q.overtaking(longest, b.What, peeks)
		}
	}
	return nil
}

// longer returns which of two values stayed longer; the first may be none.
func (q *queueCase) longer(a, b int32) int32 {
	if a == none || q.visits[b].stayed > q.visits[a].stayed {
		return b
	}
	return a
}

func (q *queueCase) overtaking(a, b int32, peeks bool) *Finding {
	e := q.evidence()
	e.show(a, showBy|showStayed)
	e.show(b, showReached)
	switch {
	case peeks:
		return e.finding("stale-peek")
	case q.visits[a].removal == none:
		return e.finding("lost")
	}
	return e.finding("order")
}

// gone finds a peek that was called after its value had been removed.
func (q *queueCase) gone() *Finding {
	for i := range q.visits {
		v := &q.visits[i]
		if v.removal == none || v.last == none || q.steps[v.last].Call <= q.steps[v.removal].End {
			continue
		}
		e := q.evidence()
		e.show(int32(i), showStayed)
		return e.finding("stale-peek")
	}
	return nil
}

// atHead finds the circles with two F.
func (q *queueCase) atHead() *Finding {
	heads := q.heads()
	// If more than one firm value had reached the head before b left, they are in a circle of two with each other, or
	// at least one of them with the last of them. So the last is enough for b.
	for _, b := range heads.byStayed {
		if a := heads.around(b.At); a != none && a != b.What && q.visits[b.What].reached < q.visits[a].stayed {
			return q.pair(a, b.What)
		}
	}
	for _, c := range heads.firm {
		if f := q.wrongWayRound(heads, c.What); f != nil {
			return f
		}
	}
	return nil
}

// heads is the values by when they were at the head.
type heads struct {
	firm      []interval.Mark // the firm values by reached
	byStayed  []interval.Mark // all values by stayed
	byReached []interval.Mark // all values but those that nobody saw at the head, by reached
	soonest   []int32         // of byStayed[i:] the one with the least by
	latest    []int32         // of byReached[:i+1] the one with the greatest from
}

func (q *queueCase) heads() *heads {
	h := new(heads)
	for _, m := range q.byBy {
		v := &q.visits[m.What]
		h.byStayed = append(h.byStayed, interval.Mark{At: v.stayed, What: m.What})
		if v.reached < interval.Forever {
			h.byReached = append(h.byReached, interval.Mark{At: v.reached, What: m.What})
		}
	}
	interval.Sort(h.byStayed)
	interval.Sort(h.byReached)
	for _, m := range h.byReached {
		if m.At < q.visits[m.What].stayed {
			h.firm = append(h.firm, m)
		}
	}
	h.soonest = interval.BestFrom(h.byStayed, func(a, b int32) bool { return q.visits[a].by < q.visits[b].by })
	h.latest = interval.BestUntil(h.byReached, func(a, b int32) bool { return q.visits[a].from > q.visits[b].from })
	return h
}

// around returns the last firm value that had reached the head before t, or none.
func (h *heads) around(t int64) int32 {
	if i := interval.From(h.firm, t); i > 0 {
		return h.firm[i-1].What
	}
	return none
}

func (q *queueCase) pair(a, b int32) *Finding {
	e := q.evidence()
	e.show(a, showReached|showStayed)
	e.show(b, showReached|showStayed)
	return e.finding("stale-peek")
}

// wrongWayRound finds a E b F c F a, where c is given.
func (q *queueCase) wrongWayRound(h *heads, c int32) *Finding {
	v := &q.visits[c]
	after := interval.After(h.byStayed, v.reached) // a left after c had reached the head
	before := interval.From(h.byReached, v.stayed) // b had reached it before c left
	if after == len(h.soonest) || before == 0 {
		return nil
	}
	a, b := h.soonest[after], h.latest[before-1]
	if q.visits[a].by >= q.visits[b].from {
		return nil
	}
	e := q.evidence()
	e.show(a, showBy|showStayed)
	e.show(b, showReached)
	e.show(c, showReached|showStayed)
	return e.finding("stale-peek")
}
