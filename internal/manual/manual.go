// Package manual makes the pages about a command from its flags, and from what these do not say: its exit statuses and
// examples. A page is text for --help, or Markdown for the reference. Both say the same.
package manual

import (
	"fmt"
	"slices"
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
	Status  int    // with which it ends
	Unrun   bool   // tests only parse it: it does not end by itself, or needs what is not everywhere
}

// Completion is the entry of a program's command completion.
func Completion(program string) Entry {
	examples := []Example{{Meaning: "Say how to make this shell complete.", Line: program + " completion bash"}}
	for _, shell := range []string{"bash", "zsh"} {
		examples = append(examples, Example{Unrun: true, Meaning: "Complete in " + shell + ", if this is in its init file.",
			Line: fmt.Sprintf(`eval "$(%s completion -c %s)"`, program, shell)})
	}
	examples = append(examples, Example{Unrun: true, Meaning: "Complete in fish, if this is in its init file.",
		Line: program + " completion -c fish | source"})
	return Entry{[]Status{{0, "It was printed."}, {2, "There was an error."}}, examples}
}

// Page is about one command.
type Page struct {
	Name     string // torture run
	Help     string
	Usage    string
	Args     []Arg
	Groups   []Group
	Commands []Command // of a program
	Common   []string  // flags of the program, which go with each command
	Entry
}

// Arg is an argument.
type Arg struct{ Name, Help string }

// Group is a list of flags.
type Group struct {
	Title string // "" for those of no group
	Flags []Flag
}

// Flag is a flag.
type Flag struct {
	Name    string // --seed
	Short   string // -h, if there is one
	Value   string // the placeholder of its value, "" if it takes none
	Help    string
	Default string   // "" if there is none, or if Help says it
	Aliases []string // other names
}

// Command is a line of a program's list.
type Command struct{ Name, Help string }

// Pages are those of the program and of each command that is not hidden. The error is for a manual of other commands.
func Pages(app *kong.Application, m Manual) ([]Page, error) {
	pages := []Page{pageOf(app.Node, m[""])}
	known := []string{""}
	for _, node := range app.Leaves(true) {
		entry, ok := m[node.Path()]
		if !ok || len(entry.Statuses) == 0 || len(entry.Examples) == 0 {
			return nil, fmt.Errorf("the manual lacks exit statuses or examples of %s", node.FullPath())
		}
		known = append(known, node.Path())
		pages = append(pages, pageOf(node, entry))
	}
	for name := range m {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("the manual has %q, which is no command", name)
		}
	}
	return pages, nil
}

// Describe lets --help of each command say what the manual says.
func Describe(app *kong.Application, m Manual) {
	for _, node := range app.Leaves(true) {
		node.Detail = m[node.Path()].text()
		for _, flag := range node.Flags {
			if !flag.IsBool() && !flag.HasDefault {
				flag.PlaceHolder = Placeholder(flag)
			}
		}
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

func pageOf(node *kong.Node, entry Entry) Page {
	p := Page{Name: node.FullPath(), Help: node.Help, Entry: entry, Groups: groupsOf(node.Flags)}
	p.Usage = rootOf(node).Name + " " + strings.TrimSpace(node.Summary())
	for _, arg := range node.Positional {
		p.Args = append(p.Args, Arg{arg.Summary(), arg.Help})
	}
	if node.Type == kong.ApplicationNode {
		for _, child := range node.Leaves(true) {
			p.Commands = append(p.Commands, Command{child.Path(), child.Help})
		}
		return p
	}
	for _, flag := range rootOf(node).Flags {
		p.Common = append(p.Common, "--"+flag.Name)
	}
	return p
}

func rootOf(node *kong.Node) *kong.Node {
	for node.Parent != nil {
		node = node.Parent
	}
	return node
}

// groupsOf are the flags by their groups, those of no group first.
func groupsOf(flags []*kong.Flag) []Group {
	groups := []Group{{}}
	for _, flag := range flags {
		if flag.Hidden {
			continue
		}
		title := ""
		if flag.Group != nil {
			title = flag.Group.Title
		}
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Title == title })
		if i < 0 {
			i, groups = len(groups), append(groups, Group{Title: title})
		}
		groups[i].Flags = append(groups[i].Flags, flagOf(flag))
	}
	return slices.DeleteFunc(groups, func(g Group) bool { return len(g.Flags) == 0 })
}

func flagOf(flag *kong.Flag) Flag {
	f := Flag{Name: "--" + flag.Name, Help: flag.Help}
	if flag.Short != 0 {
		f.Short = "-" + string(flag.Short)
	}
	for _, alias := range flag.Aliases {
		f.Aliases = append(f.Aliases, "--"+alias)
	}
	if !flag.IsBool() {
		f.Value = Placeholder(flag)
	}
	if flag.HasDefault && !strings.Contains(strings.ToLower(flag.Help), "default") {
		f.Default = flag.Default
	}
	return f
}

// Placeholder stands for the value of a flag: never its default, as in --help.
func Placeholder(flag *kong.Flag) string {
	if flag.PlaceHolder != "" {
		return flag.PlaceHolder
	}
	kind := flag.Target.Type()
	for kind.Kind().String() == "ptr" || kind.Kind().String() == "slice" {
		kind = kind.Elem()
	}
	switch name := kind.Name(); name {
	case "Duration":
		return "DURATION"
	case "string":
		return strings.ToUpper(flag.Name)
	default:
		return "NUMBER"
	}
}
