package workload

import (
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
)

// judgement is what a judge collects.
type judgement struct{ sim.Judgement }

func (j *judgement) add(found ...sim.Violation) { j.Violations = append(j.Violations, found...) }

// judgeTime is how long the search for an order of one history may take. Reaching it makes the
// episode's verdict unknown.
const judgeTime = 10 * time.Second

// check lets package linearizability judge a history.
func (j *judgement) check(m linearizability.Model, h linearizability.History) []sim.Violation {
	for _, verdict := range linearizability.Check(m, h, linearizability.Options{Timeout: judgeTime}) {
		switch verdict.Outcome {
		case linearizability.Violation:
			return []sim.Violation{{Property: verdict.Property, Message: verdict.Message}}
		case linearizability.Undetermined:
			j.Unknown = verdict.Reason
		}
	}
	return nil
}
