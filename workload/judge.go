package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
)

// judgement is what a judge collects.
type judgement struct{ sim.Judgement }

func (j *judgement) add(found ...sim.Violation) { j.Violations = append(j.Violations, found...) }

// judgeTime is how long the search for an order of one history may take. Reaching it makes the
// episode's verdict unknown. It is less than what makes a world count as frozen.
const judgeTime = 4 * time.Second

// narrate prints a verdict of package linearizability in the words of the other properties.
func (v *view) narrate(verdict linearizability.Verdict) string {
	rule, _, _ := strings.Cut(verdict.Message, ": ")
	var parts []string
	for _, o := range verdict.Operations {
		parts = append(parts, v.describe(o))
	}
	return rule + ": " + strings.Join(parts, ", ")
}

// describe prints one operation of a history.
func (v *view) describe(o linearizability.Operation) string {
	i := slices.IndexFunc(v.ops, func(op *sim.Op) bool { return op.Call == o.Call })
	if i < 0 {
		return fmt.Sprintf("%s from %s on (%s)", o.Op, v.at(o.Call), o.Note)
	}
	op := v.ops[i]
	text := fmt.Sprintf("%s's %s(%s) at %s", who(op), op.Name, op.Arg, v.when(op))
	switch {
	case op.Outcome == sim.OK && op.Result == "":
		if slices.Contains([]string{"poll", "take", "peek"}, op.Name) {
			text += " found it empty"
		}
	case op.Outcome == sim.OK:
		text += " returned " + op.Result
	default:
		text += fmt.Sprintf(" ended with outcome %v", op.Outcome)
	}
	return text
}

// check lets package linearizability judge a history, after the world has ended: the search has
// goroutines and a limit of time of its own, which have no place in a bubble.
func (j *judgement) check(v *view, m linearizability.Model, h linearizability.History) {
	j.Later = func() (found []sim.Violation, unknown string) {
		for _, verdict := range linearizability.Check(m, h, linearizability.Options{Timeout: judgeTime}) {
			switch verdict.Outcome {
			case linearizability.Violation:
				return []sim.Violation{{Property: verdict.Property, Message: v.narrate(verdict)}}, ""
			case linearizability.Undetermined:
				unknown = verdict.Reason
			}
		}
		return nil, unknown
	}
	j.Audit = func(seed uint64, tries int) sim.Strength {
		s := linearizability.Measure(m, h, seed, tries, linearizability.Options{Timeout: judgeTime})
		return sim.Strength{
			Episodes: 1, Operations: s.Operations, Overlapping: s.Overlapping, Unknown: s.Unknown,
			Corruptions: s.Corruptions, Noticed: s.Noticed, Missed: s.Missed,
		}
	}
}

// settle carries out what was left for later.
func (j *judgement) settle() {
	if j.Later != nil {
		found, unknown := j.Later()
		j.add(found...)
		j.Unknown, j.Later = unknown, nil
	}
}

// stuck reports the first of the operations that did not return, for kinds that have nothing better
// to say.
func (v *view) stuck() []sim.Violation {
	if len(v.waiting) == 0 {
		return nil
	}
	op := v.waiting[0]
	message := fmt.Sprintf("%s still waits in %s, called at %s", who(op), op.Name, v.at(op.Call))
	if v.world != nil {
		message = v.world.Explain(op)
	}
	return []sim.Violation{{Property: "progress", Ops: []*sim.Op{op}, Message: message}}
}
