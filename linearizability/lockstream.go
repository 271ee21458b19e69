package linearizability

import "slices"

// What can be forgotten of a lock, an election or a semaphore. Let a cut be legal, and first be the first call of
// what is pending. All that is learned later concerns the time from first on: a grant cannot take effect before its
// call, and a hold that lasts at the cut was surely held until then.
//
// So a tenure that is over before first excludes nothing any more. It is still needed
//
//   - while its process may give back the same hold once more, or join it: until it is granted another;
//   - if its token is the greatest: all that come later need greater ones;
//   - if it may leave no room to one of no length that is not over, and may sit where it was.
//
// What is remembered is therefore the holds that last, what is pending, and the last hold of each process.

// pendingHold is an operation on holds before it has returned.
func pendingHold(op Operation) (Operation, bool) {
	op.Outcome = Unknown
	return op, true
}

func forgetHolds(c cut) (forget []bool, doubt string) {
	steps, held := pairHolds(1, c.history, numberItems(c.history, (*Operation).owner))
	needed := make([]bool, len(c.history)+1) // by item
	for _, own := range held {
		for _, last := range own {
			needed[last.item] = true
		}
	}
	for i := range steps {
		if s := &steps[i]; s.item >= 0 && c.pending[s.source] {
			needed[s.item] = true
		}
	}
	tenures(dropIdle(slices.Clone(steps))).need(needed, c.first)
	return forgotten(c, steps, needed), ""
}

// need marks the items of tenures that are not over, or have the greatest token.
func (t *tenancy) need(needed []bool, first int64) {
	low, greatest := first, int32(none)
	for i := range t.all {
		x := &t.all[i]
		if !x.held() && x.till >= first {
			low = min(low, x.free)
		}
		if s := &t.steps[x.grant]; !s.noToken && (greatest == none || s.token > t.token(greatest)) {
			greatest = int32(i)
		}
	}
	for i := range t.all {
		if x := &t.all[i]; int32(i) == greatest || max(x.till, x.free) >= low {
			needed[t.steps[x.grant].item] = true
		}
	}
}

// forgotten tells which operations belong to no item that is needed; those that prepare leaves out belong to none.
func forgotten(c cut, steps []step, needed []bool) []bool {
	forget := make([]bool, len(c.history))
	for i := range forget {
		forget[i] = true
	}
	for i := range steps {
		if s := &steps[i]; s.item < 0 || needed[s.item] {
			forget[s.source] = false
		}
	}
	return forget
}
