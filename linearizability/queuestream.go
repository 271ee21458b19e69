package linearizability

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

// pendingQueue is a queue's operation before it has returned. A removal takes the value that it will return, or
// nothing.
func pendingQueue(op Operation) (Operation, bool) {
	reads := op.Op == "peek" || op.Op != "offer" && op.Result.IsNull()
	op.Outcome = Unknown
	return op, !reads
}

func forgetQueue(c cut) (forget []bool, doubt string) {
	q := newQueueCase(prepareQueue(c.history, numberItems(c.history, queueItem)))
	q.load()
	q.admit(true)
	k := &keeping{queueCase: q, cut: c, over: make([]int64, len(q.visits)), hungry: make([]bool, len(q.visits)),
		low: c.first}
	k.finish()
	return k.forget()
}

// keeping is a case that is to be made smaller.
type keeping struct {
	*queueCase
	cut    cut
	over   []int64 // by item: when it was done with, or Forever
	hungry []bool  // by item: it was taken by a removal that names no value
	low    int64
}

// finish finds out which values are done, and low.
func (k *keeping) finish() {
	for i := range k.visits {
		k.over[i] = Forever
		if v := &k.visits[i]; !v.absent && v.removal != none {
			k.over[i] = k.steps[v.removal].end
		}
	}
	for _, d := range k.deadlines(k.peeks) {
		if d.deadline < k.cut.first { // a removal that is pending comes too late, and will be a violation
			k.over[d.item], k.hungry[d.item] = d.deadline, d.hungry()
		}
	}
	for i := range k.visits {
		if v := &k.visits[i]; !v.absent && k.over[i] == Forever {
			k.low = min(k.low, v.by)
		}
	}
}

// forget tells which operations to forget.
func (k *keeping) forget() (forget []bool, doubt string) {
	forget = make([]bool, len(k.cut.history))
	for i, op := range k.cut.history {
		forget[i] = op.Op == "peek" && op.Outcome == Unknown
	}
	spare, fed := 0, false
	for i := range k.steps {
		switch s := &k.steps[i]; {
		case s.empty():
			forget[s.source] = s.end < k.low
		case s.item != noItem && k.over[s.item] < k.low:
			forget[s.source] = true
			if s.kind == stepOffer && k.hungry[s.item] {
				spare++
			}
			fed = fed || k.visits[s.item].waiting && !k.hungry[s.item]
		}
	}
	for _, m := range k.lost[:spare] {
		forget[k.steps[m.what].source] = true
	}
	if fed && len(k.lost) > 0 && len(k.empties) > 0 {
		doubt = "the queue was reported empty while removals of unknown outcome were about, some of which name a " +
			"value and some not; a stream does not remember which took which"
	}
	return forget, doubt
}
