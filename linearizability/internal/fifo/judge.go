// Package fifo judges the steps of a queue in O(n log n), where a search takes time that is exponential in the number of
// clients. It is exact where it answers, and what it does not decide is left to the search.
package fifo

import (
	"cmp"
	"slices"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
)

// The judge rests on the values being different from one another, so that for every
// value v it is known
//
//	from     that v was not in the queue before: the call of its offer
//	by       that v was in the queue by then: the return of its offer
//	reached  that v had reached the head by then: the first return of its peeks and its removal
//	stayed   that v had not left until then: the last call of its peeks and its removal; for ever
//	         if nothing can have removed it
//
// As v cannot reach the head without being in the queue, nor leave before it is there, by is at most reached, and
// stayed at least from. Offers of unknown outcome that somebody saw get their end so.
//
// Theorem (Henzinger, Sezgin and Vafeiadis, "Aspect-Oriented Linearizability Proofs", 2013; with peeks: Lee and
// Mathur, "Efficient Decrease-and-Conquer Linearizability Monitoring", 2025). If no outcome is unknown, the steps are
// legal unless
//
//   - a value was seen that was not offered, or before: reached < from (phantom);
//   - a value was removed twice (duplicate);
//   - values would have to go before each other (order, lost, stale-peek), see order.go;
//   - the queue was reported empty in an interval in which it never was (false-empty), see empty.go.
//
// Removals of unknown outcome are dealt with in lost.go. That part is not in the papers; it is compared with
// all orders, see TestTheJudgeAgrees. A value that was seen at the head, and that only a removal of unknown outcome can have
// taken, is not decided: the later it left, the later others reached the head; the sooner
// it left, the fewer removals can have taken it. No efficient rule is known. What is illegal even if such values left
// at any time after they were last seen is illegal.
//
// A violation is named by the fewest kinds of steps that show it: offers and removals, else with peeks, else with
// empty results. Its certificate is the steps of the values at fault. Of k values that nobody surely removed,
// removals of unknown outcome can take at most k, and those that were called first can do all that others can: so the
// first k of them go into the certificate, and make it as illegal as if all did.

// visit is what is known of a value's way through the queue; see above.
type visit struct {
	from, by, reached, stayed int64
	reachedBy, stayedBy       int32 // the steps that show reached and stayed, or none
	offer, removal            int32 // steps, or none
	first, last               int32 // the peek that returned first, and the one called last, or none
	// the removal of unknown outcome, of just this value, that was called first, or none
	named   int32
	absent  bool // not considered: it was never offered, or nobody knows whether, nor saw it
	waiting bool // not surely removed, but removals of unknown outcome may have
}

// queueCase is the steps of a queue under investigation.
type queueCase struct {
	steps   []Step
	visits  []visit         // by item
	lost    []interval.Mark // the removals of unknown outcome and of any value: calls and steps, by call
	empties []int32         // steps that found the queue empty
	peeks   bool            // whether there are peeks of values
	// what admit makes of them
	byFrom, byBy []interval.Mark
}

// Judge returns what is wrong with steps of a queue, nil if nothing is, and whether that could be found out.
func Judge(steps []Step) (f *Finding, decided bool) {
	q := newQueueCase(steps)
	if f := q.load(); f != nil {
		return f, true
	}
	if q.peeks { // first without, to name a violation that needs none
		q.admit(false)
		if f, _ := q.check(false); f != nil {
			return f, true
		}
	}
	q.admit(true)
	f, decided = q.check(true)
	if f == nil && slices.ContainsFunc(q.visits, visit.open) { // nobody knows when they left
		return nil, false
	}
	return f, decided
}

// open reports whether the value was seen at the head, and only a removal of unknown outcome can have taken it.
func (v visit) open() bool { return !v.absent && v.waiting && v.reached < interval.Forever }

// check judges by what has been admitted, without peeks and empty results or with all.
func (q *queueCase) check(all bool) (f *Finding, decided bool) {
	peeks := all && q.peeks
	if f = q.overtaken(peeks); f == nil && peeks {
		f = cmp.Or(q.gone(), q.atHead())
	}
	if f != nil {
		return f, true
	}
	demands, f := q.demands(peeks)
	if f == nil && all && len(q.empties) > 0 {
		return q.checkEmpties(demands)
	}
	return f, true
}

func newQueueCase(steps []Step) *queueCase {
	n := int32(0)
	for i := range steps {
		n = max(n, steps[i].Item+1)
	}
	q := &queueCase{steps: steps, visits: make([]visit, n)}
	for i := range q.visits {
		q.visits[i] = visit{offer: none, removal: none, first: none, last: none, named: none}
	}
	return q
}

