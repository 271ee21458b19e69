package linearizability

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
)

// search asks porcupine about parts of one history, within a time and a number of steps.
type search struct {
	object   porcupine.Model
	deadline time.Time
	left     int64 // how many steps may still be carried out
}

// What bounds an explanation should not depend on how busy the machine is, so it is nearly always the steps. All of them
// that are carried out are remembered, each in some 250 bytes.
const (
	stepsMax     = 1 << 22
	explainSteps = 1 << 18
	explainMax   = 2 * time.Second
)

func newSearch(m *Model, timeout time.Duration) *search {
	return &search{m.object, time.Now().Add(timeout), stepsMax}
}

// explain begins the time for explaining what is proved already: that it takes long is no reason to doubt the violation.
func (s *search) explain() {
	s.deadline, s.left = time.Now().Add(explainMax), explainSteps
}

// ask returns porcupine's answer; Unknown if time or steps do not suffice.
func (s *search) ask(steps []step) porcupine.CheckResult {
	left := time.Until(s.deadline)
	if left <= 0 || s.left <= 0 {
		return porcupine.Unknown
	}
	budget := s.left
	s.left = 0 // until it is known how many it took
	object, do := s.object, s.object.Step
	object.Step = func(state, input, output any) (bool, any) {
		legal, after := do(state, input, output)
		if legal {
			budget--
		}
		return legal && budget >= 0, after
	}
	result := porcupine.CheckOperationsTimeout(object, asked(steps), left)
	if result == porcupine.Unknown { // the search may still be running
		return result
	}
	if s.left = max(budget, 0); result == porcupine.Illegal && budget < 0 {
		return porcupine.Unknown
	}
	return result
}

// asked are steps as porcupine is asked about them. The client of each is the index of its operation.
func asked(steps []step) []porcupine.Operation {
	all := make([]porcupine.Operation, len(steps))
	for i := range steps {
		s := &steps[i]
		all[i] = porcupine.Operation{ClientId: s.source, Input: s, Call: s.Call, Return: s.end}
	}
	return all
}

// finding is a rule that is broken, and steps that break it by themselves.
type finding struct {
	property string
	steps    []step
}

// unexplained is what is said of an illegal history if time ran out before more was known.
func unexplained(steps []step) finding { return finding{"linearizability", steps} }

// asksMax bounds how many parts of a history are tried to shrink it.
const asksMax = 2000

// shrink returns a part of illegal steps that is illegal too, and from which nothing can be left out.
func (s *search) shrink(steps []step) []step {
	asks := 0
	more := func() bool { return asks < asksMax && s.left > 0 && time.Now().Before(s.deadline) }
	illegal := func(fewer []step) bool {
		asks++
		return s.ask(fewer) == porcupine.Illegal
	}
	steps = interval.Shrink(steps, len(steps)/2, itemParts, more, illegal)
	return dropLate(interval.Shrink(steps, len(steps)/2, looseParts, more, illegal))
}

// untilIllegal returns the steps of illegal ones that had been called at the first return after which no order explains what
// had happened so far. What was under way then may have taken effect or not (Herlihy and Wing).
func (s *search) untilIllegal(steps []step) []step {
	var returns []int64
	for i := range steps {
		if steps[i].end != Forever {
			returns = append(returns, steps[i].end)
		}
	}
	slices.Sort(returns)
	called := func(t int64) []step { return selected(steps, func(s *step) bool { return s.Call <= t }) }
	first := sort.Search(len(returns), func(i int) bool {
		cut := called(returns[i])
		for k := range cut {
			if cut[k].end > returns[i] {
				cut[k].end, cut[k].optional = Forever, true
			}
		}
		return s.ask(cut) != porcupine.Ok
	})
	if first == len(returns) {
		return steps
	}
	return called(returns[first])
}

// selected returns the steps for which keep is true.
func selected(steps []step, keep func(*step) bool) (kept []step) {
	for i := range steps {
		if keep(&steps[i]) {
			kept = append(kept, steps[i])
		}
	}
	return kept
}

// dropLate leaves out the optional steps that were called after all others had ended: what is illegal stays illegal
// without them.
func dropLate(steps []step) []step {
	last := int64(math.MinInt64)
	for i := range steps {
		if !steps[i].optional {
			last = max(last, steps[i].end)
		}
	}
	return selected(steps, func(s *step) bool { return !s.optional || s.Call <= last })
}

// itemParts returns, for every item, the indices of its steps.
func itemParts(steps []step) (parts [][]int) {
	place := map[int32]int{}
	for i := range steps {
		item := steps[i].item
		if item == none {
			continue
		}
		if _, found := place[item]; !found {
			place[item] = len(parts)
			parts = append(parts, nil)
		}
		parts[place[item]] = append(parts[place[item]], i)
	}
	return parts
}

// looseParts returns the steps that may be left out one by one.
func looseParts(steps []step) (parts [][]int) {
	for i := range steps {
		if steps[i].droppable {
			parts = append(parts, []int{i})
		}
	}
	return parts
}

// operations returns those of a history that steps are of.
func (f *finding) operations(h History) (operations History) {
	at := map[int]bool{}
	for i := range f.steps {
		at[f.steps[i].source] = true
	}
	for _, i := range byCall(h) {
		if at[i] {
			operations = append(operations, h[i])
		}
	}
	return operations
}
