package sim

import (
	"slices"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/world"
)

// readiness notes, in a run made for that alone, which goroutines of the recipe went on together: those whose stacks
// differ from when the world last came to rest.
type readiness struct {
	world.Blind
	until int // the last step that matters
	last  map[string]string
	moved []moved
}

// moved is where the goroutines stood that went on in a step.
type moved struct {
	step   int
	places []string
}

func newReadiness(until int) *readiness { return &readiness{until: until} }

// Rests looks where every goroutine is blocked.
func (r *readiness) Rests(w *world.View) {
	step := w.Step()
	if step > r.until {
		return
	}
	now := bubble.Goroutines(bubble.StackBytesMax)
	m := moved{step: step}
	for id, stack := range now {
		before, known := r.last[id]
		switch {
		case !known && r.last != nil:
			m.places = append(m.places, bubble.Standing(stack))
		case known && before != stack:
			m.places = append(m.places, bubble.Standing(before))
		}
	}
	for id, before := range r.last {
		if _, there := now[id]; !there {
			m.places = append(m.places, bubble.Standing(before))
		}
	}
	r.last = now
	if len(m.places) > 0 {
		slices.Sort(m.places)
		r.moved = append(r.moved, m)
	}
}

// before returns where the goroutines stood that went on together last before a step was over; else where the last
// single one stood.
func (r *readiness) before(step int) []string {
	var alone []string
	for _, m := range slices.Backward(r.moved) {
		if m.step > step {
			continue
		}
		if len(m.places) > 1 {
			return m.places
		}
		if alone == nil {
			alone = m.places
		}
	}
	return alone
}
