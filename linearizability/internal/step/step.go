// Package step is what models make of histories, and monitors judge: steps, and rulings on them.
//
// A model translates the operations of an object into steps, and leaves out what can make no difference. What all have
// in common is in [Step]; what only one model knows is its payload. A [Ruling] says whether some order of the steps is
// legal, and if none is, a [Finding] names few steps that show it.
package step

import "math"

// Step is an operation as a model sees it: it takes effect at one instant.
type Step struct {
	Kind      Kind
	Unknown   bool // may never have happened; then it is always legal, with or without effect
	Null      bool // what came back is null: a queue was empty, or a token or a sum is not known
	Droppable bool // may be left out of a history by itself, and a legal history stays legal
	// Item is the hold that is granted or released, the value that is put in, seen or taken out, or the process; it is
	// negative if there is none. The steps of one item may be left out together, and a legal history stays legal.
	Item      int32
	Source    int     // index of the operation in the object's history
	Call, End int64   // the instants between which it takes effect; or from Call on, or never
	With      payload // what only its model knows, or nil
}

// payload is what one model knows of a step. Copies of a step share it: who changes it gives the copy one of its own.
type payload interface {
	// says is a value that is equal for payloads that say the same.
	says() any
}

// Kind is what a step does.
type Kind uint8

const (
	Grant Kind = iota
	Release
	Share // a hold becomes a reader's
	Offer
	Remove
	Peek
	Add
	Get
	Arrive // barrier: calls enter
	Pass   // barrier: enters
	Depart // barrier: calls leave
	Vanish // barrier: leaves, perhaps
	Part   // barrier: has left
	Shut
	Open
	Wait
)

const (
	None   = -1 // a step, a tenure or a value that is not there
	NoItem = -1 // the item of a step that is about no hold or value, or about none that is known
)

// Empty reports whether the step found a queue empty.
func (s *Step) Empty() bool {
	return s.Null && !s.Unknown && (s.Kind == Remove || s.Kind == Peek)
}

// Looks reports whether the step can never change anything.
func (s *Step) Looks() bool {
	switch s.Kind {
	case Peek, Get, Part, Wait:
		return true
	}
	return s.Empty()
}

// Effect is what a step does, without when it happens and whose it is.
type Effect struct {
	kind Kind
	null bool
	item int32
	with any
}

// Effect returns what the step does.
func (s *Step) Effect() Effect {
	e := Effect{kind: s.Kind, null: s.Null, item: s.Item}
	if s.With != nil {
		e.with = s.With.says()
	}
	return e
}

// Select returns the steps for which keep is true.
func Select(steps []Step, keep func(*Step) bool) []Step {
	var kept []Step
	for i := range steps {
		if keep(&steps[i]) {
			kept = append(kept, steps[i])
		}
	}
	return kept
}

// At returns the steps at the given indices.
func At(steps []Step, indices []int32) []Step {
	some := make([]Step, len(indices))
	for k, i := range indices {
		some[k] = steps[i]
	}
	return some
}

// Items returns how many items the steps have, one more than the greatest.
func Items(steps []Step) (n int32) {
	for i := range steps {
		n = max(n, steps[i].Item+1)
	}
	return n
}

// DropLate leaves out the steps of unknown outcome that were called after all others had ended: an
// illegal history stays illegal without them.
func DropLate(steps []Step) []Step {
	last := int64(math.MinInt64)
	for i := range steps {
		if !steps[i].Unknown {
			last = max(last, steps[i].End)
		}
	}
	return Select(steps, func(s *Step) bool { return !s.Unknown || s.Call <= last })
}

// ItemParts returns, for every item, the indices of its steps. A legal history stays legal without
// a value, or without a hold and its releases.
func ItemParts(steps []Step) [][]int {
	var parts [][]int
	place := make(map[int32]int)
	for i := range steps {
		item := steps[i].Item
		if item < 0 {
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

// LooseParts returns the steps that may be left out one by one.
func LooseParts(steps []Step) [][]int {
	var parts [][]int
	for i := range steps {
		if steps[i].Droppable {
			parts = append(parts, []int{i})
		}
	}
	return parts
}
