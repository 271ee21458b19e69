package monitor

import (
	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// What can be forgotten of a queue. Let a cut be legal; call a value done if it was surely removed, or if it was
// never seen, had to be gone by a deadline that is over, and was perhaps taken by a removal of unknown outcome. Let
// low be the least by of the values that are not done, or the first call of what is pending. Whatever is called after
// the cut, and every value that is not done, is sure to have been in the queue, or to have reached the head, at low
// or later only.
//
// So a value v that was done with before low goes before every value that is not done: none of those is in a circle
// with v alone (see queueorder.go), and in a circle of three the other two have one of their own. An empty result
// before low cannot be contradicted by a value that came later. Both can be forgotten. If v was taken by a removal of
// unknown outcome, one such removal is forgotten, too: those called before low can serve all demands that are left
// alike, so it does not matter which.

// forgetQueue tells which of n operations can be forgotten of a legal cut, given by steps, and why the verdict should be
// in doubt for it, if it should. The first call of what is pending is first.
func ForgetQueue(steps []step.Step, n int, first int64) (forget []bool, doubt string) {
	q := newQueueCase(steps)
	q.load()
	q.admit(true)
	k := &keeping{queueCase: q, first: first, over: make([]int64, len(q.visits)), hungry: make([]bool, len(q.visits)),
		low: first}
	k.finish()
	return k.forget(n)
}

// keeping is a case that is to be made smaller.
type keeping struct {
	*queueCase
	first  int64   // the first call of what is pending
	over   []int64 // by item: when it was done with, or interval.Forever
	hungry []bool  // by item: it was taken by a removal that names no value
	low    int64
}

// finish finds out which values are done, and low.
func (k *keeping) finish() {
	for i := range k.visits {
		k.over[i] = interval.Forever
		if v := &k.visits[i]; !v.absent && v.removal != step.None {
			k.over[i] = k.steps[v.removal].End
		}
	}
	for _, d := range k.deadlines(k.peeks) {
		if d.deadline < k.first { // a removal that is pending comes too late, and will be a violation
			k.over[d.item], k.hungry[d.item] = d.deadline, d.hungry()
		}
	}
	for i := range k.visits {
		if v := &k.visits[i]; !v.absent && k.over[i] == interval.Forever {
			k.low = min(k.low, v.by)
		}
	}
}

// forget tells which of n operations to forget.
func (k *keeping) forget(n int) (forget []bool, doubt string) {
	forget = make([]bool, n)
	spare, fed := 0, false
	for i := range k.steps {
		switch s := &k.steps[i]; {
		case s.Empty():
			forget[s.Source] = s.End < k.low
		case s.Item != step.NoItem && k.over[s.Item] < k.low:
			forget[s.Source] = true
			if s.Kind == step.Offer && k.hungry[s.Item] {
				spare++
			}
			fed = fed || k.visits[s.Item].waiting && !k.hungry[s.Item]
		}
	}
	for _, m := range k.lost[:spare] {
		forget[k.steps[m.What].Source] = true
	}
	if fed && len(k.lost) > 0 && len(k.empties) > 0 {
		doubt = "the queue was reported empty while removals of unknown outcome were about, some of which name a " +
			"value and some not; a stream does not remember which took which"
	}
	return forget, doubt
}
