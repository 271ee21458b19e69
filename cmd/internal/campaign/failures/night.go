package failures

import (
	"slices"
	"time"
)

// State says what became of a failure in a night. The package documentation has the rules.
type State string

// The states.
const (
	New     State = "new"       // never seen before
	Back    State = "come back" // it was gone, and was seen again
	Ongoing State = "ongoing"   // it was there before, and was seen again
	Changed State = "changed"   // its counterexample no longer breaks, and the search was too short to say more
	Unseen  State = "not seen"  // it was there before, and was not looked for well enough
	Gone    State = "gone"      // looked for and not seen
)

// Night is what a campaign has seen, and what became of every failure that the store knows.
type Night struct {
	File     string    `json:"file"` // within the store
	Name     string    `json:"name"` // of the plan
	Began    time.Time `json:"began"`
	Digest   string    `json:"digest"` // of the plan
	Commit   string    `json:"commit,omitempty"`
	Go       string    `json:"go,omitempty"`
	Nights   int       `json:"nights"`             // that the store knows, up to this one
	Failures []Failure `json:"failures"`           // those to look at first: see [Failure.News]
	Problems []string  `json:"problems,omitempty"` // files of the store that do not count, each with a cure
}

// Failure is a failure as a night leaves it. What animals of the zoo break is expected, and apart from the rest: what
// breaks both has two entries.
type Failure struct {
	ID       string   `json:"id"`
	Property string   `json:"property"`
	Shape    []string `json:"shape"`
	Message  string   `json:"message"` // as it was last seen in the first of the recipes
	Expected bool     `json:"expected,omitempty"`
	Like     []string `json:"like,omitempty"` // animals of the zoo that break the same way, if it is not expected
	State    State    `json:"state"`
	Reason   string   `json:"reason"` // of the state, in a sentence
	First    Sighting `json:"first"`
	Last     Sighting `json:"last"`
	Nights   int      `json:"nights"`  // in which it was seen
	Recipes  []Recipe `json:"recipes"` // in which it was ever seen, those to look at first
}

// Recipe is a failure in one recipe.
type Recipe struct {
	Kind           string   `json:"kind"`
	Recipe         string   `json:"recipe"`
	Animal         string   `json:"animal,omitempty"`
	State          State    `json:"state"`
	Reason         string   `json:"reason"`
	First          Sighting `json:"first"`
	Last           Sighting `json:"last"`
	Nights         int      `json:"nights"`
	Message        string   `json:"message"`           // as it was last seen
	Counterexample string   `json:"counterexample"`    // the last one, a file within the store
	Missing        bool     `json:"missing,omitempty"` // that file is not there, or damaged
	Replay         string   `json:"replay"`            // the command that runs it again, in the folder of the store
	Command        string   `json:"command"`           // the command that finds it again
}

// Sighting is when a failure was seen, and in which code.
type Sighting struct {
	Began  time.Time `json:"began"` // of the campaign
	Commit string    `json:"commit,omitempty"`
	Go     string    `json:"go,omitempty"`
}

// News reports whether somebody has to look at it: it is new or has come back, in any recipe, and is not expected.
func (f Failure) News() bool {
	return !f.Expected && slices.ContainsFunc(f.Recipes, func(r Recipe) bool { return r.news() })
}

func (r Recipe) news() bool { return r.State == New || r.State == Back }
