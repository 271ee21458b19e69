package sim

import (
	"strings"

	"github.com/zktorture/zktorture/fakezk"
)

// order is partial-order sampling (Yuan, Yang, Gu: Partial Order Aware Concurrency Sampling, CAV 2018): each pending
// event has a random priority, the highest is carried out, and those that race with it draw theirs anew. So each order of
// two events that race is about as likely, however many others there are.
type order struct{ pending, before []event }

// event is something that can happen next. It stays the same event until it has happened, or cannot happen any more.
type event struct {
	action
	priority uint64
}

func (o *order) reset() { o.pending = o.pending[:0] }

// pick returns which of the world's actions has the highest priority.
func (o *order) pick(w *World, random func() uint64) (best int) {
	o.before, o.pending = o.pending, o.before[:0]
	for i, a := range w.actions {
		e := event{a, 0}
		for _, old := range o.before {
			if old.action == a {
				e.priority = old.priority
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
		if i == best || w.race(w.actions[best], w.actions[i]) {
			o.pending[i].priority = 0
		}
	}
	return best
}

// race tells whether it can matter which of two actions comes first.
func (w *World) race(a, b action) bool {
	if b.kind == actApply {
		a, b = b, a
	}
	switch {
	case a.kind == actRegain || a.kind == actNotice || b.kind == actRegain || b.kind == actNotice:
		return true
	case a.kind == actApply && b.kind == actApply:
		return a.client == b.client
	case a.kind == actApply:
		return b.kind == actReconnect || b.kind == actArrive && w.servedBy(b) == a.client
	case a.client == b.client:
		return true
	case a.kind == actOutside && b.kind == actOutside:
		return true
	}
	return a.kind == actArrive && b.kind == actArrive && conflict(w.requestOf(a), w.requestOf(b))
}

// servedBy is the server of the client whose request arrives.
func (w *World) servedBy(a action) int {
	server, _ := w.procs[a.client].clients[a.user].Connected()
	return server
}

// requestOf is the request that arrives.
func (w *World) requestOf(a action) *fakezk.Request {
	return &w.procs[a.client].clients[a.user].Sent().Request
}

// conflict tells whether two requests touch the same znode, or its children, and one of them changes something there.
func conflict(a, b *fakezk.Request) bool {
	switch {
	case reads(a.Op) && reads(b.Op):
		return false
	case a.Op == fakezk.OpMulti:
		return anyConflict(a.Ops, b)
	case b.Op == fakezk.OpMulti:
		return anyConflict(b.Ops, a)
	}
	pathA, listA := touched(a)
	pathB, listB := touched(b)
	return pathA == pathB || listA != "" && (listA == pathB || listA == listB) || listB != "" && listB == pathA
}

func anyConflict(all []fakezk.Request, other *fakezk.Request) bool {
	for i := range all {
		if conflict(&all[i], other) {
			return true
		}
	}
	return false
}

// touched returns the znode that a request is about, and the one whose list of children it changes, "" if it does not.
func touched(r *fakezk.Request) (path, list string) {
	if reads(r.Op) || r.Op == fakezk.OpSetData || r.Op == fakezk.OpSetACL || r.Op == fakezk.OpCheck {
		return r.Path, ""
	}
	return r.Path, r.Path[:max(strings.LastIndexByte(r.Path, '/'), 0)]
}
