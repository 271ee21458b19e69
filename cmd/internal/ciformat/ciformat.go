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
	Cases   []Case
	Seconds float64
}

// Case is what has a verdict of its own: one property of a recipe, or one job of a campaign.
type Case struct {
	Name     string
	Verdict  sim.Verdict
	Reason   string                     // of an unknown verdict
	BrokenBy func(property string) bool // of a property
	Problems []Problem
}

// Problem is a violation. One property can have several.
type Problem struct{ Property, Message, Story string }

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
