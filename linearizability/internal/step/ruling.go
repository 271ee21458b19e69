package step

// Answer is what a checker knows.
type Answer uint8

// The answers.
const (
	Ok           Answer = iota // there is an order that explains what clients saw
	Violation                  // there is none
	Undetermined               // it could not be found out
)

// Ruling is what a checker says of a history.
type Ruling struct {
	Outcome Answer
	Finding Finding // of a violation
	// Given are steps that stand for whatever else may have happened: beside these, too, the finding's are illegal.
	// They matter where a legal history can become illegal by what is left out.
	Given  []Step
	Reason string // why undetermined
}

// Legal, Illegal and Undecided are the rulings that there is an order, that there is none, and that it is not known.
func Legal() Ruling                  { return Ruling{Outcome: Ok} }
func Illegal(f Finding) Ruling       { return Ruling{Outcome: Violation, Finding: f} }
func Undecided(reason string) Ruling { return Ruling{Outcome: Undetermined, Reason: reason} }

// Finding is a rule that is broken, and steps that break it by themselves.
type Finding struct {
	Property string // the rule, or empty if it is to be found out
	Steps    []Step
}
