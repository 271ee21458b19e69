package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
)

// Judgement is what a judge collects: what was broken, what could not be judged, and what is still to be judged when
// the world has ended.
type Judgement struct {
	sim.Judgement
	terms *terms // nil: all is judged
}

// Add adds broken properties, except those that the recipe does not promise.
func (j *Judgement) Add(found ...sim.Violation) {
	for _, v := range found {
		if !j.terms.waives(v.Property) {
			j.Violations = append(j.Violations, v)
		}
	}
}

// Judges tells whether a property is judged: the recipe promises it, and this world knows what it needs.
func (j *Judgement) Judges(property string, known bool) bool {
	if j.terms.waives(property) {
		return false
	}
	if !known {
		j.NotJudged = append(j.NotJudged, property)
	}
	return known
}

// beliefs adds what users have found themselves: that a recipe went on against better knowledge.
func (j *Judgement) beliefs(v *View, zombies []sim.Violation) {
	j.Judges("belief", v.Beliefs())
	j.Add(zombies...)
}

// judgeTime is how long the search for an order of one history may take. Reaching it makes the
// episode's verdict unknown.
const judgeTime = 4 * time.Second

// violation is a verdict of package linearizability in the words of the other properties.
func (v *View) violation(verdict linearizability.Verdict) sim.Violation {
	found := sim.Violation{Property: verdict.Property}
	var parts []string
	for _, o := range verdict.Operations {
		op := v.called(o)
		if op != nil && !slices.Contains(found.Ops, op) {
			found.Ops = append(found.Ops, op)
		}
		parts = append(parts, v.describe(o, op))
	}
	found.Message = verdict.Rule + ": " + strings.Join(parts, ", ")
	return found
}

// called returns the user's operation that is in a history as o; nil for what the harness knows of
// itself, such as a holder's death.
func (v *View) called(o linearizability.Operation) *sim.Op {
	i := slices.IndexFunc(v.Ops, func(op *sim.Op) bool { return op.Call == o.Call })
	if i < 0 {
		return nil
	}
	return v.Ops[i]
}

// describe prints one operation of a history.
func (v *View) describe(o linearizability.Operation, op *sim.Op) string {
	if op == nil {
		return fmt.Sprintf("%s from %s on (%s)", o.Op, v.Moment(o.Call), o.Note)
	}
	text := v.callWith(op)
	switch {
	case op.Outcome == sim.OK && op.Result == "":
		switch linearizability.KindOf(op.Name).Result {
		case linearizability.ResultItem, linearizability.ResultItemOrNil:
			text += " found it empty"
		}
	case op.Outcome == sim.OK:
		text += " returned " + op.Result
	default:
		text += fmt.Sprintf(" ended with outcome %v", op.Outcome)
	}
	return text
}

// Check lets package linearizability judge a history, after the world has ended: the search has
// goroutines and a limit of time of its own, which have no place in a bubble.
func (j *Judgement) Check(v *View, m linearizability.Model, h linearizability.History) {
	terms := j.terms
	j.Later = func() (later sim.Judgement) {
		for _, verdict := range linearizability.Check(m, h, linearizability.Options{Timeout: judgeTime}) {
			switch verdict.Outcome {
			case linearizability.Violation:
				if terms.waives(verdict.Property) {
					continue
				}
				return sim.Judgement{Violations: []sim.Violation{v.violation(verdict)}}
			case linearizability.Undetermined:
				later.Unknown, later.Disputed = verdict.Reason, disputed(verdict, h)
			}
		}
		return later
	}
	j.Audit = func(seed uint64, tries int) sim.Sensitivity {
		each := judgeTime / time.Duration(max(tries, 1)) // as long as judging the episode, for all of them together
		s := linearizability.Measure(m, h, seed, tries, linearizability.Options{Timeout: each})
		return sim.Sensitivity{
			Episodes: 1, Operations: s.Operations, Overlapping: s.Overlapping, Unknown: s.Unknown,
			Corruptions: s.Corruptions, Noticed: s.Noticed, Missed: s.Missed, Undecided: s.Undecided,
		}
	}
}

// disputed is what the checkers were given that contradict each other, if that is the verdict.
func disputed(verdict linearizability.Verdict, h linearizability.History) map[string]any {
	if !verdict.Disputed() {
		return nil
	}
	return map[string]any{"monitor": h, "porcupine": verdict.Operations}
}

// Resolve carries out what was left for later.
func (j *Judgement) Resolve() {
	if j.Later != nil {
		later := j.Later()
		j.Add(later.Violations...)
		j.Unknown, j.Disputed, j.Later = later.Unknown, later.Disputed, nil
	}
}

// Stuck reports the first of the operations that did not return, for kinds that have nothing better to say.
func (v *View) Stuck() []sim.Violation {
	if len(v.Waiting) == 0 {
		return nil
	}
	op := v.Waiting[0]
	return []sim.Violation{sim.Violation{Property: "progress", Ops: []*sim.Op{op}}.Saying("%v", v.Explain(op))}
}
