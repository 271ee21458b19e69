package manual

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// Page is about one command, or about the program.
type Page struct {
	*kong.Node
	Entry
	app *kong.Node
}

// Pages are those of the program and of each command that is not hidden. The error is for a manual of other commands.
func Pages(app *kong.Application, m Manual) ([]Page, error) {
	pages := []Page{{app.Node, m[""], app.Node}}
	known := []string{""}
	for _, node := range app.Leaves(true) {
		entry, ok := m[node.Path()]
		if !ok || len(entry.Statuses) == 0 || len(entry.Examples) == 0 {
			return nil, fmt.Errorf("the manual lacks exit statuses or examples of %s", node.FullPath())
		}
		known = append(known, node.Path())
		pages = append(pages, Page{node, entry, app.Node})
	}
	for name := range m {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("the manual has %q, which is no command", name)
		}
	}
	return pages, nil
}

// File is the name of the page, without an extension.
func (p Page) File() string { return file(p.FullPath()) }

func file(name string) string { return strings.ReplaceAll(name, " ", "-") }

// Markdown is the page for the reference.
func (p Page) Markdown() string {
	var b strings.Builder
	var commands, common []string
	for _, node := range p.app.Leaves(true) {
		commands = append(commands, node.FullPath())
	}
	for _, flag := range p.app.Flags {
		common = append(common, "--"+flag.Name)
	}
	say := Prose(commands)
	fmt.Fprintf(&b, "# %s\n\n%s\n\n```text\n%s %s\n```\n", p.FullPath(), Wrap(say(p.Help)), p.app.Name, strings.TrimSpace(p.Summary()))
	if p.Node == p.app {
		b.WriteString("\n## Commands\n\n| command | what it does |\n|---|---|\n")
		for _, node := range p.Leaves(true) {
			fmt.Fprintf(&b, "| [`%s`](%s.md) | %s |\n", node.FullPath(), file(node.FullPath()), say(node.Help))
		}
	}
	if len(p.Positional) > 0 {
		b.WriteString("\n## Arguments\n\n")
	}
	for _, arg := range p.Positional {
		fmt.Fprintf(&b, "- `%s`: %s\n", arg.Summary(), say(arg.Help))
	}
	p.markFlags(&b, say)
	if p.Node != p.app {
		fmt.Fprintf(&b, "\nWith every command: `%s`.\n", strings.Join(common, "`, `"))
	}
	p.Entry.markdown(&b, say)
	return b.String()
}

// markFlags lists the flags by their groups, those of no group first.
func (p Page) markFlags(b *strings.Builder, say func(string) string) {
	headings, groups := []string{"Flags"}, map[string][]*kong.Flag{}
	for _, flag := range p.Flags {
		heading := "Flags"
		if flag.Group != nil {
			heading += ": " + strings.TrimSuffix(flag.Group.Title, ":")
		}
		if !flag.Hidden && !slices.Contains(headings, heading) {
			headings = append(headings, heading)
		}
		if !flag.Hidden {
			groups[heading] = append(groups[heading], flag)
		}
	}
	for _, heading := range headings {
		if len(groups[heading]) > 0 {
			fmt.Fprintf(b, "\n## %s\n", heading)
		}
		for _, flag := range groups[heading] {
			markFlag(b, flag, say)
		}
	}
}

func markFlag(b *strings.Builder, flag *kong.Flag, say func(string) string) {
	name := "--" + flag.Name
	form := name
	if !flag.IsBool() {
		form += "=" + Placeholder(flag)
	}
	if flag.Short != 0 {
		form = "-" + string(flag.Short) + ", " + form
	}
	form = "`" + form + "`"
	if flag.Default != "" && !strings.Contains(strings.ToLower(flag.Help), "default") {
		form += ", default: `" + flag.Default + "`"
	}
	if len(flag.Aliases) > 0 {
		form += ", also: `--" + strings.Join(flag.Aliases, "`, `--") + "`"
	}
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n", name, Wrap(say(flag.Help)))
	if form != "`"+name+"`" {
		fmt.Fprintf(b, "\n%s\n", form)
	}
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
