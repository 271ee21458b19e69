package linearizability

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"time"
)

// The search for a counter is the frontier search (see frontier.go) with what is known of numbers. Additions that
// were not told a sum commute, and nobody sees what happens between two of them. So those of unknown outcome
// can wait until somebody is next who was told a number, and are those that make up the difference; if there
// is none, they had better not have happened. Which they are is a subset sum, but with the few amounts that
// occur it has few solutions of which no part can be left out.
//
// And whoever only looks can look as soon as there is what he saw.
//
// Configurations in which less of unknown outcome has happened come first. If there are too many the rest is
// forgotten. What is found then is legal all the same; only that nothing is found says nothing any more, and
// the search begins again, with more.

const (
	bridgesMax    = 24      // ways to make up a difference that are tried
	bridgeNodes   = 1 << 13 // and how many are looked at to find them
	countWordsMax = 1 << 12 // words of a configuration, at most
)

// breadth is how many configurations a search keeps after a return, goes on from at a return, and in all, and in how
// many ways it makes up a difference.
type breadth struct{ kept, made, all, bridges int }

var breadths = []breadth{{8, 1 << 9, 1 << 22, 1}, {32, 1 << 10, 1 << 22, 4}, {128, 1 << 12, 1 << 22, bridgesMax}}

// countSearch is a search under way.
type countSearch struct {
	*frontierSearch
	amounts  []int64           // by class: what is added; those that are told a sum are not in any bridge
	bridging []int             // the classes that are not told a sum, the greatest amounts first
	from     map[int64][]int32 // open steps that are told a number, by the number before
	breadth  breadth
	due      int32 // the slot of what returns
	made     int
	lossy    string // why something was forgotten, if it was
}

// searchCounts judges a counter, as far as it can before the deadline.
func searchCounts(steps []step, deadline time.Time) (r ruling) {
	for _, b := range breadths {
		if r = searchCountsIn(steps, b, deadline); r.outcome != Undetermined || time.Now().After(deadline) {
			break
		}
	}
	if r.outcome == Violation && len(r.finding.steps) > explainable {
		r.finding = finding{property: "sum", message: "a sum is not that of the additions before it"}
	}
	return r
}

func searchCountsIn(steps []step, b breadth, deadline time.Time) ruling {
	const most = 1 << 40 // so that sums do not overflow
	if slices.ContainsFunc(steps, func(s step) bool { return max(s.sum, -s.sum, s.delta, -s.delta) > most || min(s.sum, s.delta) < -most }) {
		return undetermined("numbers are too large")
	}
	events := eventsOf(steps)
	spec := &counterSpec
	f := &frontierSearch{spec: spec, steps: steps, deadline: deadline, frontier: newConfigurations(spec), closure: newConfigurations(spec)}
	f.together = true
	f.assign(events)
	if f.layout.words() > countWordsMax {
		return undetermined(fmt.Sprintf("what is added of unknown outcome is of more than %d amounts, or too much happens at one time", countWordsMax))
	}
	f.frontier.layout, f.closure.layout = f.layout, f.layout
	f.frontier.add(configuration{spec.Init(), make([]uint64, f.layout.words())})
	s := &countSearch{frontierSearch: f, from: make(map[int64][]int32), breadth: b}
	for class, i := range f.example {
		s.amounts = append(s.amounts, steps[i].delta)
		if steps[i].bare && steps[i].delta != 0 {
			s.bridging = append(s.bridging, class)
		}
	}
	slices.SortStableFunc(s.bridging, func(a, b int) int { return cmp.Compare(size(s.amounts[b]), size(s.amounts[a])) })
	return s.run(events)
}

func size(n int64) int64 { return max(n, -n) }

// before is the number before a step that was told the one after it.
func (s *step) before() int64 { return s.sum - s.delta }

