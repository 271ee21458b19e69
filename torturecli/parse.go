package torturecli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/alecthomas/kong"
)

// parse parses a command line and checks it. exited is the status that kong ends with by itself, as after --help, or
// negative.
func parse(c *commandContext, into *cli, args []string) (parsed *kong.Context, exited int, err error) {
	exited = -1
	parser, err := newParser(into, kong.Writers(c.out, c.err), kong.Exit(func(code int) { exited = code }))
	if err != nil {
		return nil, exited, err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	others := slices.Contains(passedOn, args[0])
	if !others {
		args = joinNegative(args)
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
	return parsed, exited, checkUsage(c, parsed)
}

// passedOn are commands whose arguments are those of another command line.
var passedOn = []string{"test", "complete"}

// newParser is the parser of the command line.
func newParser(into *cli, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(into, append(options, kong.Name(commandName), kong.Description(description), described, versioned,
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))...)
}

// What kong says of names that it does not know, and of values.
var (
	unknownFlag     = regexp.MustCompile(`(?s)^unknown flag (.*?)(, did you mean .*)?$`)
	unexpected      = regexp.MustCompile(`(?s)^unexpected argument (.*?)(, did you mean .*)?$`)
	notANumber      = regexp.MustCompile(`(?s)^(--[a-z-]+): expected (?:a )?.*?(int|uint|float|duration) but got "(.*?)"`)
	missingArgument = regexp.MustCompile(`^(?:expected|missing flags:) "?(.*?)"?$`)
)

// misuse is the error of a command line that cannot be parsed, in one line with what to do.
func misuse(c *commandContext, failed *kong.ParseError) error {
	node := failed.Context.Selected()
	command := "--help"
	if node == nil {
		node = failed.Context.Model.Node
	} else {
		command = node.Name + " --help"
	}
	text := failed.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		return nameSet{what: "flag", known: flagNames(node), list: command}.find(c, m[1])
	}
	if m := unexpected.FindStringSubmatch(text); m != nil && command == "--help" {
		return nameSet{what: "command", known: commandNames(node), list: command}.find(c, m[1])
	} else if m != nil {
		return fmt.Errorf("unexpected argument %q: see %s %s", m[1], c.self, command)
	}
	if m := notANumber.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s %s: %s is needed", m[1], m[3], numberWanted[m[2]])
	}
	if m := missingArgument.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s is missing: see %s %s", m[1], c.self, command)
	}
	return fmt.Errorf("%s: see %s %s", text, c.self, command)
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
