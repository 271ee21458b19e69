package linearizability

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
	"time"
)

// The search for a counter is the frontier search (see frontier.go) with what is known of numbers. Additions that
// were not told a sum commute, and nobody sees what happens between two of them. So those of unknown outcome can wait
// until somebody is next who was told a number, and are those that make up the difference; if there is none, they had
// better not have happened. Which they are is a subset sum, but with the few amounts that occur it has few solutions
// of which no part can be left out.
//
// And whoever only looks can look as soon as there is what he saw.
//
// Configurations in which less of unknown outcome has happened come first. If there are too many the rest is
// forgotten. What is found then is legal all the same; only that nothing is found says nothing any more, and the
// search goes back, and keeps more.

const (
	bridgesMax    = 24      // ways to make up a difference that are tried
	bridgeNodes   = 1 << 13 // and how many are looked at to find them
	countsMax     = 1 << 22 // configurations that a search goes on from, in all
	countWordsMax = 1 << 12 // words of a configuration, at most
)

// breadth is what a search looks at: how many configurations it keeps after a return, from how many it goes on at a
// return, in how many ways it makes up a difference, how much more of unknown outcome may have happened in what it
// keeps than in the best of that, and how much more than lately.
type breadth struct {
	kept, made, bridges int
	slack, waste        uint64
}

var breadths = [4]breadth{
	{4, 1 << 7, 4, 0, 2},
	{8, 1 << 9, 4, 1, 4},
	{32, 1 << 10, 8, 3, 8},
	{128, 1 << 12, bridgesMax, math.MaxUint64, math.MaxUint64},
}

type countSearch struct {
	*frontierSearch
	amounts  []int64           // by class: what is added; those that are told a sum are not in any bridge
	bridging []int             // the classes that are not told a sum, the greatest amounts first
	bridged  []int64           // their amounts
	known    map[string]ways   // by what is to be made up, and what is left
	from     map[int64][]int32 // open steps that are told a number, by the number before
	breadth  breadth
	saved    []checkpoint
	died     int                // the last event after which nothing was left
	attempt  int                // which of retreats to try from about there next, …
	reached  [len(breadths)]int // … and to which events they went back from there, by level
	made     int
	lossy    string // why something was forgotten, if it was
}

// searchCounts judges a counter, as far as it can before the deadline.
func searchCounts(steps []step, deadline time.Time) ruling {
	const most = 1 << 40 // so that sums do not overflow
	tooLarge := func(s step) bool { return max(s.sum, s.delta) > most || min(s.sum, s.delta) < -most }
	if slices.ContainsFunc(steps, tooLarge) {
		return undetermined("numbers are too large")
	}
	events := eventsOf(steps)
	s := newCountSearch(steps, deadline, events)
	if s.layout.words() > countWordsMax {
		return undetermined(fmt.Sprintf("what is added of unknown outcome is of more than %d amounts, or too much "+
			"happens at one time", countWordsMax))
	}
	s.frontier.add(configuration{s.spec.Init(), make([]uint64, s.layout.words())})
	r := s.run(events)
	if r.outcome == Violation && len(r.finding.steps) > explainable {
		r.finding = finding{property: "sum"}
	}
	return r
}

func newCountSearch(steps []step, deadline time.Time, events []event) *countSearch {
	spec := &counterSpec
	f := &frontierSearch{spec: spec, steps: steps, deadline: deadline, frontier: newConfigurations(spec),
		closure: newConfigurations(spec), together: true}
	f.assign(events)
	f.frontier.layout, f.closure.layout = f.layout, f.layout
	s := &countSearch{frontierSearch: f, from: make(map[int64][]int32), known: make(map[string]ways),
		breadth: breadths[0], died: -retreatPast - 1}
	for class, i := range f.example {
		s.amounts = append(s.amounts, steps[i].delta)
		if steps[i].noToken && steps[i].delta != 0 {
			s.bridging = append(s.bridging, class)
		}
	}
	slices.SortStableFunc(s.bridging, func(a, b int) int { return cmp.Compare(size(s.amounts[b]), size(s.amounts[a])) })
	for _, class := range s.bridging {
		s.bridged = append(s.bridged, s.amounts[class])
	}
	return s
}

func size(n int64) int64 { return max(n, -n) }

// before is the number before a step that was told the one after it.
func (s *step) before() int64 { return s.sum - s.delta }

func (s *countSearch) run(events []event) ruling {
	for k := 0; k < len(events); k++ {
		s.arrive(k)
		s.happen(events[k])
		if len(s.frontier.all) > 0 {
			continue
		}
		if s.lossy == "" {
			return illegal(finding{steps: selectSteps(s.steps, func(o *step) bool { return o.call <= events[k].at })})
		}
		back, lossy := s.retreat(k), s.lossy
		if back < 0 || s.late || s.made > countsMax {
			return undetermined(lossy)
		}
		k = back - 1
	}
	return legal()
}

