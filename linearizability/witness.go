package linearizability

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// witness looks for an order of the steps that keeps to their intervals and to the model. It tries
// what ended first, first, which is nearly always right once the model has narrowed the intervals,
// and gives up soon, or at the deadline: true is a proof that the history is legal, as an order that keeps to narrower
// intervals keeps to the wider ones; false says nothing.
//
// It is there for speed. Porcupine starts a goroutine and builds its tables for every history; a
// simulation judges thousands of tiny ones a second. And on long ones porcupine needs a copy of its
// set of operations for every step.
func witness(m *Model, steps []step, deadline time.Time) bool {
	narrow := slices.Clone(steps)
	m.hint(narrow)
	w := newSearch(&m.spec, narrow, deadline)
	return w.extend(m.spec.Init(), 0)
}

// depthMax bounds the search's recursion, and so its stack.
const depthMax = 1 << 20

// search is a depth-first search for a witness.
type search struct {
	spec   *porcupine.Model
	steps  []step  // by end
	next   []int32 // the steps not yet carried out, as a list; next[0] is the first, 0 ends it
	budget int     // how many more steps may be tried

	deadline time.Time
}

func newSearch(spec *porcupine.Model, steps []step, deadline time.Time) *search {
	slices.SortStableFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.rank, b.rank), cmp.Compare(a.call, b.call))
	})
	next := make([]int32, len(steps)+1)
	for i := range steps {
		next[i] = int32(i + 1)
	}
	next[len(steps)] = 0
	return &search{spec: spec, steps: steps, next: next, budget: 16*len(steps) + 64, deadline: deadline}
}

// extend carries out what is left, from the given state on.
//
// Invariant: a step goes next only if no other that is left ended before it was called. The first
// of the list ends first, so it is enough to compare with that.
func (w *search) extend(state any, depth int) bool {
	first := w.next[0]
	if first == 0 {
		return true
	}
	if depth >= depthMax {
		return false
	}
	latest := w.steps[first-1].end
	for before := int32(0); w.next[before] != 0; before = w.next[before] {
		if w.budget--; w.exhausted() {
			return false
		}
		s := &w.steps[w.next[before]-1]
		if s.call > latest {
			continue
		}
		if legal, after := w.spec.Step(state, s, nil); legal && w.without(before, after, depth) {
			return true
		}
	}
	return false
}

// exhausted tells whether a limit is reached. Once it is, it stays so.
func (w *search) exhausted() bool {
	if w.budget%clockPeriod == 0 && time.Now().After(w.deadline) {
		w.budget = -1
	}
	return w.budget < 0
}

// without carries out what is left but for the step that comes after place before in the list.
func (w *search) without(before int32, state any, depth int) bool {
	taken := w.next[before]
	w.next[before] = w.next[taken]
	found := w.extend(state, depth+1)
	w.next[before] = taken
	return found
}
