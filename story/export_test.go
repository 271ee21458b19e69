package story

// New makes the story of a replay.
var New = fromReplay

// Cycles finds what repeats in a list of events.
func Cycles(events []Event) []Cycle { return cycles(events) }

// CauseOf finds the cause of a story's violation.
func CauseOf(s *Story) *Cause { return prose{s}.cause() }

// Shown is data in a line of text.
var Shown = shown
