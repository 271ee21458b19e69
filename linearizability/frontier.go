package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// The frontier search goes through a history in the order of time and keeps, at each moment, all that
// the object may have become: the frontier, a set of configurations, each a state and the set of those
// operations that have not yet returned but took effect. When an operation returns it must have taken
// effect: a configuration in which it has not is replaced by all that come of it by carrying out some of
// the open operations, this one last. If nothing is left no order explains the history so far.
//
// This is just-in-time linearization (Lowe, "Testing for Linearizability", Concurrency and Computation
// 29(4), 2017). It needs memory for the frontier, not for the history, and is exact for every model. But
// the frontier may double with every operation that is open, and an operation of unknown outcome is
// open for ever.

// configuration is what an object may have become.
type configuration struct {
	state any
	taken []uint64 // by slot, one bit each: whether the open operation has taken effect
}

func (c *configuration) has(slot int32) bool { return c.taken[slot/64]>>(slot%64)&1 == 1 }

// toggled returns the configuration with another state, and the other answer for the slot.
func (c *configuration) toggled(slot int32, state any) configuration {
	taken := slices.Clone(c.taken)
	taken[slot/64] ^= 1 << (slot % 64)
	return configuration{state, taken}
}

// configurations is a set of these, in the order in which they were added.
type configurations struct {
	spec  *porcupine.Model
	all   []configuration
	next  []int32          // of the same hash, one more than its place; 0 ends it
	first map[uint64]int32 // by hash: one more than the place of the last that was added
}

func newConfigurations(spec *porcupine.Model) *configurations {
	return &configurations{spec: spec, first: make(map[uint64]int32)}
}

func (s *configurations) clear() {
	clear(s.all)
	s.all, s.next = s.all[:0], s.next[:0]
	clear(s.first)
}

func (s *configurations) add(c configuration) {
	hash := s.hash(&c)
	for i := s.first[hash]; i > 0; i = s.next[i-1] {
		if o := &s.all[i-1]; slices.Equal(o.taken, c.taken) && same(s.spec, o.state, c.state) {
			return
		}
	}
	s.all = append(s.all, c)
	s.next = append(s.next, s.first[hash])
	s.first[hash] = int32(len(s.all))
}

func (s *configurations) hash(c *configuration) uint64 {
	hash := uint64(0)
	for _, word := range c.taken {
		hash = mix(hash ^ word)
	}
	if s.spec.Hash != nil {
		hash ^= s.spec.Hash(c.state)
	}
	return hash
}

// same tells whether two states are equal.
func same(spec *porcupine.Model, a, b any) bool {
	if spec.Equal != nil {
		return spec.Equal(a, b)
	}
	return a == b
}

// frontierSearch is a search under way.
type frontierSearch struct {
	spec     *porcupine.Model
	steps    []step
	slots    []int32         // by step: its place in open, and in configuration.taken
	open     []int32         // by slot: one more than the step that is open; 0 if none is
	frontier *configurations // before the next event
	closure  *configurations // what comes of them
	budget   int             // how many more configurations may be made
	most     int             // how many may be there at once
	deadline time.Time
	clock    int // configurations until the deadline is looked at
}

// effortMax bounds the configurations that a search of the frontier makes.
const effortMax = 4_000_000

// clockPeriod is how many configurations are made between two looks at the clock.
const clockPeriod = 256

// configurationBytes is about what one configuration needs beside a bit for each slot: itself, its
// places in the set, and a small state.
const configurationBytes = 256

// searchFrontier searches until the deadline, with so many bytes of memory. If the history is illegal the
// finding's steps are little more than a beginning of it that is illegal too, and have no name yet.
func searchFrontier(spec *porcupine.Model, steps []step, deadline time.Time, memory int64) ruling {
	events := eventsOf(steps)
	f := &frontierSearch{
		spec: spec, steps: steps, deadline: deadline, budget: effortMax,
		frontier: newConfigurations(spec), closure: newConfigurations(spec),
	}
	words := f.assignSlots(events)
	f.most = int(min(memory/(configurationBytes+8*int64(words)), effortMax))
	f.frontier.add(configuration{spec.Init(), make([]uint64, words)})
	return f.run(events)
}

