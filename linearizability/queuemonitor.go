package linearizability

import (
	"cmp"
	"slices"
)

// The monitor of a queue decides in O(n log n) whether n steps are legal, where a search takes time that is
// exponential in the number of clients. It rests on the values being different from one another, so that for every
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
//   - values would have to go before each other (order, lost, stale-peek), see queueorder.go;
//   - the queue was reported empty in an interval in which it never was (false-empty), see queueempty.go.
//
// Removals of unknown outcome are dealt with in queuelost.go. That part is not in the papers; it is compared with
// porcupine, see TestAgree. A value that was seen at the head, and that only a removal of unknown outcome can have
// taken, is left to the monitor of priority queues: the later it left, the later others reached the head; the sooner
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
	steps   []step
	visits  []visit // by item
	lost    []mark  // the removals of unknown outcome and of any value: calls and steps, by call
	empties []int32 // steps that found the queue empty
	peeks   bool    // whether there are peeks of values
	// what admit makes of them
	byFrom, byBy []mark
}

// queueMonitor is the monitor of [Queue]. What it does not know that of priority queues may know: it tries more ways
// in which removals of unknown outcome can have taken values.
func queueMonitor(steps []step) ruling {
	r := judgeQueue(steps)
	if r.outcome == Undetermined {
		if again, _ := judgePriorities(steps); again.outcome == Ok {
			return again
		}
	}
	return r
}

func judgeQueue(steps []step) ruling {
	q := newQueueCase(steps)
	if f := q.load(); f != nil {
		return illegal(*f)
	}
	if q.peeks { // first without, to name a violation that needs none
		q.admit(false)
		if r := q.check(false); r.outcome != Ok {
			return r
		}
	}
	q.admit(true)
	r := q.check(true)
	if r.outcome != Violation && slices.ContainsFunc(q.visits, visit.open) {
		return undetermined("peeks saw values at the head that only removals of unknown outcome can have taken, " +
			"and it could not be found out when")
	}
	return r
}

// open tells whether the value was seen at the head, and only a removal of unknown outcome can have taken it.
func (v visit) open() bool { return !v.absent && v.waiting && v.reached < Forever }

// check judges by what has been admitted, without peeks and empty results or with all.
func (q *queueCase) check(all bool) ruling {
	peeks := all && q.peeks
	f := q.overtaken(peeks)
	if f == nil && peeks {
		f = cmp.Or(q.gone(), q.atHead())
	}
	if f != nil {
		return illegal(*f)
	}
	demands, f := q.demands(peeks)
	switch {
	case f != nil:
		return illegal(*f)
	case all && len(q.empties) > 0:
		return q.checkEmpties(demands)
	}
	return legal()
}

func newQueueCase(steps []step) *queueCase {
	q := &queueCase{steps: steps, visits: make([]visit, itemsOf(steps))}
	q.eachVisit(func(v *visit) {
		*v = visit{offer: none, removal: none, first: none, last: none, named: none}
	})
	return q
}

// eachVisit calls do for every visit, in parts of them at the same time if there are many.
func (q *queueCase) eachVisit(do func(v *visit)) {
	inParts(len(q.visits), partsOf(len(q.visits)), func(_, from, to int) {
		for item := from; item < to; item++ {
			do(&q.visits[item])
		}
	})
}

// load notes the steps of every value, and finds phantoms and duplicates.
func (q *queueCase) load() *finding {
	for i := range q.steps {
		if f := q.note(int32(i)); f != nil {
			return f
		}
	}
	sortMarks(q.lost)
	for item := range q.visits {
		if f := q.phantom(int32(item)); f != nil {
			return f
		}
	}
	return nil
}

func (q *queueCase) note(i int32) *finding {
	s := &q.steps[i]
	switch {
	case s.empty():
		q.empties = append(q.empties, i)
	case s.item == noItem:
		q.lost = append(q.lost, mark{s.call, i})
	case s.kind == stepOffer:
		q.visits[s.item].offer = i
	case s.unknown:
		earliest(q.steps, &q.visits[s.item].named, i)
	case s.kind == stepPeek:
		q.peeks = true
		q.visits[s.item].peek(q.steps, i)
	case q.visits[s.item].removal != none:
		return q.duplicate(s.item, i)
	default:
		q.visits[s.item].removal = i
	}
	return nil
}

// earliest puts step i into place if it was called before the one there.
func earliest(steps []step, place *int32, i int32) {
	if *place == none || steps[i].call < steps[*place].call {
		*place = i
	}
}

func (v *visit) peek(steps []step, i int32) {
	if v.first == none || steps[i].end < steps[v.first].end {
		v.first = i
	}
	if v.last == none || steps[i].call > steps[v.last].call {
		v.last = i
	}
}

// duplicate is the finding that step again removed an item a second time.
func (q *queueCase) duplicate(item, again int32) *finding {
	for i := int(again); i < len(q.steps) && q.visits[item].offer == none; i++ {
		if s := &q.steps[i]; s.kind == stepOffer && s.item == item {
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
func (q *queueCase) phantom(item int32) *finding {
	v := &q.visits[item]
	sight := v.removal
	if v.first != none && (sight == none || q.steps[v.first].end < q.steps[sight].end) {
		sight = v.first
	}
	if sight == none || v.offer != none && q.steps[sight].end >= q.steps[v.offer].call {
		return nil
	}
	e := q.evidence()
	e.show(item, 0)
	e.add(sight)
	return e.finding("phantom")
}

// admit works out when values came and went, with or without regard to peeks.
func (q *queueCase) admit(peeks bool) {
	q.eachVisit(func(v *visit) { q.visit(v, peeks) })
	q.sortVisits()
}

func (q *queueCase) visit(v *visit, peeks bool) {
	seen := v.removal != none || peeks && v.first != none
	v.absent = v.offer == none || !seen && q.steps[v.offer].unknown
	if v.absent {
		return
	}
	v.from, v.by = q.steps[v.offer].call, q.steps[v.offer].end
	v.reached, v.reachedBy = Forever, none
	v.stayed, v.stayedBy = v.from, none
	for _, sight := range [...]int32{v.removal, v.first, v.last} {
		if sight != none && (peeks || sight == v.removal) {
			v.sight(&q.steps[sight], sight)
		}
	}
	v.by = min(v.by, v.reached)
	v.waiting = v.removal == none && (len(q.lost) > 0 || v.named != none)
	if v.removal == none && !v.waiting {
		v.stayed, v.stayedBy = Forever, none
	}
}

// sight notes that the value was at the head at some instant of step s, which is step i.
func (v *visit) sight(s *step, i int32) {
	if s.end < v.reached {
		v.reached, v.reachedBy = s.end, i
	}
	if s.call > v.stayed {
		v.stayed, v.stayedBy = s.call, i
	}
}

func (q *queueCase) sortVisits() {
	q.byFrom, q.byBy = slices.Grow(q.byFrom[:0], len(q.visits)), slices.Grow(q.byBy[:0], len(q.visits))
	for i := range q.steps {
		s := &q.steps[i]
		if s.kind != stepOffer || q.visits[s.item].absent {
			continue
		}
		q.byFrom = append(q.byFrom, mark{q.visits[s.item].from, s.item})
		q.byBy = append(q.byBy, mark{q.visits[s.item].by, s.item})
	}
	sorts := [...][]mark{q.byFrom, q.byBy}
	inParts(len(sorts), min(len(sorts), partsOf(len(q.byFrom))), func(_, from, to int) {
		for _, marks := range sorts[from:to] {
			sortMarks(marks)
		}
	})
}
