// Package operators says, on the page of a run on servers, what who operates them asks: did they survive, who led when,
// how long did operations take while servers were hurt, and what was not checked. It watches who leads while torture
// live runs on servers that it has started, in leaders.jsonl of --out, and has a part of the page that torture explain
// makes. What a killed run has not written is said to be missing.
package operators

import (
	_ "embed" // embeds the layout
	"html/template"
	"strings"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/story/index"
)

func init() {
	cli.Operators.Watch, cli.Operators.Section, cli.Operators.Thresholds = watch, section, thresholds
}

//go:embed section.html
var layout string

var sectionTemplate = template.Must(template.New("section.html").
	Funcs(template.FuncMap{"secs": secs, "took": took, "secsTook": secsTook, "first": first}).Parse(layout))

// section is the part of the page about the run in a folder; empty if that was simulated.
func section(dir string, begin index.Begin) template.HTML {
	if begin.Backend == "sim" || begin.Backend == "wire" {
		return ""
	}
	var b strings.Builder
	if err := sectionTemplate.Execute(&b, told(Read(dir, begin))); err != nil {
		return template.HTML(template.HTMLEscapeString(err.Error()))
	}
	return template.HTML(b.String())
}
