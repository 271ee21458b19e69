package story

import (
	_ "embed"
	"slices"
	"strings"
)

// Help is what to do about a violation.
type Help struct {
	Text string `json:"text"` // in a sentence or two
	Page string `json:"page"` // of the cookbook: stale-read; empty if the kind of recipe gives its own
}

// Link is the address of the cookbook's page.
func (h *Help) Link() string {
	return "https://github.com/zktorture/zktorture/blob/main/docs/cookbook/" + h.Page + ".md"
}

// Advice is what is known of some properties: what it means when one breaks, and what can help.
type Advice struct {
	Properties []string `json:"properties"`
	Meaning    string   `json:"meaning"`
	Helps      []Remedy `json:"helps"` // of the mechanisms that break these properties and few others
}

// Remedy is what helps against a mechanism.
type Remedy struct {
	Mechanism Mechanism `json:"mechanism"`
	Help
}

//go:embed meanings.txt
var meanings string

// AllAdvice lists what is known of all properties.
func AllAdvice() (all []Advice) {
	for line := range strings.Lines(meanings) {
		names, meaning, _ := strings.Cut(strings.TrimSpace(line), ": ")
		a := Advice{Properties: strings.Fields(names), Meaning: meaning}
		for _, r := range rules {
			if slices.ContainsFunc(r.breaks, func(p string) bool { return slices.Contains(a.Properties, p) }) {
				a.Helps = append(a.Helps, Remedy{r.mechanism, Help{r.help, r.page}})
			}
		}
		all = append(all, a)
	}
	return all
}