func (s *countSearch) happen(e event) {
	i, slot := e.step, s.slots[e.step]
	switch {
	case s.alike[i]:
		s.called[slot]++
	case e.returns:
		s.pass(slot)
		s.open = slices.DeleteFunc(s.open, func(o int32) bool { return o == i })
		s.leave(i)
	default:
		s.open = append(s.open, i)
		s.enter(i)
	}
}

// enter and leave keep the open steps that are told a number by the number before.
func (s *countSearch) enter(i int32) {
	if o := &s.steps[i]; !o.noToken {
		s.from[o.before()] = append(s.from[o.before()], i)
	}
}

func (s *countSearch) leave(i int32) {
	if o := &s.steps[i]; !o.noToken {
		at := o.before()
		if s.from[at] = slices.DeleteFunc(s.from[at], func(o int32) bool { return o == i }); len(s.from[at]) == 0 {
			delete(s.from, at)
		}
	}
}

// costed is a configuration of the closure, by place, with how much of unknown outcome happened: least first.
type costed struct {
	cost    uint64
	place   int
	bridges bool // what of unknown outcome happens next; else nothing of that does
}

func (c costed) before(d costed) bool {
	return c.cost < d.cost || c.cost == d.cost && c.place < d.place
}

func (s *countSearch) pass(slot int32) {
	before := slices.Clone(s.frontier.all)
	s.frontier.clear()
	s.closure.clear()
	for i := range before {
		s.add(before[i])
	}
	ready, entered, made, bound := priorities[costed]{before: costed.before}, 0, 0, s.bound()
	enter := func() {
		for ; entered < len(s.closure.all); entered++ {
			heap.Push(&ready, costed{s.cost(&s.closure.all[entered]), entered, false})
		}
	}
	for enter(); len(ready.all) > 0; enter() {
		if why := s.enough(ready.all[0].cost > bound, made); why != "" {
			s.lossy = why
			return
		}
		s.made++
		made++
		next := heap.Pop(&ready).(costed)
		switch c := s.closure.all[next.place]; {
		case next.bridges:
			s.cross(&c)
		case c.has(slot):
			if s.frontier.add(c.toggled(slot, c.state)); len(s.frontier.all) == 1 {
				bound = min(bound, next.cost+min(s.breadth.slack, math.MaxUint64-next.cost))
			}
		default:
			s.walk(&c)
			heap.Push(&ready, costed{next.cost + 1, next.place, true})
		}
	}
}

// enough says why the search looks no further at what comes before a return, if it does not.
func (s *countSearch) enough(dear bool, made int) string {
	switch {
	case s.timeUp(1 + len(s.open)):
		s.frontier.clear()
		return "time ran out"
	case dear:
		return "ways in which more of unknown outcome would have happened were not looked at"
	case len(s.frontier.all) >= s.breadth.kept || made > s.breadth.made || s.made > countsMax:
		return fmt.Sprintf("more than %d ways in which additions can have made up the numbers, or %d at one time, "+
			"were looked at", countsMax, s.breadth.made)
	}
	return ""
}

// add adds a configuration to the closure, in which all have looked that can.
func (s *countSearch) add(c configuration) {
	for _, i := range s.from[c.state.(int64)] {
		if s.steps[i].delta == 0 && !c.has(s.slots[i]) {
			c = c.toggled(s.slots[i], c.state)
		}
	}
	s.closure.add(c)
}

// cost is how much of unknown outcome happened.
func (s *countSearch) cost(c *configuration) (sum uint64) {
	for _, n := range c.taken[s.layout.sure:] {
		sum += n
	}
	return sum
}

// walk adds to the closure what comes of a configuration by one step that returns.
func (s *countSearch) walk(c *configuration) {
	number := c.state.(int64)
	for _, i := range s.from[number] {
		if slot := s.slots[i]; !c.has(slot) {
			s.add(c.toggled(slot, s.steps[i].sum))
		}
	}
	for _, i := range s.open {
		if o := &s.steps[i]; o.noToken && !c.has(s.slots[i]) {
			s.add(c.toggled(s.slots[i], number+o.delta))
		}
	}
}

// cross adds to the closure what comes of a configuration by steps of unknown outcome, then one with a known number.
func (s *countSearch) cross(c *configuration) {
	number := c.state.(int64)
	for _, i := range s.open {
		o := &s.steps[i]
		switch slot := s.slots[i]; {
		case o.noToken || c.has(slot) || o.before() == number:
		default:
			s.bridge(c, o.before(), func(over configuration) { s.add(over.toggled(slot, o.sum)) })
		}
	}
	for class, called := range s.called {
		o, word := &s.steps[s.example[class]], s.layout.sure+class
		if o.noToken || o.delta == 0 || c.taken[word] >= called {
			continue
		}
		s.bridge(c, o.before(), func(over configuration) { s.add(over.counted(word, o.sum)) })
	}
}
