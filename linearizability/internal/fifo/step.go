package fifo

import "math"

// Step is an operation of a queue: it takes effect at one instant.
type Step struct {
	Kind      Kind
	Unknown   bool  // may never have happened; then it is always legal, with or without effect
	Null      bool  // what came back is null: the queue was empty, or what came back is not known
	Item      int32 // the number of the value that is put in, seen or taken out, from 0; -1 if it is not known
	Source    int   // whatever the caller knows it by
	Call, End int64 // the instants between which it takes effect; or from Call on, or never
}

// Kind is what a step does.
type Kind uint8

const (
	Offer Kind = iota
	Remove
	Peek
)

// none is a step or a value that is not there.
const none = -1

// Empty reports whether the step found the queue empty.
func (s *Step) Empty() bool { return s.Null && !s.Unknown && s.Kind != Offer }

// Finding is a rule that is broken, and steps that break it by themselves.
type Finding struct {
	Property string // phantom, duplicate, order, lost, stale-peek or false-empty
	Steps    []Step
}

// at returns the steps at the given indices.
func at(steps []Step, indices []int32) []Step {
	some := make([]Step, len(indices))
	for k, i := range indices {
		some[k] = steps[i]
	}
	return some
}

// dropLate leaves out the steps of unknown outcome that were called after all others had ended: what is illegal stays
// illegal without them.
func dropLate(steps []Step) []Step {
	last := int64(math.MinInt64)
	for i := range steps {
		if !steps[i].Unknown {
			last = max(last, steps[i].End)
		}
	}
	var kept []Step
	for _, s := range steps {
		if !s.Unknown || s.Call <= last {
			kept = append(kept, s)
		}
	}
	return kept
}

// itemParts returns, for every value, the indices of its steps. What is legal stays legal without a value.
func itemParts(steps []Step) [][]int {
	parts := map[int32][]int{}
	var items []int32
	for i := range steps {
		item := steps[i].Item
		if item == none {
			continue
		}
		if parts[item] == nil {
			items = append(items, item)
		}
		parts[item] = append(parts[item], i)
	}
	ordered := make([][]int, len(items))
	for k, item := range items {
		ordered[k] = parts[item]
	}
	return ordered
}
