package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/persistent"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// The frontier search goes through a history in the order of time and keeps, at each moment, all that the object may
// have become: the frontier, a set of configurations, each a state and the set of those operations that have not yet
// returned but took effect. When an operation returns it must have taken effect: a configuration in which it has not
// is replaced by all that come of it by carrying out some of the open operations, this one last. If nothing is left
// no order explains the history so far.
//
// This is just-in-time linearization (Lowe, "Testing for Linearizability", Concurrency and Computation 29(4), 2017). It
// needs memory for the frontier, not for the history, and is exact for every model. But the frontier may double with
// every operation that is open, and an operation of unknown outcome is open for ever. Two things help with these. Of
// those that do the same it matters only how many took effect. And of two configurations that differ only in what is of
// unknown outcome, the one in which less took effect can become all that the other can: the rest may never happen.

// configuration is what an object may have become.
type configuration struct {
	state any
	taken []uint64 // see layout
}

// layout is the words of configuration.taken: a bit for each open operation that returns, by slot; a bit for each of
// unknown outcome that is unique; and for each class of equal ones a count.
type layout struct{ sure, single, classes int } // how many words

func (l layout) words() int { return l.sure + l.single + l.classes }

func (c *configuration) has(slot int32) bool { return c.taken[slot/64]>>(slot%64)&1 == 1 }

// toggled returns the configuration with another state, and the other answer for the slot.
func (c *configuration) toggled(slot int32, state any) configuration {
	taken := slices.Clone(c.taken)
	taken[slot/64] ^= 1 << (slot % 64)
	return configuration{state, taken}
}

// counted returns the configuration with another state, and one more of a class, given by its word.
func (c *configuration) counted(word int, state any) configuration {
	taken := slices.Clone(c.taken)
	taken[word]++
	return configuration{state, taken}
}

// configurations is a set of these, in the order in which they were added.
type configurations struct {
	spec   *porcupine.Model
	layout layout
	all    []configuration
	next   []int32          // of the same hash, one more than its place; 0 ends it
	first  map[uint64]int32 // by hash: one more than the place of the last that was added
}

func newConfigurations(spec *porcupine.Model) *configurations {
	return &configurations{spec: spec, first: make(map[uint64]int32)}
}

func (s *configurations) clear() {
	clear(s.all)
	s.all, s.next = s.all[:0], s.next[:0]
	clear(s.first)
}

// add adds a configuration unless one that covers it is there. It returns with how many it was compared.
func (s *configurations) add(c configuration) (compared int) {
	hash := s.hash(&c)
	for i := s.first[hash]; i > 0; i = s.next[i-1] {
		compared++
		if o := &s.all[i-1]; s.covers(o, &c) && same(s.spec, o.state, c.state) {
			return compared
		}
	}
	s.all = append(s.all, c)
	s.next = append(s.next, s.first[hash])
	s.first[hash] = int32(len(s.all))
	return compared
}

// covers reports whether in o the same took effect as in c of what returns, and no more of the rest.
func (s *configurations) covers(o, c *configuration) bool {
	if !slices.Equal(o.taken[:s.layout.sure], c.taken[:s.layout.sure]) {
		return false
	}
	for w := s.layout.sure; w < s.layout.sure+s.layout.single; w++ {
		if o.taken[w]&^c.taken[w] != 0 {
			return false
		}
	}
	for w := s.layout.sure + s.layout.single; w < len(o.taken); w++ {
		if o.taken[w] > c.taken[w] {
			return false
		}
	}
	return true
}

func (s *configurations) hash(c *configuration) uint64 {
	hash := uint64(0)
	for _, word := range c.taken[:s.layout.sure] {
		hash = persistent.Mix(hash ^ word)
	}
	if s.spec.Hash != nil {
		hash ^= s.spec.Hash(c.state)
	}
	return hash
}

func same(spec *porcupine.Model, a, b any) bool {
	if spec.Equal != nil {
		return spec.Equal(a, b)
	}
	return a == b
}

type frontierSearch struct {
	spec     *porcupine.Model
	steps    []step.Step
	layout   layout
	slots    []int32         // by step: its bit in configuration.taken, or its class if it is one of several alike
	alike    []bool          // by step: whether it is
	open     []int32         // the steps that are open and have a bit, in the order of their calls
	called   []uint64        // by class: how many have been called …
	example  []int32         // … and one of them
	frontier *configurations // before the next event
	closure  *configurations // what comes of them
	budget   int             // how many more configurations may be made
	most     int             // how many may be there at once
	deadline time.Time
	clock    int // steps until the deadline is looked at
	late     bool
}

// effortMax bounds the configurations that a search of the frontier makes.
const effortMax = 4_000_000

// clockPeriod is how many steps are tried between two looks at the clock.
const clockPeriod = 1 << 12

// configurationBytes is about what a configuration needs beside its bits.
const configurationBytes = 256

// searchFrontier searches until the deadline, within memory bytes. If the history is illegal the finding's steps are
// little more than an illegal prefix of it, and it has no name yet.
func searchFrontier(spec *porcupine.Model, steps []step.Step, deadline time.Time, memory int64) step.Ruling {
	events := eventsOf(steps)
	f := &frontierSearch{
		spec: spec, steps: steps, deadline: deadline, budget: effortMax,
		frontier: newConfigurations(spec), closure: newConfigurations(spec),
	}
	f.assign(events)
	f.frontier.layout, f.closure.layout = f.layout, f.layout
	f.most = int(min(memory/(configurationBytes+8*int64(f.layout.words())), effortMax))
	f.frontier.add(configuration{spec.Init(), make([]uint64, f.layout.words())})
	return f.run(events)
}

