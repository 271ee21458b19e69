package monitor

import (
	"cmp"
	"slices"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/parallel"
	"github.com/zktorture/zktorture/linearizability/internal/step"
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
	steps   []step.Step
	visits  []visit         // by item
	lost    []interval.Mark // the removals of unknown outcome and of any value: calls and steps, by call
	empties []int32         // steps that found the queue empty
	peeks   bool            // whether there are peeks of values
	// what admit makes of them
	byFrom, byBy []interval.Mark
}

// Queue judges the steps of a queue. What its theorem does not decide that of priority queues may: it tries more ways
// in which removals of unknown outcome can have taken values.
func Queue(steps []step.Step) step.Ruling {
	r := judgeQueue(steps)
	if r.Outcome == step.Undetermined {
		if again, _ := judgePriorities(steps); again.Outcome == step.Ok {
			return again
		}
	}
	return r
}

func judgeQueue(steps []step.Step) step.Ruling {
	q := newQueueCase(steps)
	if f := q.load(); f != nil {
		return step.Illegal(*f)
	}
	if q.peeks { // first without, to name a violation that needs none
		q.admit(false)
		if r := q.check(false); r.Outcome != step.Ok {
			return r
		}
	}
	q.admit(true)
	r := q.check(true)
	if r.Outcome != step.Violation && slices.ContainsFunc(q.visits, visit.open) {
		return step.Undecided("peeks saw values at the head that only removals of unknown outcome can have taken, " +
			"and it could not be found out when")
	}
	return r
}

// open reports whether the value was seen at the head, and only a removal of unknown outcome can have taken it.
func (v visit) open() bool { return !v.absent && v.waiting && v.reached < interval.Forever }

// check judges by what has been admitted, without peeks and empty results or with all.
func (q *queueCase) check(all bool) step.Ruling {
	peeks := all && q.peeks
	f := q.overtaken(peeks)
	if f == nil && peeks {
		f = cmp.Or(q.gone(), q.atHead())
	}
	if f != nil {
		return step.Illegal(*f)
	}
	demands, f := q.demands(peeks)
	switch {
	case f != nil:
		return step.Illegal(*f)
	case all && len(q.empties) > 0:
		return q.checkEmpties(demands)
	}
	return step.Legal()
}

func newQueueCase(steps []step.Step) *queueCase {
	q := &queueCase{steps: steps, visits: make([]visit, step.Items(steps))}
	q.eachVisit(func(v *visit) {
		*v = visit{offer: step.None, removal: step.None, first: step.None, last: step.None, named: step.None}
	})
	return q
}

// eachVisit calls do for every visit, in parts of them at the same time if there are many.
func (q *queueCase) eachVisit(do func(v *visit)) {
	parallel.Do(len(q.visits), parallel.Parts(len(q.visits)), func(_, from, to int) {
		for item := from; item < to; item++ {
			do(&q.visits[item])
		}
	})
}

// load notes the steps of every value, and finds phantoms and duplicates.
func (q *queueCase) load() *step.Finding {
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

func (q *queueCase) note(i int32) *step.Finding {
	s := &q.steps[i]
	switch {
	case s.Empty():
		q.empties = append(q.empties, i)
	case s.Item == step.NoItem:
		q.lost = append(q.lost, interval.Mark{At: s.Call, What: i})
	case s.Kind == step.Offer:
		q.visits[s.Item].offer = i
	case s.Unknown:
		earliest(q.steps, &q.visits[s.Item].named, i)
	case s.Kind == step.Peek:
		q.peeks = true
		q.visits[s.Item].peek(q.steps, i)
	case q.visits[s.Item].removal != step.None:
		return q.duplicate(s.Item, i)
	default:
		q.visits[s.Item].removal = i
	}
	return nil
}

// earliest puts step i into place if it was called before the one there.
func earliest(steps []step.Step, place *int32, i int32) {
	if *place == step.None || steps[i].Call < steps[*place].Call {
		*place = i
	}
}

func (v *visit) peek(steps []step.Step, i int32) {
	if v.first == step.None || steps[i].End < steps[v.first].End {
		v.first = i
	}
	if v.last == step.None || steps[i].Call > steps[v.last].Call {
		v.last = i
	}
}

// duplicate is the finding that step again removed an item a second time.
func (q *queueCase) duplicate(item, again int32) *step.Finding {
	for i := int(again); i < len(q.steps) && q.visits[item].offer == step.None; i++ {
		if s := &q.steps[i]; s.Kind == step.Offer && s.Item == item {
			q.visits[item].offer = int32(i)
		}
	}
	if q.visits[item].offer == step.None {
		return q.phantom(item)
	}
	e := q.evidence()
	e.show(item, 0)
	e.add(again)
	return e.finding("duplicate")
}

// phantom finds that an item was seen before it was offered, or without.
func (q *queueCase) phantom(item int32) *step.Finding {
	v := &q.visits[item]
	sight := v.removal
	if v.first != step.None && (sight == step.None || q.steps[v.first].End < q.steps[sight].End) {
		sight = v.first
	}
	if sight == step.None || v.offer != step.None && q.steps[sight].End >= q.steps[v.offer].Call {
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
	seen := v.removal != step.None || peeks && v.first != step.None
	v.absent = v.offer == step.None || !seen && q.steps[v.offer].Unknown
	if v.absent {
		return
	}
	v.from, v.by = q.steps[v.offer].Call, q.steps[v.offer].End
	v.reached, v.reachedBy = interval.Forever, step.None
	v.stayed, v.stayedBy = v.from, step.None
	for _, sight := range [...]int32{v.removal, v.first, v.last} {
		if sight != step.None && (peeks || sight == v.removal) {
			v.sight(&q.steps[sight], sight)
		}
	}
	v.by = min(v.by, v.reached)
	v.waiting = v.removal == step.None && (len(q.lost) > 0 || v.named != step.None)
	if v.removal == step.None && !v.waiting {
		v.stayed, v.stayedBy = interval.Forever, step.None
	}
}

// sight notes that the value was at the head at some instant of step s, which is step i.
func (v *visit) sight(s *step.Step, i int32) {
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
		if s.Kind != step.Offer || q.visits[s.Item].absent {
			continue
		}
		q.byFrom = append(q.byFrom, interval.Mark{At: q.visits[s.Item].from, What: s.Item})
		q.byBy = append(q.byBy, interval.Mark{At: q.visits[s.Item].by, What: s.Item})
	}
	sorts := [...][]interval.Mark{q.byFrom, q.byBy}
	parallel.Do(len(sorts), min(len(sorts), parallel.Parts(len(q.byFrom))), func(_, from, to int) {
		for _, marks := range sorts[from:to] {
			interval.Sort(marks)
		}
	})
}
