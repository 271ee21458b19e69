// Package cli is the command torture. Programs with kinds and recipes of their own make it with zktorture.Main.
package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/internal/cli/about"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/manual"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/workload"
)

// cli is the command line.
type cli struct {
	Run     runCmd     `cmd:"" group:"everyday" help:"Test a recipe under faults, in simulation."`
	Test    testCmd    `cmd:"" group:"everyday" passthrough:"" help:"Run go test in exact mode: the decisions of the Go runtime are drawn, replayed and shrunk, too."`
	Explain explainCmd `cmd:"" group:"everyday" help:"Tell the story of a counterexample or a history; make pages of a folder of results; say what a property means."`
	Replay  replayCmd  `cmd:"" group:"everyday" help:"Run a counterexample again, step by step."`
	Check   checkCmd   `cmd:"" group:"everyday" help:"Judge a recorded history."`

	Live  liveCmd  `cmd:"" group:"servers" help:"Test a recipe under faults, on servers: started for it, or yours."`
	Clean cleanCmd `cmd:"" group:"servers" help:"List what killed runs have left on your servers; with --yes, delete it."`

	Prove proveCmd `cmd:"" group:"more" help:"Run all executions within a bound, in simulation."`

	List about.ListCmd `cmd:"" group:"more" help:"List kinds, recipes, faults, strategies, models and properties."`
	kong.Plugins

	Worker workerCmd `cmd:"" hidden:"" help:"Serve a recipe to a runner, with the protocol of docs/workers.md."`

	Version kong.VersionFlag `help:"Print the version, commit, date, version of Go and platform."`
}

// groups are those of commands.
var groups = kong.ExplicitGroups([]kong.Group{{Key: "everyday", Title: "Everyday:"}, {Key: "servers", Title: "Real servers:"},
	{Key: "more", Title: "More:"}})

// extensions make further commands of the command line.
var extensions []func() any

// Extend has every command line take further commands: those of the struct to which fresh returns a new pointer, of
// which the manual is said. It is for functions init of packages that main functions import.
func Extend(fresh func() any, said manual.Manual) {
	extensions = append(extensions, fresh)
	maps.Copy(Manual, said)
}

// Main is the command torture with additional kinds, or additional recipes of existing kinds, as
// [workload.Register] takes them; mainFile is the source of the program's main. It executes the
// command line of the process and exits: with status 0 if no violation was found, 1 if one was, 2 if
// the verdict is unknown or on an error.
func Main(mainFile string, kinds ...*workload.Kind) {
	memory.RelaxGC()
	ctx, s := console.Begin(mainFile)
	if err := workload.Register(kinds...); err != nil {
		os.Exit(console.Fail(s, err))
	}
	os.Exit(Run(ctx, os.Args[1:], s))
}

// Run executes a command line and returns its exit status. A failed write to the output is an error.
func Run(ctx context.Context, args []string, s console.Streams) int {
	s.Args = args
	s, out := s.Guarded()
	exit := runGuarded(ctx, args, s)
	if err := out.Close(); err != nil {
		unsaid := console.Fail(s, fmt.Errorf("standard output: %w", err))
		return cmp.Or(exit, unsaid)
	}
	return exit
}

func runGuarded(ctx context.Context, args []string, s console.Streams) int {
	c := &console.Context{Context: ctx, Streams: s}
	parsed, exited, err := Parse(c, args)
	switch {
	case exited >= 0:
		return exited
	case err != nil:
		return console.Fail(s, err)
	}
	return console.Status(s, parsed.Run(c))
}

const description = `Runs ZooKeeper recipes under injected faults, and judges what the clients saw.

Exit status: 0 no violation, 1 violation, 2 unknown verdict or error.`

// workerCmd is this program as a worker: see docs/workers.md.
type workerCmd struct {
	Recipe string `help:"Implementation to serve, or published/… for a known bug. Default: the first of its kind."`
}

// Run serves the recipe until standard input ends.
func (w *workerCmd) Run(c *console.Context) error {
	return worker.ServeRecipe(c, os.Stdin, c.Stdout, w.Recipe)
}