// event is the call or the return of a step.
type event struct {
	at      int64
	returns bool
	step    int32
}

// eventsOf returns the events in order of time; calls come before the returns of the same instant, as
// intervals are closed. Operations of unknown outcome do not return.
func eventsOf(steps []step) []event {
	events := make([]event, 0, 2*len(steps))
	for i := range steps {
		events = append(events, event{steps[i].call, false, int32(i)})
		if !steps[i].unknown {
			events = append(events, event{steps[i].end, true, int32(i)})
		}
	}
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), compareBools(a.returns, b.returns), cmp.Compare(a.step, b.step))
	})
	return events
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// assignSlots gives every step a slot that no other has while it is open, and returns how many words
// of bits that makes.
func (f *frontierSearch) assignSlots(events []event) (words int) {
	f.slots = make([]int32, len(f.steps))
	var free []int32
	slots := int32(0)
	for _, e := range events {
		switch {
		case e.returns:
			free = append(free, f.slots[e.step])
		case len(free) > 0:
			f.slots[e.step], free = free[len(free)-1], free[:len(free)-1]
		default:
			f.slots[e.step] = slots
			slots++
		}
	}
	f.open = make([]int32, slots)
	return int(slots+63) / 64
}

func (f *frontierSearch) run(events []event) ruling {
	for _, e := range events {
		slot := f.slots[e.step]
		if !e.returns {
			f.open[slot] = e.step + 1
			continue
		}
		if reason := f.pass(slot); reason != "" {
			return undetermined(reason)
		}
		if len(f.frontier.all) == 0 {
			return illegal(finding{steps: f.until(e.at)})
		}
		f.open[slot] = 0
	}
	return legal()
}

// until returns the steps called until then, and what came later of their items, so that a value that
// was offered has not vanished.
func (f *frontierSearch) until(at int64) []step {
	items := make(map[int32]bool)
	for i := range f.steps {
		if s := &f.steps[i]; s.call <= at && s.item >= 0 {
			items[s.item] = true
		}
	}
	return selectSteps(f.steps, func(s *step) bool { return s.call <= at || items[s.item] })
}

// pass replaces the frontier by what comes of it when the operation of a slot returns. It returns why it
// cannot, or nothing.
//
// Invariant: every configuration of the closure has a way from the frontier; those from which all ways
// have been followed come first.
func (f *frontierSearch) pass(slot int32) (reason string) {
	f.frontier, f.closure = f.closure, f.frontier
	f.frontier.clear()
	for i := 0; i < len(f.closure.all); i++ {
		if c := f.closure.all[i]; c.has(slot) {
			f.frontier.add(c.toggled(slot, c.state))
		} else {
			f.extend(&c)
		}
		if reason = f.exhausted(); reason != "" {
			return reason
		}
	}
	return ""
}

// extend adds to the closure what comes of a configuration by one step. What is of unknown outcome and
// changes nothing need not be carried out now.
func (f *frontierSearch) extend(c *configuration) {
	for slot, open := range f.open {
		if open == 0 || c.has(int32(slot)) {
			continue
		}
		s := &f.steps[open-1]
		legal, after := f.spec.Step(c.state, s, nil)
		if legal && !(s.unknown && same(f.spec, c.state, after)) {
			f.closure.add(c.toggled(int32(slot), after))
		}
	}
}

// exhausted says which limit is reached, if one is, after one more configuration.
func (f *frontierSearch) exhausted() string {
	f.budget--
	f.clock--
	switch {
	case f.budget < 0:
		return fmt.Sprintf("more than %d configurations came up", effortMax)
	case len(f.closure.all)+len(f.frontier.all) > f.most:
		return fmt.Sprintf("more than %d configurations were possible at once, for which there is no memory", f.most)
	case f.clock > 0:
		return ""
	}
	f.clock = clockPeriod
	if time.Now().After(f.deadline) {
		return "time ran out"
	}
	return ""
}