// load notes the steps of every value, and finds phantoms and duplicates.
func (q *queueCase) load() *Finding {
	for i := range q.steps {
		if f := q.note(int32(i)); f != nil {
			return f
		}
	}
	interval.Sort(q.lost)
	for item := range q.visits {
		if f := q.phantom(int32(item)); f != nil {
			return f
		}
	}
	return nil
}

func (q *queueCase) note(i int32) *Finding {
	s := &q.steps[i]
	switch {
	case s.Empty():
		q.empties = append(q.empties, i)
	case s.Item == none:
		q.lost = append(q.lost, interval.Mark{At: s.Call, What: i})
	case s.Kind == Offer:
		q.visits[s.Item].offer = i
	case s.Unknown:
		earliest(q.steps, &q.visits[s.Item].named, i)
	case s.Kind == Peek:
		q.peeks = true
		q.visits[s.Item].peek(q.steps, i)
	case q.visits[s.Item].removal != none:
		return q.duplicate(s.Item, i)
	default:
		q.visits[s.Item].removal = i
	}
	return nil
}

// earliest puts step i into place if it was called before the one there.
func earliest(steps []Step, place *int32, i int32) {
	if *place == none || steps[i].Call < steps[*place].Call {
		*place = i
	}
}

func (v *visit) peek(steps []Step, i int32) {
	if v.first == none || steps[i].End < steps[v.first].End {
		v.first = i
	}
	if v.last == none || steps[i].Call > steps[v.last].Call {
		v.last = i
	}
}

// duplicate is the finding that step again removed an item a second time.
func (q *queueCase) duplicate(item, again int32) *Finding {
	for i := int(again); i < len(q.steps) && q.visits[item].offer == none; i++ {
		if s := &q.steps[i]; s.Kind == Offer && s.Item == item {
			q.visits[item].offer = int32(i)
		}
	}
	if q.visits[item].offer == none {
		return q.phantom(item)
	}
	e := q.evidence()
	e.show(item, 0)
	e.add(again)
	return e.finding("duplicate")
}

// phantom finds that an item was seen before it was offered, or without.
func (q *queueCase) phantom(item int32) *Finding {
	v := &q.visits[item]
	sight := v.removal
	if v.first != none && (sight == none || q.steps[v.first].End < q.steps[sight].End) {
		sight = v.first
	}
	if sight == none || v.offer != none && q.steps[sight].End >= q.steps[v.offer].Call {
		return nil
	}
	e := q.evidence()
	e.show(item, 0)
	e.add(sight)
	return e.finding("phantom")
}

// admit works out when values came and went, with or without regard to peeks.
func (q *queueCase) admit(peeks bool) {
	for i := range q.visits {
		q.visit(&q.visits[i], peeks)
	}
	q.sortVisits()
}

func (q *queueCase) visit(v *visit, peeks bool) {
	seen := v.removal != none || peeks && v.first != none
	v.absent = v.offer == none || !seen && q.steps[v.offer].Unknown
	if v.absent {
		return
	}
	v.from, v.by = q.steps[v.offer].Call, q.steps[v.offer].End
	v.reached, v.reachedBy = interval.Forever, none
	v.stayed, v.stayedBy = v.from, none
	for _, sight := range [...]int32{v.removal, v.first, v.last} {
		if sight != none && (peeks || sight == v.removal) {
			v.sight(&q.steps[sight], sight)
		}
	}
	v.by = min(v.by, v.reached)
	v.waiting = v.removal == none && (len(q.lost) > 0 || v.named != none)
	if v.removal == none && !v.waiting {
		v.stayed, v.stayedBy = interval.Forever, none
	}
}

// sight notes that the value was at the head at some instant of step s, which is step i.
func (v *visit) sight(s *Step, i int32) {
	if s.End < v.reached {
		v.reached, v.reachedBy = s.End, i
	}
	if s.Call > v.stayed {
		v.stayed, v.stayedBy = s.Call, i
	}
}

func (q *queueCase) sortVisits() {
	q.byFrom, q.byBy = slices.Grow(q.byFrom[:0], len(q.visits)), slices.Grow(q.byBy[:0], len(q.visits))
	for i := range q.steps {
		s := &q.steps[i]
		if s.Kind != Offer || q.visits[s.Item].absent {
			continue
		}
		q.byFrom = append(q.byFrom, interval.Mark{At: q.visits[s.Item].from, What: s.Item})
		q.byBy = append(q.byBy, interval.Mark{At: q.visits[s.Item].by, What: s.Item})
	}
	interval.Sort(q.byFrom)
	interval.Sort(q.byBy)
}
