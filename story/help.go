package story

import (
	_ "embed"
	"slices"
	"strings"
)

// Help is what to do about a violation.
type Help struct {
	Text string `json:"text"` // in a sentence or two
	Page string `json:"page"` // of the cookbook: stale-read
}

// Link is the address of the cookbook's page.
func (h *Help) Link() string {
	return "https://github.com/zktorture/zktorture/blob/main/docs/cookbook/" + h.Page + ".md"
}

// Advice is what is known of some properties: what it means when one breaks, and what helps, by mechanism.
type Advice struct {
	Properties []string `json:"properties"`
	Meaning    string   `json:"meaning"`
	Helps      []Remedy `json:"helps"`
}

// Remedy is what helps against a mechanism.
type Remedy struct {
	Mechanism Mechanism `json:"mechanism"`
	Help
}

// AnyMechanism are all mechanisms against which nothing of their own helps.
const AnyMechanism Mechanism = "any"

//go:embed help.txt
var helpText string

// AllAdvice lists what is known of all properties.
func AllAdvice() (all []Advice) {
	for line := range strings.Lines(helpText) {
		line = strings.TrimRight(line, "\n")
		before, after, _ := strings.Cut(line, ": ")
		switch {
		case line == "" || line[0] == '#':
		case line[0] != ' ':
			all = append(all, Advice{Properties: strings.Fields(before), Meaning: after})
		default:
			text, page, _ := strings.Cut(after, " | ")
			last := &all[len(all)-1]
			last.Helps = append(last.Helps, Remedy{Mechanism(strings.TrimSpace(before)), Help{text, page}})
		}
	}
	return all
}

// helpFor is what helps against a violation with a cause; nil if nothing is known of its property.
func helpFor(property string, c *Cause) *Help {
	for _, r := range remediesOf(property) {
		if c != nil && r.Mechanism == c.Mechanism || r.Mechanism == AnyMechanism {
			return &r.Help
		}
	}
	return nil
}

// helps reports whether something helps against a mechanism that breaks a property.
func helps(property string, m Mechanism) bool {
	return slices.ContainsFunc(remediesOf(property), func(r Remedy) bool { return r.Mechanism == m })
}

func remediesOf(property string) []Remedy {
	for _, a := range AllAdvice() {
		if slices.Contains(a.Properties, property) {
			return a.Helps
		}
	}
	return nil
}
