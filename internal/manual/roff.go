package manual

import (
	"fmt"
	"strings"
)

// Edition is what a man page says at its edges.
type Edition struct {
	Version string // of the project
	Date    string // of the version, as 2026-11-23; may be ""
}

// Man is the page for man(1).
func (p Page) Man(e Edition) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 %q %q zktorture\n", strings.ToUpper(p.File()), e.Date, "zktorture "+e.Version)
	summary, _, _ := strings.Cut(p.Help, "\n")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(p.File()), roff(strings.TrimSuffix(summary, ".")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(p.Usage))
	p.manDescription(&b)
	for _, group := range p.Groups {
		p.manFlags(&b, group)
	}
	p.Entry.man(&b)
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(p.seeAlso(), " ,\n"))
	return b.String()
}

func (p Page) manDescription(b *strings.Builder) {
	fmt.Fprintf(b, ".SH DESCRIPTION\n%s\n", roff(p.Help))
	for _, arg := range p.Args {
		tagged(b, arg.Name, arg.Help)
	}
	if len(p.Commands) > 0 {
		b.WriteString(".SH COMMANDS\n")
	}
	for _, c := range p.Commands {
		tagged(b, c.Name, c.Help)
	}
}

func (p Page) manFlags(b *strings.Builder, group Group) {
	title := "OPTIONS"
	if group.Title != "" {
		title += ": " + strings.ToUpper(strings.TrimSuffix(group.Title, ":"))
	}
	fmt.Fprintf(b, ".SH %q\n", title)
	for _, f := range group.Flags {
		help := f.Help
		if f.Default != "" {
			help += " Default: " + f.Default + "."
		}
		if len(f.Aliases) > 0 {
			help += " Also: " + strings.Join(f.Aliases, ", ") + "."
		}
		tagged(b, f.forms(), help)
	}
}

func (e Entry) man(b *strings.Builder) {
	if len(e.Statuses) > 0 {
		b.WriteString(".SH EXIT STATUS\n")
	}
	for _, s := range e.Statuses {
		tagged(b, fmt.Sprint(s.Code), s.Meaning)
	}
	if len(e.Examples) > 0 {
		b.WriteString(".SH EXAMPLES\n")
	}
	for i, x := range e.Examples {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		fmt.Fprintf(b, "%s\n.PP\n.RS 4\n.nf\n%s\n.fi\n.RE\n", roff(x.Meaning), roff(x.Line))
	}
}

func tagged(b *strings.Builder, tag, text string) {
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(tag), roff(text))
}

// seeAlso names other pages: of a program those of its commands, of a command that of its program.
func (p Page) seeAlso() (names []string) {
	if len(p.Commands) == 0 {
		program, _, _ := strings.Cut(p.Name, " ")
		return []string{".BR " + roff(program) + " (1)"}
	}
	for _, c := range p.Commands {
		names = append(names, fmt.Sprintf(".BR %s (1)", roff(p.Name+"-"+c.Name)))
	}
	return names
}

// roff is a text without what is special to roff. Lines that begin with a point or an apostrophe would be requests.
func roff(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "\"", `\(dq`).Replace(strings.TrimSpace(line))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