// event is the call or the return of a step.
type event struct {
	at      int64
	returns bool
	step    int32
}

// eventsOf returns the events in order of time; calls come before the returns of the same instant, as intervals are
// closed. Operations of unknown outcome do not return.
func eventsOf(steps []step.Step) []event {
	events := make([]event, 0, 2*len(steps))
	for i := range steps {
		events = append(events, event{steps[i].Call, false, int32(i)})
		if !steps[i].Unknown {
			events = append(events, event{steps[i].End, true, int32(i)})
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

// assign gives every step a bit of its own while it is open, or a class if several of unknown outcome do the same.
func (f *frontierSearch) assign(events []event) {
	f.slots, f.alike = make([]int32, len(f.steps)), make([]bool, len(f.steps))
	members := make(map[step.Effect]int, len(f.steps))
	for i := range f.steps {
		if s := &f.steps[i]; s.Unknown {
			members[s.Effect()]++
		}
	}
	var free []int32
	sure, single := int32(0), int32(0)
	classes := make(map[step.Effect]int32)
	for _, e := range events {
		s := &f.steps[e.step]
		switch effect := s.Effect(); {
		case e.returns:
			free = append(free, f.slots[e.step])
		case s.Unknown && members[effect] > 1:
			class, found := classes[effect]
			if !found {
				class = int32(len(classes))
				classes[effect] = class
				f.example = append(f.example, e.step)
			}
			f.slots[e.step], f.alike[e.step] = class, true
		case s.Unknown:
			f.slots[e.step] = single
			single++
		case len(free) > 0:
			f.slots[e.step], free = free[len(free)-1], free[:len(free)-1]
		default:
			f.slots[e.step] = sure
			sure++
		}
	}
	f.called = make([]uint64, len(classes))
	f.layout = layout{int(sure+63) / 64, int(single+63) / 64, len(classes)}
	for i := range f.steps {
		if f.steps[i].Unknown && !f.alike[i] {
			f.slots[i] += 64 * int32(f.layout.sure)
		}
	}
}

func (f *frontierSearch) run(events []event) step.Ruling {
	for _, e := range events {
		switch slot := f.slots[e.step]; {
		case f.alike[e.step]:
			f.called[slot]++
			continue
		case !e.returns:
			f.open = append(f.open, e.step)
			continue
		}
		if reason := f.pass(f.slots[e.step]); reason != "" {
			return step.Undecided(reason)
		}
		if len(f.frontier.all) == 0 {
			return step.Illegal(step.Finding{Steps: f.until(e.at)})
		}
		f.open = slices.DeleteFunc(f.open, func(i int32) bool { return i == e.step })
	}
	return step.Legal()
}

// until returns the steps called until then, and all steps of their items.
func (f *frontierSearch) until(at int64) []step.Step {
	items := make(map[int32]bool)
	for i := range f.steps {
		if s := &f.steps[i]; s.Call <= at && s.Item >= 0 {
			items[s.Item] = true
		}
	}
	return step.Select(f.steps, func(s *step.Step) bool { return s.Call <= at || items[s.Item] })
}

// pass replaces the frontier by what comes of it when the operation of a slot returns. It returns why it cannot, or
// nothing.
//
// Invariant: every configuration of the closure has a way from the frontier; those from which all ways have been
// followed come first.
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

// extend adds to the closure what comes of a configuration by one step. What is of unknown outcome and changes
// nothing need not be carried out now. What only looks may as well be, and nothing else is tried then: whatever can
// come of the configuration comes of it with that done, too.
func (f *frontierSearch) extend(c *configuration) {
	for _, i := range f.open {
		if f.steps[i].Looks() && f.carryOut(c, i) {
			return
		}
	}
	for _, i := range f.open {
		f.carryOut(c, i)
	}
	f.extendByClass(c)
}

// carryOut adds to the closure what comes of a configuration by an open step, and reports whether that does something.
func (f *frontierSearch) carryOut(c *configuration, i int32) bool {
	slot := f.slots[i]
	if c.has(slot) || f.timeUp(1) {
		return false
	}
	after, does := f.try(c, i)
	if does {
		f.timeUp(f.closure.add(c.toggled(slot, after)))
	}
	return does
}

// extendByClass carries out one of each class of those that do the same.
func (f *frontierSearch) extendByClass(c *configuration) {
	for class, called := range f.called {
		word := f.layout.sure + f.layout.single + class
		if c.taken[word] < called && !f.timeUp(1) {
			if after, does := f.try(c, f.example[class]); does {
				f.timeUp(f.closure.add(c.counted(word, after)))
			}
		}
	}
}

// try carries out a step, and reports whether it can be and does something.
func (f *frontierSearch) try(c *configuration, i int32) (after any, does bool) {
	s := &f.steps[i]
	legal, after := f.spec.Step(c.state, s, nil)
	return after, legal && !(s.Unknown && same(f.spec, c.state, after))
}

// timeUp reports whether the deadline is over, after some more steps. Each costs as much as a configuration has words.
func (f *frontierSearch) timeUp(steps int) bool {
	if f.clock -= steps * (1 + f.layout.words()/64); f.clock <= 0 && !f.late {
		f.clock, f.late = clockPeriod, time.Now().After(f.deadline)
	}
	return f.late
}

// exhausted says which limit is reached, if one is, after one more configuration.
func (f *frontierSearch) exhausted() string {
	f.budget--
	switch {
	case f.budget < 0:
		return fmt.Sprintf("more than %d configurations came up", effortMax)
	case len(f.closure.all)+len(f.frontier.all) > f.most:
		return fmt.Sprintf("more than %d configurations were possible at once, for which there is no memory", f.most)
	case f.late:
		return "time ran out"
	}
	return ""
}
