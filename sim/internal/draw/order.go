package draw

import (
	"github.com/zktorture/zktorture/sim/world"
)

var _ = add("pos", "like random, but both orders of two events that race are about equally likely (partial-order sampling)",
	func([]world.Choices) episodeSource { return &observing{} })

// order is partial-order sampling (Yuan, Yang, Gu: Partial Order Aware Concurrency Sampling, CAV 2018): each pending
// event has a random priority, the highest is carried out, and those that race with it draw theirs anew. So each order of
// two events that race is about as likely, however many others there are.
type order struct{ pending, before []event }

// event is something that can happen next. It stays the same event until it has happened, or cannot happen any more.
type event struct {
	world.Action
	priority uint64
}

// pick returns which of the world's actions has the highest priority.
func (o *order) pick(actions []world.Action, race func(a, b world.Action) bool, random func() uint64) (best int) {
	o.before, o.pending = o.pending, o.before[:0]
	next := 0 // where to look first: mostly the actions come in the order of before
	for i, a := range actions {
		e := event{a, 0}
		for k := range o.before {
			if old := &o.before[(next+k)%len(o.before)]; old.Action == a {
				e.priority, next = old.priority, next+k+1
				break
			}
		}
		if e.priority == 0 {
			e.priority = random() | 1
		}
		o.pending = append(o.pending, e)
		if e.priority > o.pending[best].priority {
			best = i
		}
	}
	for i := range o.pending {
		if i == best || race(actions[best], actions[i]) {
			o.pending[i].priority = 0
		}
	}
	return best
}
