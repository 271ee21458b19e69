// Package torturecli is the command torture, for programs with kinds and recipes of their own beside those of package
// workload.
//
// # The model
//
// A command is a main of one line:
//
//	func main() { torturecli.Main(&workload.Kind{Name: "publisher", Recipes: recipes}) }
//
// It is the whole command torture: run, in simulation and on real servers, replay, explain, index, check and the
// rest. A counterexample names its kind and recipe, so a command that has these runs it again.
package torturecli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/internal/completion"
	"github.com/zktorture/zktorture/internal/gc"
	"github.com/zktorture/zktorture/internal/manual"
	"github.com/zktorture/zktorture/internal/plaintext"
	"github.com/zktorture/zktorture/workload"
)

// Exit statuses.
const (
	exitOK        = 0 // no violation
	exitViolation = 1
	exitUnknown   = 2 // unknown, or an error
)

// cli is the command line.
type cli struct {
	Run     runCmd     `cmd:"" help:"Test a recipe under faults: in simulation, on a local ensemble, or on your servers."`
	Test    testCmd    `cmd:"" passthrough:"" help:"Run go test in exact mode: the decisions of the Go runtime are drawn, replayed and shrunk, too."`
	New     newCmd     `cmd:"" help:"Write an example lock and its test, to be replaced by your own."`
	Zoo     zooCmd     `cmd:"" help:"Run recipes with known bugs: check that each bug is found, and that the fixed recipe passes."`
	Replay  replayCmd  `cmd:"" help:"Run a counterexample again, step by step."`
	Explain explainCmd `cmd:"" help:"Explain a counterexample, or a history that is a violation."`
	Part    partCmd    `cmd:"" help:"Run one unit of a campaign."`
	Merge   mergeCmd   `cmd:"" help:"Combine the results of a campaign's units, and report."`
	Index   indexCmd   `cmd:"" help:"Write an HTML index of a folder of results, and a page for each story."`
	Certify certifyCmd `cmd:"" help:"Check a certificate: repeat its search, and compare."`
	Check   checkCmd   `cmd:"" help:"Judge a recorded history."`
	Proxy   proxyCmd   `cmd:"" help:"Run a proxy between ZooKeeper and your clients that injects faults."`
	Serve   serveCmd   `cmd:"" help:"Run an in-memory ZooKeeper for tests, for any client, with faults on request."`
	Clean   cleanCmd   `cmd:"" help:"List what killed runs have left on your servers; with --yes, delete it."`
	Worker  workerCmd  `cmd:"" hidden:"" help:"Serve a recipe to a runner, with the protocol of docs/workers.md."`
	List    listCmd    `cmd:"" help:"List workloads, recipes, faults, strategies and models, or the zoo."`
	Doctor  doctorCmd  `cmd:"" help:"Check what works on this machine, and how to install what is missing."`
	Demo    demoCmd    `cmd:"" help:"Show a bug, its story and its fix, in three minutes."`

	Man        manual.Cmd           `cmd:"" help:"Print the man page of a command, or write all man pages to a folder."`
	Completion completion.ScriptCmd `cmd:"" help:"Print a script that completes command lines in a shell."`
	Complete   completion.Cmd       `cmd:"" passthrough:"" hidden:"" help:"Print what can come next on a command line."`

	Version kong.VersionFlag `help:"Print the version, commit, date, version of Go and platform."`
}

// verdictError ends a command with a status other than 0. It prints nothing.
type verdictError int

func (e verdictError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// streams are the outputs of commands. Text written to out and err is untrusted; it is escaped before it reaches a
// terminal.
type streams struct {
	out, err io.Writer
	terminal bool // err is a terminal
	color    bool // out is to be coloured

	interactive bool     // a user reads out and types standard input
	self        string   // how to call this command again …
	base        string   // … and from which folder that sees files
	mainFile    string   // where this program's function main stands
	args        []string // the command line, without the program
	bare        screen   // for colours and lines that are drawn again
}

// screen is the unguarded output. Only text of this program's own may be written to it.
type screen struct{ out, err io.Writer }

// guarded puts a guard before both.
func (s streams) guarded() (guarded streams, out *plaintext.Writer) {
	out = plaintext.NewWriter(s.out)
	s.bare = screen{s.out, s.err}
	s.out, s.err = out, plaintext.NewWriter(s.err)
	if s.color {
		s.out = painted{out, s.bare.out}
	}
	return s, out
}

// Main is the command torture with additional kinds, or additional recipes of existing kinds, as [workload.Register]
// takes them. It executes the command line of the process and exits: with status 0 if no violation was found, 1 if
// one was, 2 if the verdict is unknown or on an error.
func Main(kinds ...*workload.Kind) {
	gc.Relax()
	log.SetOutput(plaintext.NewWriter(os.Stderr)) // of libraries
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills
	s := streams{out: os.Stdout, err: os.Stderr, terminal: isTerminal(os.Stderr),
		color:       wantsColor(os.Getenv, isTerminal(os.Stdout)),
		interactive: isTerminal(os.Stdin) && isTerminal(os.Stdout)}
	_, s.mainFile, _, _ = runtime.Caller(1)
	s.mainFile = cmp.Or(os.Getenv(mainVariable), s.mainFile)
	s.self, s.base = selfOf(os.Args[0], s.mainFile)
	if self := os.Getenv(selfVariable); self != "" {
		s.self, s.base = self, os.Getenv(baseVariable)
	}
	if err := workload.Register(kinds...); err != nil {
		os.Exit(fail(s, err))
	}
	os.Exit(run(ctx, os.Args[1:], s))
}

// run is main without the process. A failed write to the output is an error.
func run(ctx context.Context, args []string, s streams) int {
	s.args = args
	s, out := s.guarded()
	exit := runGuarded(ctx, args, s)
	if err := out.Close(); err != nil {
		unsaid := fail(s, fmt.Errorf("standard output: %w", err))
		return cmp.Or(exit, unsaid)
	}
	return exit
}

func runGuarded(ctx context.Context, args []string, s streams) int {
	var line cli
	c := &commandContext{ctx, s}
	parsed, exited, err := parse(c, &line, args)
	switch {
	case exited >= 0:
		return exited
	case err != nil:
		return fail(s, err)
	}
	return status(s, parsed.Run(c, commands, s.program(), completion.Source(values.Of)))
}

// commandContext is the context of every command.
type commandContext struct {
	context.Context
	streams
}

// end ends a command that has printed its findings, with a status and an error from besides. A violation remains a
// violation.
func (c *commandContext) end(exit int, trouble error) error {
	switch {
	case exit == exitOK:
		return trouble
	case trouble != nil:
		fail(c.streams, trouble)
	}
	return verdictError(exit)
}

func status(s streams, err error) int {
	var verdict verdictError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &verdict):
		return int(verdict)
	}
	return fail(s, err)
}

func fail(s streams, err error) int {
	fmt.Fprintf(s.err, "torture: %v\n", err)
	return exitUnknown
}

const description = `Runs ZooKeeper recipes under injected faults, and judges what the clients saw.

Exit status: 0 no violation, 1 violation, 2 unknown verdict or error.`
