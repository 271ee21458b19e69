package shrink

import (
	"math/bits"
	"slices"

	"github.com/zktorture/zktorture/sim/world"
)

// guided is a source that lets the events of another run happen again, in their order as far as that is possible.
// What else there is to choose it takes from a list, aligned by label.
type guided struct {
	*aligned
	world.Blind
	left    []world.Event
	world   *world.World
	striker world.Event // the fault that strikes now
}

func newGuided(p candidate) *guided {
	return &guided{aligned: newAligned(p.made), left: slices.Clone(p.events)}
}

// scribe is an observer that keeps what happens in the torture phase.
type scribe struct {
	world.Blind
	events   []world.Event // as many as there were, eventful, …
	eventful int           // … when something else than 0 was chosen for the last time: the rest happens of itself
	used     int           // of the choices, at that time
}

func (s *scribe) Happens(w *world.World, e world.Event) {
	if w.Liveness() {
		return
	}
	s.events = append(s.events, e)
	if used, _ := w.Spent(); used > s.used {
		s.used, s.eventful = used, len(s.events)
	}
}

// Happens drops the first event that is left and like this one.
func (g *guided) Happens(w *world.World, e world.Event) {
	if w.Liveness() {
		return
	}
	like := func(l world.Event) bool { return l.Action == e.Action && l.Fault == e.Fault }
	if i := slices.IndexFunc(g.left, like); i >= 0 {
		g.left = slices.Delete(g.left, i, i+1)
	}
}

func (g *guided) Chooses(w *world.World, _ string) { g.world = w }

func (g *guided) Choose(n int, label string) int {
	switch label {
	case world.LabelNext:
		if i := g.next(); i < len(g.left) {
			return slices.Index(g.world.Actions(), g.left[i].Action)
		}
		return 0
	case world.LabelFault:
		return g.strike()
	case world.LabelTarget:
		return max(0, slices.IndexFunc(g.world.Targets(), g.striker.Strikes))
	case world.LabelVariant:
		return min(g.striker.Variant, n-1)
	}
	return g.aligned.Choose(n, label)
}

// next returns which of the events that are left is the first that can happen.
func (g *guided) next() int {
	for i, e := range g.left {
		switch {
		case e.Fault > 0:
		case slices.Contains(g.world.Actions(), e.Action), e.Action == world.Idling && len(g.world.Actions()) == 0:
			return i
		}
	}
	return len(g.left)
}

// strike lets the first fault strike that can, and that comes before what happens next.
func (g *guided) strike() int {
	w := g.world
	w.Collect()
	for _, e := range g.left[:g.next()] {
		if e.Fault > 0 && w.Faults().Has(1<<(e.Fault-1)) && w.CanStrike(1<<(e.Fault-1), e.Strikes) {
			g.striker = e
			return 1 + bits.OnesCount64(uint64(w.Faults()&^world.Wrap&(1<<(e.Fault-1)-1)))
		}
	}
	return 0
}
