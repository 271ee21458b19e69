// Package course records the course of a run: how many episodes, operations and strikes of faults there had
// been by when. The verdict of a run that lasted for a night says nothing about its hours; its course
// shows whether servers slowed down when a fault struck, and when the first property broke.
//
// A course is a file of JSON objects, one a line, each the state of the run at a moment:
//
//	{"t_s":12.004,"episodes":310,"operations":8231,"faults":{"loss":17,"expiry":2},"violations":0}
//
// All numbers are sums since the begin of the run and never fall. What a run does between two lines is not
// known, but by how much it got on.
//
// A file has at most [LinesMax] lines, whatever a run lasts: it begins with a line a second, and when it is
// full every other line is left out and only half as many are written from then on. Each line is
// written at once and whole, and the file is thinned by putting another in its place, so that it can be read
// at any moment, also when the run is killed.
//
// Times are of the wall clock. Nothing that has to be equal for equal seeds may depend on a course.
package course

import (
	"fmt"
	"maps"
	"slices"
)

// Name is what torture run calls the course in the folder of a run.
const Name = "course.jsonl"

// LinesMax is how many lines a file has at most.
const LinesMax = 2000

// Point is the state of a run at a moment.
type Point struct {
	Time       float64          `json:"t_s"` // seconds since the run began
	Episodes   int64            `json:"episodes"`
	Operations int64            `json:"operations"`
	Faults     map[string]int64 `json:"faults"`     // times each kind struck
	Violations int64            `json:"violations"` // episodes in which a property broke
}

// Bounds of what can be meant.
const (
	timeMax   = 1e9 // seconds, about thirty years
	kindsMax  = 100 // kinds of faults
	kindBytes = 60  // of the name of one
)

// problem says why p cannot come after q in a course; "" if it can.
func (p *Point) problem(q *Point) string {
	switch {
	case !(p.Time >= 0 && p.Time <= timeMax):
		return fmt.Sprintf("%g seconds are no time of a run", p.Time)
	case p.Time < q.Time:
		return fmt.Sprintf("the time goes back from %g to %g seconds", q.Time, p.Time)
	case len(p.Faults) > kindsMax:
		return fmt.Sprintf("it has %d kinds of faults, and %d are the most", len(p.Faults), kindsMax)
	}
	for _, n := range []struct {
		name    string
		was, is int64
	}{{"episodes", q.Episodes, p.Episodes}, {"operations", q.Operations, p.Operations}, {"violations", q.Violations, p.Violations}} {
		if n.is < n.was {
			return fmt.Sprintf("%s fall from %d to %d", n.name, n.was, n.is)
		}
	}
	return p.faultProblem(q)
}

// faultProblem says why the strikes of p cannot come after those of q.
func (p *Point) faultProblem(q *Point) string {
	for _, kind := range slices.Sorted(maps.Keys(p.Faults)) {
		if len(kind) > kindBytes {
			return fmt.Sprintf("the name of a fault has %d bytes, and %d are the most", len(kind), kindBytes)
		}
		if p.Faults[kind] < q.Faults[kind] {
			return fmt.Sprintf("strikes of %s fall from %d to %d", kind, q.Faults[kind], p.Faults[kind])
		}
	}
	return ""
}
