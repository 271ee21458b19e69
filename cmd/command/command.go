// Package command is the command torture. Programs with kinds and recipes of their own make it with [Main].
package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/cli"
	"github.com/zktorture/zktorture/cmd/internal/cli/about"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/mcp"
	"github.com/zktorture/zktorture/cmd/internal/scaffold"
	"github.com/zktorture/zktorture/cmd/internal/scan"
	"github.com/zktorture/zktorture/cmd/internal/serving"
	"github.com/zktorture/zktorture/cmd/internal/zoocmd"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/workload"
)

// commands is the command line: a field for each command.
type commands struct {
	Run     cli.RunCmd      `cmd:"" group:"everyday" help:"Test a recipe under faults, in simulation."`
	Test    cli.TestCmd     `cmd:"" group:"everyday" passthrough:"" help:"Run go test in exact mode: the decisions of the Go runtime are drawn, replayed and shrunk, too."`
	Explain cli.ExplainCmd  `cmd:"" group:"everyday" help:"Tell the story of a counterexample or a history; make pages of a folder of results; say what a property means."`
	Replay  cli.ReplayCmd   `cmd:"" group:"everyday" help:"Run a counterexample again, step by step."`
	Check   cli.CheckCmd    `cmd:"" group:"everyday" help:"Judge a recorded history."`
	New     scaffold.NewCmd `cmd:"" group:"everyday" help:"Write a first recipe of a kind, and its test."`
	Scan    scan.ScanCmd    `cmd:"" group:"everyday" help:"Find what talks to ZooKeeper in a Go module, write a test of each, and run it."`

	Live  cli.LiveCmd      `cmd:"" group:"servers" help:"Test a recipe under faults, on servers: started for it, or yours."`
	Clean cli.CleanCmd     `cmd:"" group:"servers" help:"List what killed runs have left on your servers; with --yes, delete it."`
	Serve serving.ServeCmd `cmd:"" group:"servers" help:"Run an in-memory ZooKeeper for tests, for any client, with faults on request."`
	Proxy serving.ProxyCmd `cmd:"" group:"servers" help:"Run a proxy between ZooKeeper and your clients that injects faults."`

	List  about.ListCmd `cmd:"" group:"more" help:"List kinds, recipes, faults, strategies, models and properties."`
	Prove cli.ProveCmd  `cmd:"" group:"more" help:"Run all executions within a bound, in simulation."`
	Zoo   zoocmd.ZooCmd `cmd:"" group:"more" help:"Run recipes with known bugs: check that each bug is found, and that the fixed recipe passes."`

	Campaign campaign.Command `cmd:"" group:"more" help:"Run a plan of many jobs, on any number of machines."`
	MCP      mcp.Command      `cmd:"" name:"mcp" group:"more" help:"Serve these commands to coding agents, by the Model Context Protocol."`

	Worker cli.WorkerCmd `cmd:"" hidden:"" help:"Serve a recipe to a runner, with the protocol of docs/workers.md."`

	Version kong.VersionFlag `help:"Print the version, commit, date, version of Go and platform."`
}

// groups are those of commands.
var groups = kong.ExplicitGroups([]kong.Group{{Key: "everyday", Title: "Everyday:"}, {Key: "servers", Title: "Real servers:"},
	{Key: "more", Title: "More:"}})

// Main is the command torture, with kinds and recipes of yours beside those of package workload: to run them in simulation
// and on real servers, to replay, to explain, to judge. It ends the process, with status 0 if no property was broken, 1 if
// one was, and 2 for errors and unknown verdicts. A main of one line is such a command:
//
//	func main() { command.Main(publisher.Kind) }
//
// A counterexample names its kind and recipe, so a command that has these runs it again.
func Main(kinds ...*workload.Kind) {
	_, mainFile, _, _ := runtime.Caller(1)
	memory.RelaxGC()
	ctx, s := console.Begin(mainFile)
	if err := workload.Register(kinds...); err != nil {
		os.Exit(console.Fail(s, err))
	}
	end := func(int) {}
	if dir := os.Getenv(endVariable); dir != "" {
		end = underSupervision(dir)
	}
	s.Foreign = len(kinds) > 0
	status := run(ctx, os.Args[1:], s)
	end(status)
	os.Exit(status)
}

// run executes a command line and returns its exit status. A failed write to the output is an error.
func run(ctx context.Context, args []string, s console.Streams) int {
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
	parsed, exited, err := parse(c, args)
	switch {
	case exited >= 0:
		return exited
	case err != nil:
		return console.Fail(s, err)
	case s.Foreign && needsSupervision(parsed):
		return console.Status(s, supervise(c, parsed))
	}
	return console.Status(s, parsed.Run(c))
}

const description = `Runs ZooKeeper recipes under injected faults, and judges what the clients saw.

Exit status: 0 no violation, 1 violation, 2 unknown verdict or error.`
