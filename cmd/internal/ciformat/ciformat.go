// Package ciformat writes reports for CI services: as JUnit XML.
package ciformat

import (
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim"
)

// Report is a report for a CI service: cases, each with a verdict.
type Report struct {
	Title   string
	Verdict sim.Verdict
	Facts   [][2]string // what was run
	Cases   []Case
	Seconds float64
}

// Case is what has a verdict of its own: one property of a recipe, one animal of the zoo, or one job of a campaign.
type Case struct {
	Name     string
	Help     string // the property, or the kind
	Verdict  sim.Verdict
	Reason   string                     // of an unknown verdict
	BrokenBy func(property string) bool // of a property
	Problems []Problem
	Seconds  float64 // 0 if not measured alone
}

// Problem is a violation. One property can have several.
type Problem struct {
	Property, Message, Story string
	Place                    int // rank among the run's violations; 0 is the likely root cause
}

// Breaks adds a violation to the case of its property.
func (r *Report) Breaks(p Problem) {
	i := slices.IndexFunc(r.Cases, func(c Case) bool { return c.BrokenBy(p.Property) })
	if i < 0 {
		i = len(r.Cases)
		r.Cases = append(r.Cases, Case{Name: p.Property,
			BrokenBy: func(property string) bool { return property == p.Property }})
	}
	c := &r.Cases[i]
	c.Verdict = sim.VerdictViolation
	c.Problems = append(c.Problems, p)
}

// joined joins a part of each problem of a case.
func (c Case) joined(separator string, part func(Problem) string) string {
	var parts []string
	for _, p := range c.Problems {
		parts = append(parts, part(p))
	}
	return strings.Join(parts, separator)
}
