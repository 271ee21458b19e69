package manual

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// File is the name of the page, without an extension.
func (p Page) File() string { return strings.ReplaceAll(p.Name, " ", "-") }

// Markdown is the page for the reference. Commands is which others it may link, by their names.
func (p Page) Markdown(commands []string) string {
	var b strings.Builder
	say := Prose(commands)
	fmt.Fprintf(&b, "# %s\n\n%s\n\n```text\n%s\n```\n", p.Name, Wrap(say(p.Help)), p.Usage)
	p.markCommands(&b, say)
	if len(p.Args) > 0 {
		b.WriteString("\n## Arguments\n\n")
	}
	for _, arg := range p.Args {
		fmt.Fprintf(&b, "- `%s`: %s\n", arg.Name, say(arg.Help))
	}
	for _, group := range p.Groups {
		fmt.Fprintf(&b, "\n## %s\n", flagsTitle(group.Title))
		for _, flag := range group.Flags {
			flag.markdown(&b, say)
		}
	}
	if len(p.Common) > 0 {
		fmt.Fprintf(&b, "\nWith every command: `%s`.\n", strings.Join(p.Common, "`, `"))
	}
	p.Entry.markdown(&b, say)
	return b.String()
}

func (p Page) markCommands(b *strings.Builder, say func(string) string) {
	if len(p.Commands) == 0 {
		return
	}
	b.WriteString("\n## Commands\n\n| command | what it does |\n|---|---|\n")
	for _, c := range p.Commands {
		name := p.Name + " " + c.Name
		fmt.Fprintf(b, "| [`%s`](%s.md) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), say(c.Help))
	}
}

func flagsTitle(group string) string {
	if group == "" {
		return "Flags"
	}
	return "Flags: " + strings.TrimSuffix(group, ":")
}

func (f Flag) markdown(b *strings.Builder, say func(string) string) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n", f.Name, Wrap(say(f.Help)))
	form := "`" + f.forms() + "`"
	if f.Default != "" {
		form += ", default: `" + f.Default + "`"
	}
	if len(f.Aliases) > 0 {
		form += ", also: `" + strings.Join(f.Aliases, "`, `") + "`"
	}
	if form != "`"+f.Name+"`" {
		fmt.Fprintf(b, "\n%s\n", form)
	}
}

// forms are how the flag is written.
func (f Flag) forms() string {
	form := f.Name
	if f.Value != "" {
		form += "=" + f.Value
	}
	if f.Short != "" {
		form = f.Short + ", " + form
	}
	return form
}

func (e Entry) markdown(b *strings.Builder, say func(string) string) {
	if len(e.Statuses) > 0 {
		b.WriteString("\n## Exit status\n\n| status | meaning |\n|---|---|\n")
	}
	for _, s := range e.Statuses {
		fmt.Fprintf(b, "| %d | %s |\n", s.Code, say(s.Meaning))
	}
	if len(e.Examples) > 0 {
		b.WriteString("\n## Examples\n")
	}
	for _, x := range e.Examples {
		fmt.Fprintf(b, "\n%s\n\n```sh\n%s\n```\n", say(x.Meaning), x.Line)
	}
}

var (
	special = regexp.MustCompile("[<>*_|`\\[\\]\\\\]|\\$\\{")
	flags   = regexp.MustCompile(`(^|[ (,])(--[a-z][a-z-]*[a-z])`)
	guides  = regexp.MustCompile(`\bdocs/([A-Za-z]+\.md)`)
)

// Prose returns a function that makes Markdown of a sentence of plain text: flags become code; commands and pages of
// docs/ become links.
func Prose(commands []string) func(string) string {
	var named *regexp.Regexp
	if len(commands) > 0 {
		named = regexp.MustCompile(`\b(` + strings.Join(commands, "|") + `)\b`)
	}
	return func(text string) string {
		text = special.ReplaceAllString(text, `\$0`)
		text = strings.Join(strings.Fields(text), " ")
		text = flags.ReplaceAllString(text, "$1`$2`")
		text = guides.ReplaceAllString(text, "[docs/$1](../$1)")
		if named == nil {
			return text
		}
		return named.ReplaceAllStringFunc(text, func(name string) string {
			return fmt.Sprintf("[`%s`](%s.md)", name, strings.ReplaceAll(name, " ", "-"))
		})
	}
}

// unbroken is a word, or several in code.
var unbroken = regexp.MustCompile("(?:[^\\s`]|`[^`]*`)+")

// columns is where prose is wrapped.
const columns = 120

// Wrap breaks a paragraph of Markdown into lines, none of which begins with what would make a list of it.
func Wrap(text string) string {
	var b strings.Builder
	length := 0
	for _, word := range unbroken.FindAllString(text, -1) {
		switch n := utf8.RuneCountInString(word); {
		case length == 0:
			length = n
		case length+1+n > columns && !strings.Contains("-+*", word):
			b.WriteByte('\n')
			length = n
		default:
			b.WriteByte(' ')
			length += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}
