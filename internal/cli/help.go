package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/story"
)

type helpCmd struct {
	Property string `arg:"" optional:"" help:"A property, as violations name it. Default: lists all."`
}

// Run executes the command.
func (h *helpCmd) Run(c *console.Context) error {
	all := story.AllAdvice()
	if h.Property == "" {
		for _, a := range all {
			fmt.Fprint(c.Stdout, hanging(strings.Join(a.Properties, ", ")+": ", a.Meaning, "    "))
		}
		return nil
	}
	set := console.NameSet{What: "property", List: "help"}
	for _, a := range all {
		set.Known = append(set.Known, a.Properties...)
	}
	if err := set.Find(c, h.Property); err != nil {
		return err
	}
	printAdvice(c.Stdout, h.Property, all[slices.IndexFunc(all, func(a story.Advice) bool {
		return slices.Contains(a.Properties, h.Property)
	})])
	return nil
}

// printAdvice says what it means that a property breaks, and what helps.
func printAdvice(w io.Writer, property string, a story.Advice) {
	fmt.Fprintf(w, "%s\n\n", console.Wrap(property+" breaks: "+a.Meaning+".", console.Columns))
	for _, r := range a.Helps {
		when := "after a " + strings.ReplaceAll(string(r.Mechanism), "-", " ")
		if r.Mechanism == story.AnyMechanism {
			when = "in any case"
		}
		fmt.Fprint(w, hanging(when+": ", r.Text+".", "  "))
		fmt.Fprintf(w, "  %s\n\n", r.Link())
	}
}

// hanging wraps a text with all lines but the first indented.
func hanging(begin, text, indent string) string {
	lines := strings.Split(console.Wrap(begin+text, console.Columns-len(indent)), "\n")
	return strings.Join(lines, "\n"+indent) + "\n"
}