func (s *countSearch) run(events []event) ruling {
	for _, e := range events {
		i, slot := e.step, s.slots[e.step]
		told := !s.steps[i].bare
		switch {
		case s.alike[i]:
			s.called[slot]++
			continue
		case !e.returns:
			s.open = append(s.open, i)
			if told {
				s.from[s.steps[i].before()] = append(s.from[s.steps[i].before()], i)
			}
			continue
		}
		s.pass(slot)
		if len(s.frontier.all) == 0 && s.lossy != "" {
			return undetermined(s.lossy)
		}
		if len(s.frontier.all) == 0 {
			return illegal(finding{steps: selectSteps(s.steps, func(o *step) bool { return o.call <= e.at })})
		}
		s.open = slices.DeleteFunc(s.open, func(o int32) bool { return o == i })
		if at := s.steps[i].before(); told {
			if s.from[at] = slices.DeleteFunc(s.from[at], func(o int32) bool { return o == i }); len(s.from[at]) == 0 {
				delete(s.from, at)
			}
		}
	}
	return legal()
}

// costs is a heap of configurations of the closure, by place, those first in which least of unknown outcome
// happened.
type costs []costed

type costed struct {
	cost  uint64
	place int
}

func (c costs) Len() int { return len(c) }
func (c costs) Less(i, k int) bool {
	return c[i].cost < c[k].cost || c[i].cost == c[k].cost && c[i].place < c[k].place
}
func (c costs) Swap(i, k int) { c[i], c[k] = c[k], c[i] }
func (c *costs) Push(x any)   { *c = append(*c, x.(costed)) }
func (c *costs) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// pass is frontierSearch.pass.
func (s *countSearch) pass(slot int32) {
	s.due = slot
	before := slices.Clone(s.frontier.all)
	s.frontier.clear()
	s.closure.clear()
	for i := range before {
		s.add(before[i])
	}
	ready, entered, made := costs{}, 0, 0
	enter := func() {
		for ; entered < len(s.closure.all); entered++ {
			heap.Push(&ready, costed{s.cost(&s.closure.all[entered]), entered})
		}
	}
	for enter(); len(ready) > 0; enter() {
		if len(s.frontier.all) >= s.breadth.kept || made > s.breadth.made || s.made > s.breadth.all {
			s.lossy = fmt.Sprintf("more than %d ways in which additions can have made up the numbers, or %d at one time, were looked at", s.breadth.all, s.breadth.made)
			return
		}
		s.made++
		made++
		if s.timeUp(1 + len(s.open)) {
			s.lossy = "time ran out"
			s.frontier.clear()
			return
		}
		c := s.closure.all[heap.Pop(&ready).(costed).place]
		if c.has(slot) {
			s.frontier.add(c.toggled(slot, c.state))
		} else {
			s.extend(&c)
		}
	}
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

// extend adds to the closure what comes of a configuration by one step that returns or is told a number.
func (s *countSearch) extend(c *configuration) {
	number := c.state.(int64)
	for _, i := range s.from[number] {
		if slot := s.slots[i]; !c.has(slot) {
			s.add(c.toggled(slot, s.steps[i].sum))
		}
	}
	for _, i := range s.open {
		o := &s.steps[i]
		switch slot := s.slots[i]; {
		case c.has(slot) || o.before() == number && !o.bare:
		case o.delta == 0 && slot != s.due && s.breadth.bridges == 1:
			s.lossy = "not all ways to numbers that somebody only looked at were tried"
		case o.bare:
			s.add(c.toggled(slot, number+o.delta))
		default:
			s.bridge(c, o.before(), func(over configuration) { s.add(over.toggled(slot, o.sum)) })
		}
	}
	for class, called := range s.called {
		o, word := &s.steps[s.example[class]], s.layout.sure+class
		if o.bare || o.delta == 0 || c.taken[word] >= called {
			continue
		}
		s.bridge(c, o.before(), func(over configuration) { s.add(over.counted(word, o.sum)) })
	}
}

// bridge yields configurations that come of c by additions of unknown outcome that make up the way to a number.
func (s *countSearch) bridge(c *configuration, to int64, yield func(configuration)) {
	way := to - c.state.(int64)
	if way == 0 {
		yield(*c)
		return
	}
	b := &bridge{way: way}
	for _, class := range s.bridging {
		if left := s.called[class] - c.taken[s.layout.sure+class]; left > 0 {
			b.classes, b.amounts, b.left = append(b.classes, class), append(b.amounts, s.amounts[class]), append(b.left, int64(left))
		}
	}
	if len(b.classes) == 0 {
		return
	}
	ways := b.find()
	if len(ways) > s.breadth.bridges {
		slices.SortStableFunc(ways, func(x, y []int64) int { return cmp.Compare(sum(x), sum(y)) })
		ways, b.lossy = ways[:s.breadth.bridges], true
	}
	for _, counts := range ways {
		taken := slices.Clone(c.taken)
		for k, n := range counts {
			taken[s.layout.sure+b.classes[k]] += uint64(n)
		}
		yield(configuration{to, taken})
	}
	if b.lossy {
		s.lossy = fmt.Sprintf("more than %d ways in which additions of unknown outcome can make up a number were not looked at", bridgesMax)
	}
}

// bridge is a subset sum: amounts, each so many times at most, that make up a way.
type bridge struct {
	way           int64
	classes       []int
	amounts, left []int64
	// of the amounts from a place on
	divisor  []int64
	up, down []int64 // the sums of all that are positive, and of all that are negative

	counts []int64
	found  [][]int64
	nodes  int
	lossy  bool
}

// find returns the ways to make it up of which no part can be left out.
func (b *bridge) find() [][]int64 {
	n := len(b.amounts)
	b.divisor, b.up, b.down, b.counts = make([]int64, n+1), make([]int64, n+1), make([]int64, n+1), make([]int64, n)
	sizes := int64(0)
	for _, a := range b.amounts {
		sizes += size(a)
	}
	for k := n - 1; k >= 0; k-- {
		b.left[k] = min(b.left[k], b.most(b.amounts[k], sizes))
		b.divisor[k] = gcd(size(b.amounts[k]), b.divisor[k+1])
		b.up[k], b.down[k] = b.up[k+1], b.down[k+1]
		if all := b.amounts[k] * b.left[k]; all > 0 {
			b.up[k] += all
		} else {
			b.down[k] += all
		}
	}
	b.search(0, b.way)
	return slices.DeleteFunc(b.found, func(x []int64) bool {
		return slices.ContainsFunc(b.found, func(y []int64) bool { return !slices.Equal(x, y) && noMore(y, x) })
	})
}

// most is how many there can be of an amount, given the sum of all sizes. A part of which the sum is 0 can be left
// out, so that there are not more of two of different signs than it takes to make them equal, but for one of them,
// which makes up the way.
func (b *bridge) most(amount, sizes int64) int64 {
	most := 1 + 2*sizes
	if (amount > 0) == (b.way > 0) {
		most += size(b.way) / size(amount)
	}
	return most
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

func noMore(x, y []int64) bool {
	for k := range x {
		if x[k] > y[k] {
			return false
		}
	}
	return true
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// search makes up the rest of the way with the amounts from place k on.
func (b *bridge) search(k int, rest int64) {
	if rest == 0 {
		b.found = append(b.found, slices.Clone(b.counts))
		b.lossy = b.lossy || len(b.found) >= bridgesMax
	}
	if b.nodes++; b.nodes > bridgeNodes {
		b.lossy = true
	}
	if b.lossy || rest == 0 || k == len(b.amounts) || rest%b.divisor[k] != 0 || rest > b.up[k] || rest < b.down[k] {
		return
	}
	few := min(max(rest/b.amounts[k], 0), b.left[k])
	if k == len(b.amounts)-1 {
		if b.counts[k] = few; few*b.amounts[k] == rest {
			b.search(k+1, 0)
		}
		b.counts[k] = 0
		return
	}
	for n := few; n <= b.left[k] && !b.lossy; n++ { // first what comes nearest, then more, then less
		b.counts[k] = n
		b.search(k+1, rest-n*b.amounts[k])
	}
	for n := few - 1; n >= 0 && !b.lossy; n-- {
		b.counts[k] = n
		b.search(k+1, rest-n*b.amounts[k])
	}
	b.counts[k] = 0
}
