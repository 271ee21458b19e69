package fifo

import (
	"cmp"
	"slices"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
)

// A removal of unknown outcome takes the head at some instant from its call on, or nothing; if it names a value, it
// takes only that. So a value that was surely offered and that nobody surely removed was perhaps taken by one of
// them. Had it been passed over, it must have been:
//
//	deadline  of a: the least reached(c) of the values c before which a has to go, directly or by
//	          way of others. Until then a has to be gone. There is none if there is no such c.
//
// It does not matter if a goes before other values, too. It is therefore taken as late as can be, at its deadline. A
// removal that names a and was called by then takes it at no cost. For the others, Hall's theorem ("On Representatives
// of Subsets", 1935) says when there are enough removals that name no value: as every removal can serve all deadlines
// after its call, the sets are nested, and it is enough that for every i the deadline that is the i-th to come has i
// removals that were called by then. (This rule was made for this program; TestTheJudgeAgrees compares it with all orders.)

// demand is a value that was perhaps taken by a removal of unknown outcome.
type demand struct {
	item         int32
	by, deadline int64
	named        int64 // when a removal that names the value was called, or interval.Forever
	chain        chain // of values that show the deadline
}

// hungry reports whether the value needs a removal that names none to be gone by the deadline.
func (d *demand) hungry() bool { return d.deadline < d.named }

// chain is the values that a value had to precede, directly or by way of others, one of which had reached the head.
type chain struct {
	at    int64 // interval.Forever if there is none
	items [3]int32
}

var noChain = chain{at: interval.Forever, items: [3]int32{none, none, none}}

// demands returns the values that are waiting by deadline, or the finding that one cannot have been removed in time.
func (q *queueCase) demands(peeks bool) ([]demand, *Finding) {
	demands := q.deadlines(peeks)
	if i := q.unmet(demands); i < len(demands) {
		return nil, q.neverCame(demands[:i+1], peeks)
	}
	return demands, nil
}

// unmet returns the index of the first demand that cannot be met with those before it; their number if there is none.
func (q *queueCase) unmet(demands []demand) int {
	removals := interval.Supply{Slots: q.lost}
	for i := range demands {
		if d := &demands[i]; d.hungry() && d.deadline < interval.Forever && !removals.Meet(d.deadline) {
			return i
		}
	}
	return len(demands)
}

// deadlines returns the demands of what is waiting, but for values that are open.
func (q *queueCase) deadlines(peeks bool) []demand {
	var demands []demand
	if waiting := q.waiting(); len(waiting) > 0 {
		reach := q.reach(peeks)
		best, next := noChain, len(q.byFrom)-1
		for _, item := range slices.Backward(waiting) {
			for v := &q.visits[item]; next >= 0 && q.byFrom[next].At > v.by; next-- {
				best = sooner(best, reach(q.byFrom[next].What))
			}
			demands = append(demands, q.demand(item, best))
		}
	}
	sortDemands(demands)
	return demands
}

func sortDemands(demands []demand) {
	slices.SortStableFunc(demands, func(a, b demand) int {
		return cmp.Or(cmp.Compare(a.deadline, b.deadline), cmp.Compare(a.by, b.by))
	})
}

// waiting returns the values that are waiting and were not seen at the head, in order of by.
func (q *queueCase) waiting() []int32 {
	var waiting []int32
	for _, m := range q.byBy {
		if v := &q.visits[m.What]; v.waiting && v.reached == interval.Forever {
			waiting = append(waiting, m.What)
		}
	}
	return waiting
}

// demand is the demand of a value whose deadline the chain shows.
func (q *queueCase) demand(item int32, c chain) demand {
	v := &q.visits[item]
	return demand{item: item, by: v.by, deadline: c.at, named: q.calledBy(v.named), chain: c}
}

// calledBy is when step i was called, interval.Forever if there is none.
func (q *queueCase) calledBy(i int32) int64 {
	if i == none {
		return interval.Forever
	}
	return q.steps[i].Call
}

func sooner(a, b chain) chain {
	if b.at < a.at {
		return b
	}
	return a
}

// reach returns the function that says at which instant, at the latest, the value or one that it has to go before by
// F had reached the head. Two F in a row are enough, and another E leads no further, as order.go proves.
func (q *queueCase) reach(peeks bool) func(item int32) chain {
	level := func(item int32) chain {
		return chain{q.visits[item].reached, [3]int32{item, none, none}}
	}
	if !peeks {
		return level // if nobody peeks, reached(b) < stayed(c) <= reached(c)
	}
	stayed := q.byStayed()
	return q.afterHead(stayed, q.afterHead(stayed, level))
}

// byStayed returns the values by stayed.
func (q *queueCase) byStayed() []interval.Mark {
	marks := make([]interval.Mark, len(q.byBy))
	for i, m := range q.byBy {
		marks[i] = interval.Mark{At: q.visits[m.What].stayed, What: m.What}
	}
	interval.Sort(marks)
	return marks
}

// afterHead adds to the chains of a level those that start with one more F.
func (q *queueCase) afterHead(stayed []interval.Mark, level func(int32) chain) func(int32) chain {
	suffix := make([]chain, len(stayed)+1)
	suffix[len(stayed)] = noChain
	for i := len(stayed) - 1; i >= 0; i-- {
		suffix[i] = sooner(suffix[i+1], level(stayed[i].What))
	}
	return func(item int32) chain {
		own, reached := level(item), q.visits[item].reached
		at := interval.After(stayed, reached)
		if further := suffix[at]; further.at < own.at {
			return chain{further.at, [3]int32{item, further.items[0], further.items[1]}}
		}
		return own
	}
}

// neverCame is the finding that the last of the demands cannot be met.
func (q *queueCase) neverCame(demands []demand, peeks bool) *Finding {
	e := q.evidence()
	last := &demands[len(demands)-1]
	q.showChain(e, last)
	for i := range demands {
		if d := &demands[i]; d.hungry() {
			e.show(d.item, showBy)
			if d.named < interval.Forever || d.by > last.by {
				q.showChain(e, d)
			}
		}
	}
	if peeks {
		return e.finding("stale-peek")
	}
	return e.finding("lost")
}

// showChain adds the values that show a demand's deadline.
func (q *queueCase) showChain(e *evidence, d *demand) {
	for _, item := range d.chain.items {
		if item != none {
			e.show(item, showReached|showStayed)
		}
	}
}
