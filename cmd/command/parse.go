package command

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/cmd/internal/cli"
	"github.com/zktorture/zktorture/cmd/internal/cli/about"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/judges"
	"github.com/zktorture/zktorture/cmd/internal/manual"
	"github.com/zktorture/zktorture/linearizability/operations"
)

// parse parses a command line and checks it. exited is the status that kong ends with by itself, as after --help, or
// negative.
func parse(c *console.Context, args []string) (parsed *kong.Context, exited int, err error) {
	exited = -1
	if err := replaced(args); err != nil {
		return nil, exited, err
	}
	parser, err := newParser(kong.Writers(c.Stdout, c.Stderr), kong.Exit(func(code int) { exited = code }))
	if err != nil {
		return nil, exited, err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	others := slices.Contains(passedOn, args[0])
	if others && len(args) == 2 && (args[1] == "--help" || args[1] == "-h") {
		args, others = []string{args[1], args[0]}, false
	}
	if !others {
		args = console.JoinNegative(args)
	}
	parsed, err = parser.Parse(args)
	if exited >= 0 {
		return nil, exited, nil
	}
	if failed := new(kong.ParseError); errors.As(err, &failed) {
		return nil, exited, misuse(c, failed)
	}
	if others {
		return parsed, exited, nil
	}
	return parsed, exited, console.CheckUsage(parsed)
}

// passedOn are commands whose arguments are those of another command line.
var passedOn = []string{"test"}

// newParser returns the parser of command lines.
func newParser(options ...kong.Option) (*kong.Kong, error) {
	return kong.New(new(commands), append(options, kong.Name(commandName), kong.Description(description), groups, described, versioned, kong.Help(helped),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Vars{
			"kinds": cli.KindNames(), "shrinktime": cli.ShrinkTime.String(), "strategies": strings.Join(about.Strategies(), ","),
			"models": strings.Join(append(operations.Models(), judges.Kinds()...), ","), "sections": about.Sections(),
		})...)
}

// What kong says of names that it does not know, and of values.
var (
	unknownFlag     = regexp.MustCompile(`(?s)^unknown flag (.*?)(, did you mean .*)?$`)
	unexpected      = regexp.MustCompile(`(?s)^unexpected argument (.*?)(, did you mean .*)?$`)
	noValue         = regexp.MustCompile(`^(--[a-z-]+): expected .*"EOL"`)
	notANumber      = regexp.MustCompile(`(?s)^(--[a-z-]+): expected (?:a )?.*?(int|uint|float|duration) but got "(.*?)"`)
	oneOf           = regexp.MustCompile(`(?s)^\[?((?:--|<)([a-z-]+)>?)\]?(?: \.\.\.)? must be one of (.*) but got "(.*)"$`)
	missingArgument = regexp.MustCompile(`^(?:expected|missing flags:) "?(.*?)"?$`)
)

// misuse is the error of a command line that cannot be parsed, in one line with what to do.
func misuse(c *console.Context, failed *kong.ParseError) error {
	node := failed.Context.Selected()
	command := "--help"
	if node == nil {
		node = failed.Context.Model.Node
	} else {
		command = node.Name + " --help"
	}
	text := failed.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		return console.NameSet{What: "flag", Known: flagNames(node), List: command}.Find(c, m[1])
	}
	if m := unexpected.FindStringSubmatch(text); m != nil && command == "--help" {
		switch m[1] {
		case "help":
			return fmt.Errorf("use %[1]s --help, %[1]s COMMAND --help, or %[1]s explain PROPERTY", c.Self)
		}
		return console.NameSet{What: "command", Known: commandNames(node), List: command}.Find(c, m[1])
	} else if m != nil {
		return fmt.Errorf("unexpected argument %q: see %s %s", m[1], c.Self, command)
	}
	if m := noValue.FindStringSubmatch(text); m != nil {
		i := slices.IndexFunc(node.Flags, func(f *kong.Flag) bool { return "--"+f.Name == m[1] })
		return fmt.Errorf("%s needs a value: %s", m[1], manual.Placeholder(node.Flags[i]))
	}
	if m := notANumber.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s %s: %s is needed", m[1], m[3], numberWanted[m[2]])
	}
	if m := oneOf.FindStringSubmatch(text); m != nil && m[4] == "" {
		return console.EmptyValue(m[1])
	} else if m != nil {
		return console.NameSet{What: m[2], Known: strings.Split(strings.Trim(m[3], `,"`), `","`), List: cli.Lists[m[2]]}.Find(c, m[4])
	}
	if unknown := new(console.UnknownName); errors.As(failed, &unknown) && unknown.Name == "" {
		return console.EmptyValue("--" + unknown.What + "s")
	} else if unknown.What != "" {
		return unknown.Find(c, unknown.Name)
	}
	if m := missingArgument.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s is missing: see %s %s", m[1], c.Self, command)
	}
	return fmt.Errorf("%s: see %s %s", text, c.Self, command)
}

var numberWanted = map[string]string{
	"int": "a whole number of at most 64 bits", "uint": "a whole number from 0 to 18446744073709551615",
	"float": "a finite number", "duration": "a duration such as 30s, 5m or 1h30m",
}

func flagNames(node *kong.Node) (names []string) {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			names = append(names, "--"+f.Name)
		}
	}
	return names
}

func commandNames(node *kong.Node) (names []string) {
	for _, child := range node.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	return names
}
