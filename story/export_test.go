package story

// New makes the story of a replay.
var New = fromReplay

// Cycles finds what repeats in a list of events.
func Cycles(events []Event) []Cycle { return cycles(events) }

// CauseOf finds the cause of a story's violation.
func CauseOf(s *Story) *Cause {
	c, _ := prose{s}.cause()
	return c
}

// Mechanisms are those that have a rule.
func Mechanisms() (all []Mechanism) {
	for _, r := range rules {
		all = append(all, r.mechanism)
	}
	return all
}

// Shown is data in a line of text.
var Shown = shown
