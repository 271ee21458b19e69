// Package audit says what it is worth that nothing broke in an episode whose history package linearizability judged. It is
// for programs that run campaigns; a test with sim.Check does not need it.
package audit

import (
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/sensitivity"
	"github.com/zktorture/zktorture/sim/world"
)

// judgeTime is how long it may take to judge all corruptions of a history together: as long as judging the episode.
const judgeTime = 4 * time.Second

// Measure is a [world.Auditor].
func Measure(model, history any, seed uint64, tries int) world.Sensitivity {
	each := linearizability.Options{Timeout: judgeTime / time.Duration(max(tries, 1))}
	s := sensitivity.Measure(model.(linearizability.Model), history.(linearizability.History), seed, tries, each)
	return world.Sensitivity{
		Episodes: 1, Operations: s.Operations, Overlapping: s.Overlapping, Unknown: s.Unknown,
		Corruptions: s.Corruptions, Noticed: s.Noticed, Missed: s.Missed, Undecided: s.Undecided,
	}
}
