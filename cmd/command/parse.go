package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/cmd/internal/cli"
	"github.com/zktorture/zktorture/cmd/internal/cli/about"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/judges"
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
	passedOn := args[0] == "test" // its arguments are those of go test
	if passedOn && len(args) == 2 && (args[1] == "--help" || args[1] == "-h") {
		args = []string{args[1], args[0]}
	}
	parsed, err = parser.Parse(args)
	switch failed := new(kong.ParseError); {
	case exited >= 0:
		return nil, exited, nil
	case errors.As(err, &failed):
		help := "--help"
		if node := failed.Context.Selected(); node != nil {
			help = node.Name + " --help"
		}
		return nil, exited, fmt.Errorf("%w: see %s %s", err, c.Self, help)
	case passedOn:
		return parsed, exited, nil
	}
	return parsed, exited, console.CheckUsage(parsed)
}

// newParser returns the parser of command lines.
func newParser(options ...kong.Option) (*kong.Kong, error) {
	return kong.New(new(commands), append(options, kong.Name(commandName), kong.Description(description), groups, described, versioned,
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Vars{
			"kinds": cli.KindNames(), "shrinktime": cli.ShrinkTime.String(), "strategies": strings.Join(about.Strategies(), ","),
			"models": strings.Join(append(operations.Models(), judges.Kinds()...), ","), "sections": about.Sections(),
		})...)
}
