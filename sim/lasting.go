package sim

import (
	"slices"

	"github.com/zktorture/zktorture/fakezk"
)

// lasting is what a user got by an operation, and by what it is told that it is over.
type lasting struct {
	op   *Op
	lost <-chan struct{}
}

// noteLost notes whose users were told in this step that what they got is over, and whether the recipe did something in
// that step: what it has sent may be taken later in it.
func (w *World) noteLost() {
	w.lasting = slices.DeleteFunc(w.lasting, func(l lasting) bool {
		op := l.op
		if op.Told == 0 {
			select {
			case <-l.lost:
				op.Told = StampOf(w.step)
				w.keepTold(op)
			default:
				return false
			}
		}
		if op.Told != StampOf(w.step) {
			return true
		}
		if op.user.sent == w.step && !op.SelfEnded {
			op.SelfEnded = true
			w.keepTold(op)
		}
		return false
	})
}

// noteAsked notes that a user, one of all if it is not known whose it is, has sent a request.
func (w *World) noteAsked(p *process, call *fakezk.Call) {
	for _, u := range p.users {
		if call.User >= 0 && call.User != u.Index {
			continue
		}
		u.sent = w.step
		for _, l := range w.lasting {
			if l.op.user == u && call.Tag == 0 && deletes(&call.Request) && !l.op.SelfEnded {
				l.op.SelfEnded = true
				w.keepTold(l.op)
			}
		}
	}
}

// deletes tells whether a request may delete a znode.
func deletes(r *fakezk.Request) bool {
	return r.Op == fakezk.OpDelete || slices.ContainsFunc(r.Ops, func(part fakezk.Request) bool { return deletes(&part) })
}
