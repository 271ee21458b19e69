// Package status is how far a campaign is: what its coordinator knows, for the terminal, the page and the metrics.
package status

import (
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/sim"
)

// State is what a campaign is doing.
type State string

// The states.
const (
	Running    State = "running"
	Concluding State = "concluding" // all units are done; what was found is minimised
	Ended      State = "ended"
)

// Status is a snapshot.
type Status struct {
	Plan   *campaign.Plan `json:"plan"`
	Digest string         `json:"digest"` // of the plan
	State  State          `json:"state"`
	Began  time.Time      `json:"began"`
	Now    time.Time      `json:"now"`
	Ends   time.Time      `json:"ends,omitzero"` // estimated; zero: not known

	Units   int            `json:"units"` // 0: as many as there is time for
	Done    int            `json:"done"`
	Twice   int            `json:"twice"`         // done more than once, equal, and counted once
	Unequal []int          `json:"unequal"`       // done more than once, and not equal
	Unknown map[int]string `json:"unknown"`       // units that are given up, and why
	Last    time.Time      `json:"last,omitzero"` // when the last result came

	Concluded int `json:"concluded"` // jobs

	Episodes int     `json:"episodes"`
	Steps    int64   `json:"steps"`
	Rate     float64 `json:"rate"` // episodes a second, of the last minute

	Workers  []Worker `json:"workers"`
	Jobs     []Job    `json:"jobs"`
	Problems []string `json:"problems"` // such as a full disk
}

// Worker is a process that runs units.
type Worker struct {
	Name    string    `json:"name"`
	Build   string    `json:"build"`
	System  string    `json:"system"`
	Refused string    `json:"refused,omitempty"` // why it may not take part
	Units   int       `json:"units"`             // that it has done
	Unit    int       `json:"unit"`              // that it is doing; -1: none
	Last    time.Time `json:"last"`              // it was heard of, by the clock of the coordinator
}

// Job is how far a job is.
type Job struct {
	campaign.Job
	Units    int            `json:"units"`
	Done     int            `json:"done"`
	Episodes int            `json:"episodes"`
	Took     time.Duration  `json:"took,omitempty"` // all its units together, in nanoseconds; 0: not known
	Failures int            `json:"failures"`       // episodes in which a property broke
	Struck   map[string]int `json:"struck"`
	Coverage *sim.Coverage  `json:"coverage,omitempty"`
	Found    []Found        `json:"found,omitempty"`
}

// Found is a property that a job broke.
type Found struct {
	Property string `json:"property"`
	Message  string `json:"message"`
	Times    int    `json:"times"`
	First    int    `json:"first"`
	ID       string `json:"id,omitempty"`    // of the failure, once it is told
	Story    string `json:"story,omitempty"` // of the simplest episode so far, once it is told
}
