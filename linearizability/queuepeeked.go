package linearizability

import (
	"cmp"
	"slices"
)

// A value that was seen at the head, that nobody surely removed, and that a removal of unknown
// outcome may have taken, is one of which it is not known when it left, and it matters: the later it
// left, the later others reached the head; the sooner it left, the fewer removals can have taken it.
// No efficient rule is known.
//
// What is necessary all the same is checked as if such values had gone at any time after they were
// last seen; what breaks that is illegal. Then instants at which they left are supposed, at most one
// value staying for ever. If the rules hold then, the steps are legal, because the supposition
// explains them; if they do not hold for any supposition tried, the monitor does not know.

// open tells whether there are such values.
func (q *queueCase) open() bool {
	return slices.ContainsFunc(q.visits, func(v visit) bool { return v.open() })
}

func (v *visit) open() bool { return !v.absent && v.waiting && v.reached < Forever }

// settle tries suppositions.
func (q *queueCase) settle() ruling {
	for _, suppose := range []func([]departure){latest, q.earliest} {
		departures := q.departures()
		suppose(departures)
		if trial := q.suppose(departures); trial != nil && trial.check(true).outcome == Ok {
			return legal()
		}
	}
	return undetermined("peeks saw values at the head that only removals of unknown outcome can have taken, and it could not be found out when")
}

// departure is when a value left the queue.
type departure struct {
	item       int32
	sooner, at int64 // it did not leave sooner; it left then, or Forever if never
}

// departures returns the values that are open in order of when they reached the head, to leave at the
// latest instant that the other values and empty results allow.
func (q *queueCase) departures() []departure {
	var d []departure
	bound := q.bounds()
	for i := range q.visits {
		if v := &q.visits[i]; v.open() {
			d = append(d, departure{int32(i), v.stayed, bound(v)})
		}
	}
	slices.SortStableFunc(d, func(a, b departure) int {
		return cmp.Or(cmp.Compare(q.visits[a.item].reached, q.visits[b.item].reached), cmp.Compare(q.visits[a.item].stayed, q.visits[b.item].stayed))
	})
	for i := range len(d) - 1 {
		d[i].at = min(d[i].at, q.visits[d[i+1].item].reached)
	}
	return d
}

// bounds returns the function that says when an open value has to be gone for the values that
// come after it, and for the empty results.
func (q *queueCase) bounds() func(v *visit) int64 {
	reach := q.reach(true) // such values were peeked at
	behind := suffixLeast(q.byFrom, func(item int32) int64 { return reach(item).at })
	var settled []mark
	for _, m := range q.byStayed() {
		if !q.visits[m.what].open() {
			settled = append(settled, m)
		}
	}
	next := suffixLeast(settled, func(item int32) int64 { return min(reach(item).at, behind(q.visits[item].by)) })
	var empties []mark
	for _, i := range q.empties {
		empties = append(empties, mark{q.steps[i].call, i})
	}
	sortMarks(empties)
	empty := suffixLeast(empties, func(i int32) int64 { return q.steps[i].end })
	return func(v *visit) int64 { return min(behind(v.by), next(v.reached), empty(v.by)) }
}

// suffixLeast returns the function that returns the least value of what is marked later than t, or
// Forever.
func suffixLeast(marks []mark, value func(what int32) int64) func(t int64) int64 {
	least := make([]int64, len(marks)+1)
	least[len(marks)] = Forever
	for i := len(marks) - 1; i >= 0; i-- {
		least[i] = min(least[i+1], value(marks[i].what))
	}
	return func(t int64) int64 { return least[firstAfterMark(marks, t)] }
}

// latest supposes that values left as late as possible.
func latest([]departure) {}

// earliest supposes that they left when they had been seen for the last time and a removal had been
// called for them, each a removal of its own.
func (q *queueCase) earliest(departures []departure) {
	next := 0
	for i := range departures {
		d := &departures[i]
		taken := q.calledBy(q.visits[d.item].named)
		if next < len(q.lost) && taken > d.at {
			taken = q.lost[next].at
			next++
		}
		if d.at < Forever {
			d.at = min(d.at, max(d.sooner, taken))
		}
	}
}

// suppose returns the case in which the values left when supposed, or nil if they cannot have.
func (q *queueCase) suppose(departures []departure) *queueCase {
	trial := *q
	trial.trial, trial.visits = true, slices.Clone(q.visits)
	trial.byFrom, trial.byBy, trial.fixed = nil, nil, nil
	for _, d := range departures {
		v := &trial.visits[d.item]
		if d.at < d.sooner {
			return nil
		}
		v.waiting, v.stayed, v.reached = false, d.at, min(v.reached, d.at)
		if d.at < Forever {
			trial.fixed = append(trial.fixed, demand{item: d.item, by: Forever, deadline: d.at, named: q.calledBy(v.named), chain: noChain})
		}
	}
	trial.sortVisits()
	return &trial
}
