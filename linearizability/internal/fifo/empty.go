package fifo

import (
	"slices"
	"sort"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
)

// An empty result is right if the queue was empty at some instant p of its interval. The instants that are ruled out
// by a value v are those with by(v) < p < stayed(v): it was in the queue before and left later. At any other instant,
// every value can come and go before p, or come after, unless outcomes are unknown (Henzinger, Sezgin and Vafeiadis,
// 2013): a cut at p does not make values go before each other that did not have to. So empty results do not depend on
// each other.
//
// A value a that was perhaps taken by a removal of unknown outcome must have been taken before p, if by(a) < p, else
// at its deadline. So an instant p will do if it is ruled out by no value, and if all deadlines can be met after
// those of the values with by(a) < p have been advanced to p. Again the sets are nested: for every instant T >= p
// there must be as many removals called by then as values with deadline <= T or by < p. A removal that names a value
// serves that alone.
//
// The instants that have to be tried are those after which an instant is worse than before: where an interval that is
// ruled out begins, where a value is sure to be in the queue, and where the empty result itself ends. They are
// visited from the last to the first.
//
// If a removal names a value a, the choice of p matters to the other empty results: with p before the call of that
// removal, and after by(a), another has to take a. Then what is wrong with one empty result alone is illegal still; and
// if all together are right at instants that are chosen, the steps are legal; otherwise it is not known.

// checkEmpties judges the empty results.
func (q *queueCase) checkEmpties(demands []demand) (f *Finding, decided bool) {
	in := q.newInstants(demands, q.covered())
	named := len(in.joining) > 0
	good := in.good()
	var first, last []int64 // the first instant that will do for each, and the last
	for _, i := range q.empties {
		from := sort.Search(len(good), func(k int) bool { return good[k] >= q.steps[i].Call })
		to := sort.Search(len(good), func(k int) bool { return good[k] > q.steps[i].End })
		if from == to {
			return q.neverEmpty(i, demands), true
		}
		if named {
			first, last = append(first, good[from]), append(last, good[to-1])
		}
	}
	if named && !q.enough(demands, first) && !q.enough(demands, last) {
		return nil, false // it was empty before or after a removal that names a value, nobody knows
	}
	return nil, true
}

// enough reports whether there are removals enough if the queue was empty at all these instants.
func (q *queueCase) enough(demands []demand, empty []int64) bool {
	slices.Sort(empty)
	demands = slices.Clone(demands)
	for i := range demands {
		d := &demands[i]
		if k := sort.Search(len(empty), func(k int) bool { return empty[k] > d.by }); k < len(empty) {
			d.deadline = min(d.deadline, empty[k])
		}
	}
	sortDemands(demands)
	return q.unmet(demands) == len(demands)
}

// covered returns when the queue was surely not empty, as disjoint intervals in order.
func (q *queueCase) covered() []interval.Presence {
	there := make([]interval.Presence, 0, len(q.byBy))
	for _, m := range q.byBy {
		if stayed := q.visits[m.What].stayed; m.At < stayed {
			there = append(there, interval.Presence{From: m.At, Until: stayed})
		}
	}
	return interval.Union(there)
}

// instants tells which instants will do, from the last to the first.
type instants struct {
	q          *queueCase
	covered    []interval.Presence // those still to come
	candidates []int64             // in ascending order
	leaving    []demand            // those with by < p, in order of by
	joining    []demand            // those with a removal that names them, called by p, in order of its call
	slack      slack
}

func (q *queueCase) newInstants(demands []demand, covered []interval.Presence) *instants {
	in := &instants{q: q, covered: covered, slack: slack{q.lost,
		interval.NewLeast(len(q.lost)+1, func(j int) int64 { return int64(j) })}}
	for i := range demands {
		in.admit(&demands[i])
	}
	interval.SortBy(in.leaving, func(a demand) int64 { return a.by })
	interval.SortBy(in.joining, func(a demand) int64 { return a.named })
	for _, i := range q.empties {
		in.candidates = append(in.candidates, q.steps[i].End)
	}
	for _, s := range covered {
		in.candidates = append(in.candidates, s.From)
	}
	slices.Sort(in.candidates)
	in.candidates = slices.Compact(in.candidates)
	return in
}

