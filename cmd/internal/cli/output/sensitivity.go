package output

import (
	"fmt"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload/audit"
)

// sensitivityLine says what a pass is worth, or is empty if that was not measured.
func sensitivityLine(r sim.Result) string {
	s := r.Sensitivity
	if r.Verdict != sim.VerdictOK || s.Episodes == 0 {
		return ""
	}
	if why := audit.Vacuous(s); why != "" {
		return "this pass proves nothing: " + why
	}
	line := fmt.Sprintf("strength: %s of the operations overlapped another client's, %s had an unknown outcome",
		share(s.Overlapping, s.Operations), share(s.Unknown, s.Operations))
	if s.Faults > 0 {
		line += fmt.Sprintf("; %s of the faults hit an operation", share(s.DuringOp, s.Faults))
	}
	if s.Corruptions > 0 {
		line += "; " + corruptionsText(s)
	}
	return line
}

// corruptionsText says how many errors the checker caught that were planted into histories, and why not all.
func corruptionsText(s world.Sensitivity) string {
	text := fmt.Sprintf("the checker caught %s of %d planted errors", share(s.Noticed, s.Corruptions), s.Corruptions)
	if legal := s.Corruptions - s.Noticed - s.Undecided; legal > 0 {
		text += fmt.Sprintf(", %s are legal", share(legal, s.Corruptions))
	}
	if s.Undecided > 0 {
		text += fmt.Sprintf(", %d could not be judged", s.Undecided)
	}
	return text
}

func share(part, of int) string { return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(max(of, 1))) }
