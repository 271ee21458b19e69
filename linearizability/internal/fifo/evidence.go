package fifo

import (
	"slices"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
)

// evidence collects the steps of a certificate.
type evidence struct {
	q     *queueCase
	steps []int32
	items []int32
}

func (q *queueCase) evidence() *evidence { return &evidence{q: q} }

// shown is which bounds of a value's visit a certificate has to show.
type shown uint8

const (
	showBy shown = 1 << iota
	showReached
	showStayed
)

// show adds a value's offer and removal, without which it would be another case, and the peeks that are needed.
func (e *evidence) show(item int32, what shown) {
	v := &e.q.visits[item]
	e.items = append(e.items, item)
	e.add(v.offer, v.removal, v.named)
	if what&showReached > 0 || what&showBy > 0 && v.by < e.q.steps[v.offer].End {
		e.add(v.reachedBy)
	}
	if what&showStayed > 0 {
		e.add(v.stayedBy)
	}
}

func (e *evidence) add(steps ...int32) {
	for _, s := range steps {
		if s != none && !slices.Contains(e.steps, s) {
			e.steps = append(e.steps, s)
		}
	}
}

func (e *evidence) finding(property string) *Finding {
	return &Finding{Property: property, Steps: e.certificate()}
}

// reduceMax bounds the effort of reduce: how many steps are judged in all.
const reduceMax = 1 << 21

// reduce leaves out values of an illegal certificate as long as it is illegal.
func reduce(steps []Step) []Step {
	effort := 0
	return interval.Shrink(steps, len(steps)/4, itemParts, func() bool { return effort < reduceMax }, func(fewer []Step) bool {
		effort += len(fewer)
		f, _ := Judge(fewer)
		return f != nil
	})
}

// dropSpare leaves out the removals of unknown outcome that can make no difference.
func dropSpare(steps []Step) []Step {
	q := newQueueCase(steps)
	if q.load() != nil {
		return steps
	}
	e := q.evidence()
	for i := range steps {
		if steps[i].Item != none {
			e.items = append(e.items, steps[i].Item)
		}
		if s := &steps[i]; s.Item != none || !s.Unknown {
			e.add(int32(i))
		}
	}
	return e.certificate()
}

// certificate returns the steps, and of the removals of unknown outcome as many as can make a difference.
func (e *evidence) certificate() []Step {
	slices.Sort(e.items)
	k := 0
	for _, item := range slices.Compact(e.items) {
		if e.q.visits[item].removal == none {
			k++
		}
	}
	for _, m := range e.q.lost[:min(k, len(e.q.lost))] {
		e.add(m.What)
	}
	slices.Sort(e.steps)
	return dropLate(at(e.q.steps, e.steps))
}
