// Command torture-campaign runs a plan on many machines, and reports what one machine would have found.
//
// # The model
//
// "start PLAN" is the coordinator of a campaign: it keeps it in a folder, has workers in its own process, and lets
// others join, with "work URL". It can be killed, and started again in the same folder, also on another machine.
// "status" and "report" look at the folder, or ask the coordinator. How tasks and answers travel is told by package
// engine, how they are counted by package coordinator, how they are done by packages worker and runner, and what people
// see by package page.
//
// The units themselves run in processes of their own: of this program, whose "part" and "merge" are those of the
// command torture, or of the program that a plan names.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/zktorture/zktorture"
	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/internal/manual"
	buildversion "github.com/zktorture/zktorture/internal/version"
)

// version is set by release builds: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	buildversion.Release = version
	if len(os.Args) > 1 && slices.Contains(tortures, os.Args[1]) {
		zktorture.Main()
	}
	log.SetOutput(escape.NewWriter(os.Stderr)) // of libraries
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// tortures are commands of torture that are commands of this one, too.
var tortures = []string{"part", "merge"}

// cli is the command line.
type cli struct {
	Start  startCmd  `cmd:"" help:"Start a campaign, with workers in this process, or continue one in its folder."`
	Work   workCmd   `cmd:"" help:"Run units for a campaign that another machine has started."`
	Status statusCmd `cmd:"" help:"Print the progress of a campaign."`
	Report reportCmd `cmd:"" help:"Report what a finished campaign found."`
	Part   struct{}  `cmd:"" help:"Run one unit of a plan, as torture part does: see torture-campaign part --help."`
	Merge  struct{}  `cmd:"" help:"Combine results of units, as torture merge does: see torture-campaign merge --help."`

	Completion kongcompletion.Completion `cmd:"" help:"Print how a shell is made to complete command lines."`

	Version kong.VersionFlag `help:"Print the version, commit, date, version of Go and platform."`
}

const description = `Runs a plan on many machines, and reports what one machine would have found.

Exit status: 0 no violation, 1 violation, 2 unknown, red or could not be done.`

// exit ends a command with a status. It prints nothing.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// exitUnknown is the status of what is unknown, or could not be done.
const exitUnknown = 2

// streams are the outputs of commands. Text written to out and err is untrusted, and guarded; tty is not.
type streams struct {
	out, err io.Writer
	tty      io.Writer // standard error as it is
}

// commandName is what the command is called where it is described.
const commandName = "torture-campaign"

// newParser returns the parser of a command line; exit is called after --help and --version.
func newParser(c *cli, s streams, exit func(int)) *kong.Kong {
	parser := kong.Must(c, kong.Name(commandName), kong.Description(description), kong.Writers(s.out, s.err),
		kong.Exit(exit), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"version": buildversion.Text(commandName)})
	manual.Describe(parser.Model, commands)
	return parser
}

// run is main without the process.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	s := streams{escape.NewWriter(out), escape.NewWriter(errs), errs}
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
		parsed.BindTo(ctx, (*context.Context)(nil))
		err = parsed.Run(s)
	}
	var status exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintf(s.err, "torture-campaign: %v\n", err)
	return exitUnknown
}
