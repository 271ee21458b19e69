// Package audit says what it is worth that nothing broke in an episode whose history package linearizability judged. It is
// for programs that run campaigns; a test with sim.Check does not need it.
package audit

import (
	"fmt"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/sensitivity"
	"github.com/zktorture/zktorture/sim/world"
)

const (
	judgeMemory = 1 << 20         // bytes for judging one corruption: some of large episodes stay undecided
	judgeTime   = 4 * time.Second // for all corruptions of a history: as long as judging the episode
)

// Measure is a [world.Auditor].
func Measure(model, history any, seed uint64, tries int) world.Sensitivity {
	each := linearizability.Options{Timeout: judgeTime / time.Duration(max(tries, 1)), MemoryLimit: judgeMemory}
	s := sensitivity.Measure(model.(linearizability.Model), history.(linearizability.History), seed, tries, each)
	return world.Sensitivity{
		Episodes: 1, Operations: s.Operations, Overlapping: s.Overlapping, Unknown: s.Unknown,
		Corruptions: s.Corruptions, Noticed: s.Noticed, Missed: s.Missed, Broken: s.Broken, Undecided: s.Undecided,
	}
}

// Vacuous says why a pass is worth nothing, "" if it is worth something.
func Vacuous(s world.Sensitivity) string {
	switch {
	case s.Episodes == 0:
		return ""
	case s.Operations == 0:
		return "no operation was judged"
	case s.Overlapping == 0:
		return "no two clients' operations overlapped"
	case s.Corruptions > 0 && s.Noticed == 0:
		return fmt.Sprintf("the checker would have caught none of %d planted errors", s.Corruptions)
	}
	return ""
}
