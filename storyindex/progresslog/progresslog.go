// Package progresslog records the progress of a run: its numbers of episodes, operations and strikes of faults over
// time. The verdict of a night's run says nothing about its hours; its progress log shows whether servers slowed down
// when a fault struck, and when the first property broke.
//
// A progress log is a file of JSON objects, one a line, each the state of the run at one time:
//
//	{"t_s":12.004,"episodes":310,"operations":8231,"faults":{"loss":17,"expiry":2},"violations":0}
//
// All numbers are totals since the start of the run and never fall.
//
// A file has at most [LinesMax] lines. It starts with a line a second. When it is full every other line is dropped,
// and the interval doubles. Each line is written at once, and the file is thinned by replacing it, so it can be read
// at any time, also after the run was killed.
//
// Times are wall-clock times. Nothing that must be equal for equal seeds may depend on a progress log.
package progresslog

import (
	"fmt"
	"maps"
	"slices"
)

// Name is the file in the folder of a run.
const Name = "course.jsonl"

// LinesMax bounds the lines of a file.
const LinesMax = 2000

// Point is the state of a run at one time.
type Point struct {
	Time       float64          `json:"t_s"` // seconds since the run began
	Episodes   int64            `json:"episodes"`
	Operations int64            `json:"operations"`
	Faults     map[string]int64 `json:"faults"`     // times each kind struck
	Violations int64            `json:"violations"` // episodes in which a property broke
}

// Bounds of plausible values.
const (
	timeMax   = 1e9 // seconds, about thirty years
	kindsMax  = 100 // kinds of faults
	kindBytes = 60  // of a kind's name
)

// problem says why p cannot follow q; "" if it can.
func (p *Point) problem(q *Point) string {
	switch {
	case !(p.Time >= 0 && p.Time <= timeMax):
		return fmt.Sprintf("%g seconds is not a time of a run", p.Time)
	case p.Time < q.Time:
		return fmt.Sprintf("the time goes back from %g to %g seconds", q.Time, p.Time)
	case len(p.Faults) > kindsMax:
		return fmt.Sprintf("it has %d kinds of faults, and %d are the most", len(p.Faults), kindsMax)
	case p.Episodes < q.Episodes:
		return falls("episodes", q.Episodes, p.Episodes)
	case p.Operations < q.Operations:
		return falls("operations", q.Operations, p.Operations)
	case p.Violations < q.Violations:
		return falls("violations", q.Violations, p.Violations)
	}
	for _, kind := range slices.Sorted(maps.Keys(p.Faults)) {
		switch {
		case len(kind) > kindBytes:
			return fmt.Sprintf("the name of a fault has %d bytes, and %d are the most", len(kind), kindBytes)
		case p.Faults[kind] < q.Faults[kind]:
			return falls("strikes of "+kind, q.Faults[kind], p.Faults[kind])
		}
	}
	return ""
}

func falls(what string, from, to int64) string {
	return fmt.Sprintf("%s fall from %d to %d", what, from, to)
}