// admit enters a demand as it is after all instants.
func (in *instants) admit(d *demand) {
	switch {
	case d.hungry():
		in.slack.always(-1)
	case d.by < d.named:
		in.joining = append(in.joining, *d)
	default:
		return
	}
	in.leaving = append(in.leaving, *d)
	in.candidates = append(in.candidates, d.by)
}

// good returns the candidates that will do, in ascending order.
func (in *instants) good() []int64 {
	var good []int64
	for _, p := range slices.Backward(in.candidates) {
		in.moveTo(p)
		if !in.rulesOut(p) && in.slack.from(p) >= 0 {
			good = append(good, p)
		}
	}
	slices.Reverse(good)
	return good
}

// moveTo lets values whose removal by name was called after p need another; and those that were not surely there
// before p need none until their deadlines.
func (in *instants) moveTo(p int64) {
	for last := len(in.joining) - 1; last >= 0 && in.joining[last].named > p; last-- {
		in.slack.always(-1)
		in.joining = in.joining[:last]
	}
	for last := len(in.leaving) - 1; last >= 0 && in.leaving[last].by >= p; last-- {
		d := &in.leaving[last]
		in.slack.always(1)
		if d.hungry() {
			in.slack.until(d.deadline, -1)
		}
		in.leaving = in.leaving[:last]
	}
}

// rulesOut reports whether a value was surely in the queue at p.
func (in *instants) rulesOut(p int64) bool {
	for last := len(in.covered) - 1; last >= 0 && in.covered[last].From >= p; last-- {
		in.covered = in.covered[:last]
	}
	return len(in.covered) > 0 && p < in.covered[len(in.covered)-1].Until
}

// slack is, for every number j of removals of unknown outcome, how many of the first j are left over if only they have
// been called: j less the demands of that time. Time j lasts from the call of removal j until that of the next, and what
// counts are the demands at its end.
type slack struct {
	lost []interval.Mark
	left *interval.Least
}

// always changes the slack of all times.
func (s slack) always(by int64) { s.left.Add(0, len(s.lost)+1, by) }

// until changes the slack of the times that end after t: it is a demand of deadline t.
func (s slack) until(t, by int64) {
	if t < interval.Forever {
		s.left.Add(interval.After(s.lost, t), len(s.lost)+1, by)
	}
}

// from returns the least slack of the times that end after p.
func (s slack) from(p int64) int64 { return s.left.Of(interval.After(s.lost, p), len(s.lost)+1) }

// neverEmpty is the finding that the queue was not empty during step i.
func (q *queueCase) neverEmpty(i int32, demands []demand) *Finding {
	e := q.evidence()
	e.add(i)
	if q.showCover(e, i) {
		return e.finding("false-empty")
	}
	for k := range demands {
		if d := &demands[k]; d.by < q.steps[i].End || d.deadline < interval.Forever {
			e.show(d.item, showBy)
			q.showChain(e, d)
		}
	}
	f := e.finding("false-empty")
	f.Steps = dropSpare(reduce(f.Steps))
	return f
}

// showCover adds the fewest values that cover the interval of step i, and reports whether they cover it whole.
func (q *queueCase) showCover(e *evidence, i int32) bool {
	at, after, end := q.steps[i].Call, false, q.steps[i].End // the instant to cover, or the one after it
	next, longest, whole := 0, int32(none), true
	for {
		for ; next < len(q.byBy) && (q.byBy[next].At < at || after && q.byBy[next].At == at); next++ {
			longest = q.longer(longest, q.byBy[next].What)
		}
		switch {
		case longest != none && q.visits[longest].stayed > at:
			e.show(longest, showBy|showStayed)
			if at, after = q.visits[longest].stayed, false; at > end {
				return whole
			}
		case next < len(q.byBy) && q.byBy[next].At < end:
			whole, at, after = false, q.byBy[next].At, true
		default:
			return false
		}
	}
}
