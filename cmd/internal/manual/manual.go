// Package manual has what --help says of a command beside its flags: its exit statuses and examples.
package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Manual is what the flags do not say, by the name of a command; "" is the program itself.
type Manual map[string]Entry

// Entry is what the flags of one command do not say.
type Entry struct {
	Statuses []Status
	Examples []Example
}

// Status is an exit status.
type Status struct {
	Code    int
	Meaning string
}

// Example is a command line.
type Example struct {
	Meaning string // one sentence
	Line    string // of a shell
}

// Describe lets --help of each command say what the manual says.
func Describe(app *kong.Application, m Manual) {
	for _, node := range app.Leaves(true) {
		node.Detail = m[node.Path()].text()
	}
}

// text is for --help: indented lines are kept as they are.
func (e Entry) text() string {
	var b strings.Builder
	if len(e.Statuses) > 0 {
		b.WriteString("Exit status:\n\n")
	}
	for _, s := range e.Statuses {
		fmt.Fprintf(&b, "  %d  %s\n", s.Code, s.Meaning)
	}
	if len(e.Examples) > 0 {
		b.WriteString("\nExamples:\n\n")
	}
	for _, x := range e.Examples {
		fmt.Fprintf(&b, "  # %s\n  %s\n", x.Meaning, x.Line)
	}
	return strings.TrimSpace(b.String())
}
