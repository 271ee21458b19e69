// Package cli is the command torture. Programs with kinds and recipes of their own make it with zktorture.Main.
package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/zktorture/zktorture/internal/cli/about"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/serving"
	"github.com/zktorture/zktorture/internal/manual"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/workload"
)

// cli is the command line.
type cli struct {
	Run     runCmd           `cmd:"" help:"Test a recipe under faults: in simulation, on a local ensemble, or on your servers."`
	Test    testCmd          `cmd:"" passthrough:"" help:"Run go test in exact mode: the decisions of the Go runtime are drawn, replayed and shrunk, too."`
	New     newCmd           `cmd:"" help:"Write an example lock and its test, to be replaced by your own."`
	Replay  replayCmd        `cmd:"" help:"Run a counterexample again, step by step."`
	Explain explainCmd       `cmd:"" help:"Explain a counterexample, or a history that is a violation."`
	Help    helpCmd          `cmd:"" help:"Say what it means that a property breaks, and what helps."`
	Index   indexCmd         `cmd:"" help:"Write an HTML index of a folder of results, and a page for each story."`
	Certify certifyCmd       `cmd:"" help:"Check a certificate: repeat its search, and compare."`
	Check   checkCmd         `cmd:"" help:"Judge a recorded history."`
	Proxy   serving.ProxyCmd `cmd:"" help:"Run a proxy between ZooKeeper and your clients that injects faults."`
	Serve   serving.ServeCmd `cmd:"" help:"Run an in-memory ZooKeeper for tests, for any client, with faults on request."`
	Clean   cleanCmd         `cmd:"" help:"List what killed runs have left on your servers; with --yes, delete it."`
	Worker  workerCmd        `cmd:"" hidden:"" help:"Serve a recipe to a runner, with the protocol of docs/workers.md."`
	List    about.ListCmd    `cmd:"" help:"List workloads, recipes, faults, strategies and models."`
	Doctor  about.DoctorCmd  `cmd:"" help:"Check what works on this machine, and how to install what is missing."`
	kong.Plugins

	Completion kongcompletion.Completion `cmd:"" help:"Print how a shell is made to complete command lines."`

	Version kong.VersionFlag `help:"Print the version, commit, date, version of Go and platform."`
}

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
	memory.Simulate()
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
	Recipe string `help:"Implementation to serve: ours, or published/… for a known bug." default:"ours"`
}

// Run serves the recipe until standard input ends.
func (w *workerCmd) Run(c *console.Context) error {
	return worker.ServeRecipe(c, os.Stdin, c.Stdout, w.Recipe)
}
