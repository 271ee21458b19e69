package sim

import (
	"math/bits"
	"slices"

	"github.com/zktorture/zktorture/fakezk"
)

// deed is a step of the torture phase: who did what, or whom a fault struck. Unlike the number of an answer it
// means the same in a run in which others are on offer.
type deed struct {
	action            // of a fault only whom it strikes
	fault   int       // its place in the table of faults, plus 1; 0: it is an action
	variant int       // of the fault
	onWay   fakezk.Op // the request of whom it strikes that was on its way then, 0 if there was none

	anytime bool // the fault strikes when such a request is on its way again, whatever else has happened
}

// idling is what happens when nobody can do anything.
var idling = action{kind: actIdle, client: -1}

// guided is a source that lets the events of another run happen again, in their order as far as that is possible.
// What else there is to choose it takes from a list, aligned by label.
type guided struct {
	*aligned
	left    []deed
	world   *World
	striker deed // the fault that strikes now
}

func newGuided(p plot) *guided {
	return &guided{aligned: newAligned(p.made), left: slices.Clone(p.events)}
}

// happens notes an event, if anybody wants to know.
func (w *World) happens(e deed) {
	w.keepDeed(e)
	if w.liveness || !w.cfg.events {
		return
	}
	if e.fault > 0 {
		e.onWay = w.onWay(e)
	}
	w.events = append(w.events, e)
	if w.source.used > w.used {
		w.used, w.eventful = w.source.used, len(w.events)
	}
	if g, guides := w.cfg.source.(*guided); guides {
		g.happened(e)
	}
}

// onWay returns the request on its way from whom a fault strikes.
func (w *World) onWay(e deed) fakezk.Op {
	client := w.victim(1<<(e.fault-1), target{client: e.client})
	if client < 0 || e.user >= len(w.procs[client].clients) {
		return 0
	}
	if call := w.procs[client].clients[e.user].Sent(); call != nil {
		return call.Request.Op
	}
	return 0
}

// happened drops the first event that is left and like this one.
func (g *guided) happened(e deed) {
	like := func(l deed) bool { return l.action == e.action && l.fault == e.fault }
	if i := slices.IndexFunc(g.left, like); i >= 0 {
		g.left = slices.Delete(g.left, i, i+1)
	}
}

func (g *guided) look(w *World, _ string) { g.world = w }

func (g *guided) Choose(n int, label string) int {
	switch label {
	case LabelNext:
		if i := g.next(); i < len(g.left) {
			return slices.Index(g.world.actions, g.left[i].action)
		}
		return 0
	case LabelFault:
		return g.strike()
	case LabelTarget:
		return max(0, slices.IndexFunc(g.world.targets, g.striker.strikes))
	case LabelVariant:
		return min(g.striker.variant, n-1)
	}
	return g.aligned.Choose(n, label)
}

// next returns which of the events that are left is the first that can happen.
func (g *guided) next() int {
	for i, e := range g.left {
		switch {
		case e.fault > 0:
		case slices.Contains(g.world.actions, e.action), e.action == idling && len(g.world.actions) == 0:
			return i
		}
	}
	return len(g.left)
}

// strike lets the first fault strike that can, and that comes before what happens next.
func (g *guided) strike() int {
	w := g.world
	w.collect()
	next := g.next()
	for i, e := range g.left {
		if e.fault > 0 && g.due(e, i < next) {
			g.striker = e
			return 1 + bits.OnesCount64(uint64(w.faults&^Wrap&(1<<(e.fault-1)-1)))
		}
	}
	return 0
}

// due tells whether a fault can strike now, and should.
func (g *guided) due(e deed, turn bool) (can bool) {
	w := g.world
	if !w.faults.Has(1<<(e.fault-1)) || e.anytime && e.onWay != w.onWay(e) || !e.anytime && !turn {
		return false
	}
	faultTable[e.fault-1].find(w, func(t target) { can = can || e.strikes(t) })
	return can
}

// strikes tells whether a target is that of the fault.
func (e deed) strikes(t target) bool { return e.client == t.client && e.user == t.user }
