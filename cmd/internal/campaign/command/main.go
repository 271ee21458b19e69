// Package command is the command torture-campaign, which runs a plan on many machines, and reports what one machine
// would have found. Programs with kinds and recipes of their own make it with [Main].
//
// # The model
//
// "start PLAN" is the coordinator of a campaign: it keeps it in a folder, has workers in its own process, and lets
// others join, with "work URL". It can be killed, and started again in the same folder, also on another machine.
// "status" and "report" look at the folder, or ask the coordinator. How tasks and answers travel is told by package
// engine, how they are counted by package coordinator, how they are done by packages worker and runner, and what people
// see by package page.
//
// The units themselves run in processes of their own, by "part" of package units: of this program, or of the one that a
// plan names.
package command

import (
	"context"
	"os"
	"runtime"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/zktorture/zktorture/cmd/internal/campaign/units"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/manual"
	buildversion "github.com/zktorture/zktorture/internal/version"
	"github.com/zktorture/zktorture/workload"
)

// Main is the whole command torture-campaign, with kinds and recipes of yours beside those of package workload. It ends
// the process, with status 0 if no property was broken, 1 if one was, and 2 for errors and unknown verdicts. A main of
// one line is such a command, and what the field main of a plan names:
//
//	func main() { command.Main(publisher.Kind) }
func Main(kinds ...*workload.Kind) {
	_, mainFile, _, _ := runtime.Caller(1)
	ctx, s := console.Begin(mainFile)
	s.Name, s.Self = commandName, "torture" // which replays what is found
	if err := workload.Register(kinds...); err != nil {
		os.Exit(console.Fail(s, err))
	}
	os.Exit(run(ctx, os.Args[1:], s))
}

// cli is the command line.
type cli struct {
	Start  startCmd       `cmd:"" help:"Start a campaign, with workers in this process, or continue one in its folder."`
	Work   workCmd        `cmd:"" help:"Run units for a campaign that another machine has started."`
	Status statusCmd      `cmd:"" help:"Print the progress of a campaign."`
	Report reportCmd      `cmd:"" help:"Report what a finished campaign found."`
	Part   units.PartCmd  `cmd:"" help:"Run one unit of a campaign."`
	Merge  units.MergeCmd `cmd:"" help:"Combine the results of a campaign's units, and report."`

	Completion kongcompletion.Completion `cmd:"" help:"Print how a shell is made to complete command lines."`

	Version kong.VersionFlag `help:"Print the version, commit, date, version of Go and platform."`
}

const description = `Runs a plan on many machines, and reports what one machine would have found.

Exit status: 0 no violation, 1 violation, 2 unknown, red or could not be done.`

// commandName is what the command is called where it is described.
const commandName = "torture-campaign"

// newParser returns the parser of a command line; exit is called after --help and --version.
func newParser(c *cli, s console.Streams, exit func(int)) *kong.Kong {
	parser := kong.Must(c, kong.Name(commandName), kong.Description(description), kong.Writers(s.Stdout, s.Stderr),
		kong.Exit(exit), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"version": buildversion.Text(commandName)})
	manual.Describe(parser.Model, commands)
	return parser
}

// run is Main without the process.
func run(ctx context.Context, args []string, s console.Streams) int {
	s.Args = args
	s, out := s.Guarded()
	defer out.Close()
	var c cli
	ended := -1
	parser := newParser(&c, s, func(code int) { ended = code })
	if kongcompletion.Register(parser); ended >= 0 { // a shell asked what can come next
		return ended
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if ended >= 0 { // --help, --version
		return ended
	}
	if err == nil {
		err = console.CheckUsage(parsed)
	}
	if err == nil {
		err = parsed.Run(&console.Context{Context: ctx, Streams: s})
	}
	return console.Status(s, err)
}
