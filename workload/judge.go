package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// Judgement is what a judge collects: what was broken, what could not be judged, and what is still to be judged when
// the world has ended.
type Judgement struct {
	world.Judgement
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

// Judges reports whether a property is judged: the recipe promises it, and this world knows what it needs.
func (j *Judgement) Judges(property string, known bool) bool {
	if j.terms.waives(property) {
		return false
	}
	if !known {
		j.NotJudged = append(j.NotJudged, property)
	}
	return known
}

// Beliefs adds what users have found themselves, as they found it: that a recipe went on against better knowledge.
func (j *Judgement) Beliefs(v *View) { j.beliefs(v, func(*world.Op, int64) bool { return false }) }

// beliefs is Beliefs but for those that were right: of what an operation got, at a stamp.
func (j *Judgement) beliefs(v *View, right func(op *world.Op, at int64) bool) {
	j.Judges("belief", v.Beliefs())
	var all []finding
	for _, op := range v.Ops {
		if h, ok := op.Data.(*Held); ok && h.op != nil && h.op.Number == op.Number {
			all = append(all, slices.DeleteFunc(slices.Clone(h.found), func(f finding) bool { return right(op, f.at) })...)
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(a.at, b.at) })
	for _, f := range all {
		j.Add(f.Violation)
	}
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
func (v *View) called(o linearizability.Operation) *world.Op {
	i := slices.IndexFunc(v.Ops, func(op *world.Op) bool { return op.Call == o.Call })
	if i < 0 {
		return nil
	}
	return v.Ops[i]
}

// describe prints one operation of a history.
func (v *View) describe(o linearizability.Operation, op *world.Op) string {
	if op == nil {
		return fmt.Sprintf("%s from %s on (%s)", o.Op, v.Moment(o.Call), o.Note)
	}
	text := v.CallWith(op)
	switch {
	case op.Outcome == world.OK && op.Result == "":
		switch operations.Of(op.Name).Result {
		case operations.Item, operations.ItemOrNil:
			text += " found it empty"
		}
	case op.Outcome == world.OK:
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
	j.Later = func() (later world.Judgement) {
		for _, verdict := range linearizability.Check(m, h, judgeTime) {
			switch verdict.Outcome {
			case linearizability.Violation:
				if terms.waives(verdict.Property) {
					continue
				}
				return world.Judgement{Violations: []sim.Violation{v.violation(verdict)}}
			case linearizability.Undetermined:
				later.Unknown = verdict.Reason
			}
		}
		return later
	}
}

// Resolve carries out what was left for later.
func (j *Judgement) Resolve() {
	if j.Later != nil {
		later := j.Later()
		j.Add(later.Violations...)
		j.Unknown, j.Later = later.Unknown, nil
	}
}

// Stuck reports the first of the operations that did not return, for kinds that have nothing better to say.
func (v *View) Stuck() []sim.Violation {
	if len(v.Waiting) == 0 {
		return nil
	}
	op := v.Waiting[0]
	found := sim.Violation{Property: "progress", Ops: []*world.Op{op}}.Saying("%v", v.Explain(op))
	if v.own && op.Overdue() {
		found.Property, found.Message = "hang", found.Message+", although its context or its connection has ended"
	}
	return []sim.Violation{found}
}

// consequences are the properties whose violations may follow from that of another one, by its name. What follows from
// what follows is not repeated. Where either of two may lead to the other nothing is said: then the simpler story
// is the better one (see [sim.RootFirst]).
var consequences = map[string][]string{
	// Two that hold one lock, lead, or claim one item: one of them was granted it out of turn, and waited for the wrong
	// znode; both write, and both finish the item.
	"exclusion": {"exclusion-in-session", "order", "fencing", "release", "stale-leader", "zombie-write", "duplicate"},
	// The sessions are no matter where even the users of one get in each other's way.
	"exclusion-in-session": {"order", "fencing", "release", "duplicate"},
	// A token that does not grow protects neither the resource from late writes nor the sink from repeated items.
	"fencing":   {"zombie-write", "once"},
	"duplicate": {"once"},
	// A client that does not know its place in the queue watches the znode that others watch, or peeks at another
	// than the head.
	"order": {"herd", "stale-peek"},

	// What always fails goes on failing.
	"unexpected-error": {"unusable"},

	// An item that is gone is missed by calls that look for it and by calls that wait for it.
	"lost": {"false-empty", "lost-wakeup"},
	// A sum is named when no single addition is to blame.
	"counted-twice": {"sum"},
	"lost-update":   {"sum"},

	// A list that lacks a member, or has one too many, was never the group's.
	"missing": {"snapshot", "stale-watch"},
	"ghost":   {"snapshot", "stale-watch"},
	// A member that enters alone leaves alone, and neither removes what the others have yet to make.
	"early-enter": {"early-leave"},
	"early-leave": {"leak"},

	// A znode that its maker has forgotten is in the way of others, and of its maker; where none waits yet it is
	// litter.
	"orphan":     {"deadlock", "progress", "leak"},
	"self-block": {"deadlock", "progress"},
	// A watch on what will not come lets its waiter sleep, or, when that has given up, is left. If the waiter's znode has
	// gone meanwhile, it is said of it only that it waits.
	"lost-wakeup": {"progress", "watch-leak", "goroutine-leak"},
}

// follows reports whether a violation of the property may result from one of the cause.
func follows(property, cause string) bool {
	return slices.ContainsFunc(consequences[cause], func(next string) bool {
		return next == property || follows(property, next)
	})
}
