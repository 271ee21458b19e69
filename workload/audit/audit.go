// Package audit says what it is worth that nothing broke in an episode whose history package linearizability judged: it
// corrupts the history, and counts how often that is noticed. It is for programs that run campaigns; a test with sim.Check
// does not need it.
package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	lin "github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim/world"
)

const (
	judgeMemory = 1 << 20         // bytes for judging one corruption: some of large episodes stay undecided
	judgeTime   = 4 * time.Second // for all corruptions of a history: as long as judging the episode
)

// Measure is a [world.Auditor].
func Measure(model, history any, seed uint64, tries int) world.Sensitivity {
	return measure(model.(lin.Model), history.(lin.History), seed, tries,
		lin.Options{Timeout: judgeTime / time.Duration(max(tries, 1)), MemoryLimit: judgeMemory, Unexplained: true})
}

// measure corrupts a history so often, drawn from the seed, and judges each result, which may take as long as the options
// say. Broken is "others" if the property's name would take an explanation.
func measure(m lin.Model, h lin.History, seed uint64, tries int, o lin.Options) world.Sensitivity {
	s := world.Sensitivity{Episodes: 1, Operations: len(h), Overlapping: overlapping(h), Missed: map[string]int{}, Broken: map[string]int{}}
	for _, op := range h {
		switch op.Outcome {
		case lin.Fail:
			s.Operations--
		case lin.Unknown:
			s.Unknown++
		}
	}
	for c := range Corruptions(m, h, seed, tries) {
		s.Corruptions++
		verdicts := lin.Check(m, c.History, o)
		switch lin.Worst(verdicts) {
		case lin.Violation:
			s.Noticed++
			broken := slices.IndexFunc(verdicts, func(v lin.Verdict) bool { return v.Outcome == lin.Violation })
			s.Broken[cmp.Or(verdicts[broken].Property, "others")]++
		case lin.Ok:
			s.Missed[c.Kind]++
		default:
			s.Undecided++
		}
	}
	return s
}

// overlapping counts operations that overlap one of another client; one of unknown outcome ends at its return.
func overlapping(h lin.History) (n int) {
	order := slices.DeleteFunc(slices.Clone(h), func(o lin.Operation) bool { return o.Outcome == lin.Fail })
	slices.SortFunc(order, func(a, b lin.Operation) int { return cmp.Compare(a.Call, b.Call) })
	overlaps := make([]bool, len(order))
	latest := -1 // of those called so far, the one that returned last
	for i, op := range order {
		if latest >= 0 && order[latest].Return > op.Call && order[latest].Owner() != op.Owner() {
			overlaps[latest], overlaps[i] = true, true
		}
		if latest < 0 || op.Return > order[latest].Return {
			latest = i
		}
	}
	for _, o := range overlaps {
		if o {
			n++
		}
	}
	return n
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
