package sim

import "fmt"

// Sensitivity says what a pass is worth: how hard the episodes were for the recipe, and how many corruptions of their
// histories the checker detects. All but Faults and DuringOp are measured on the episodes that [Config.Audit] says.
type Sensitivity struct {
	Faults   int `json:"faults"` // strikes
	DuringOp int `json:"inside"` // of these, those while an operation was under way

	Episodes    int `json:"episodes"` // that were measured; 0 if this kind of recipe has no model to measure with
	Operations  int `json:"operations"`
	Overlapping int `json:"overlapping"` // of these, those during which another client's ran
	Unknown     int `json:"unknown"`     // of these, those of unknown outcome

	// Corruptions is how often a clean history was corrupted (results swapped, operations duplicated, dropped, put
	// off or rushed), Noticed how often the judge then found a violation, Missed, by kind, how often it did not,
	// because what came out is in order too, and Undecided how often it could not tell.
	Corruptions int            `json:"corruptions"`
	Noticed     int            `json:"noticed"`
	Missed      map[string]int `json:"missed,omitempty"`
	Undecided   int            `json:"undecided,omitempty"`
}

// corruptionsEach is how often the history of each episode that is measured is corrupted.
const corruptionsEach = 8

func (s *Sensitivity) add(t Sensitivity) {
	s.Faults += t.Faults
	s.DuringOp += t.DuringOp
	s.Episodes += t.Episodes
	s.Operations += t.Operations
	s.Overlapping += t.Overlapping
	s.Unknown += t.Unknown
	s.Corruptions += t.Corruptions
	s.Noticed += t.Noticed
	s.Undecided += t.Undecided
	for kind, n := range t.Missed {
		if s.Missed == nil {
			s.Missed = map[string]int{}
		}
		s.Missed[kind] += n
	}
}

// Vacuous says why a pass is worth nothing, "" if it is worth something.
func (s Sensitivity) Vacuous() string {
	switch {
	case s.Episodes == 0:
		return ""
	case s.Operations == 0:
		return "no operation was judged"
	case s.Overlapping == 0:
		return "no two clients' operations overlapped"
	case s.Corruptions > 0 && s.Noticed == 0:
		return fmt.Sprintf("none of %d corruptions of what the clients saw would have been noticed", s.Corruptions)
	}
	return ""
}

// measure asks what a clean episode is worth.
func (o *outcome) measure(seed uint64) {
	if seed == 0 || o.Audit == nil || o.aborted != nil || len(o.Violations) > 0 || o.Unknown != "" {
		return
	}
	o.sensitivity.add(o.Audit(seed, corruptionsEach))
}
