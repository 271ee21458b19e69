package command

import (
	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/manual"
	"github.com/zktorture/zktorture/cmd/internal/scaffold"
	"github.com/zktorture/zktorture/cmd/internal/scan"
	"github.com/zktorture/zktorture/cmd/internal/serving"
	"github.com/zktorture/zktorture/cmd/internal/zoocmd"
	"github.com/zktorture/zktorture/internal/version"
)

// commandName is what the command is called where it is described.
const commandName = "torture"

// described lets --help say what the manual says, and versioned lets --version say the version.
var (
	described = kong.PostBuild(func(k *kong.Kong) error {
		manual.Describe(k.Model, manuals)
		return nil
	})
	versioned = kong.OptionFunc(func(k *kong.Kong) error { // once a release build has said which it is
		return kong.Vars{"version": version.Text(commandName)}.Apply(k)
	})
)

// verdicts are the exit statuses of a command that judges.
var verdicts = []manual.Status{
	{Code: console.ExitOK, Meaning: "No violation."},
	{Code: console.ExitViolation, Meaning: "A violation."},
	{Code: console.ExitUnknown, Meaning: "The verdict is unknown, or there was an error."},
}

// done are the exit statuses of a command that judges nothing.
func done(ok string) []manual.Status {
	return []manual.Status{{Code: console.ExitOK, Meaning: ok}, {Code: console.ExitUnknown, Meaning: "There was an error."}}
}

// manuals is what --help says of each command beside its flags.
var manuals = manual.Manual{
	"new": scaffold.Manual, "scan": scan.Manual, "serve": serving.ServeManual, "proxy": serving.ProxyManual,
	"zoo": zoocmd.Manual,

	"run": {Statuses: verdicts, Examples: []manual.Example{
		{Meaning: "Run this project's own lock through 1000 simulated episodes.", Line: "torture run lock"},
		{Meaning: "Find the bug of a published lock, without any fault.",
			Line: "torture run lock --recipe published/WriteLock --faults none --seed 1"},
		{Meaning: "Let only sessions expire and processes stop, and print the result as JSON.",
			Line: "torture run queue --faults expiry,pause --json"},
	}},
	"prove": {
		Statuses: []manual.Status{
			{Code: console.ExitOK, Meaning: "Executions were run, and nothing broke. Whether they are all within the bound is printed."},
			{Code: console.ExitViolation, Meaning: "A violation."},
			{Code: console.ExitUnknown, Meaning: "The verdict is unknown, or there was an error."},
		},
		Examples: []manual.Example{
			{Meaning: "Run all executions of a counter with two clients, two departures and one lost connection.",
				Line: "torture prove counter --faults loss"},
			{Meaning: "Find the bug of a published lock.",
				Line: "torture prove lock --recipe published/WriteLock --faults none"},
		}},
	"live": {Statuses: verdicts, Examples: []manual.Example{
		{Meaning: "Run the lock on three real servers, which are started on this machine and need Java.",
			Line: "torture live lock --start 3 --duration 1m --out results"},
		{Meaning: "Run the lock on your own servers.",
			Line: "torture live lock --servers a:2181,b:2181 --duration 10m"},
	}},
	"test": {
		Statuses: []manual.Status{
			{Code: 0, Meaning: "The tests passed."},
			{Code: 1, Meaning: "A test failed, or go vet found something."},
			{Code: 2, Meaning: "There was an error. Any other status is that of go test."},
		},
		Examples: []manual.Example{
			{Meaning: "Run the tests of all packages in exact mode.", Line: "torture test ./..."},
			{Meaning: "Run one test, with the flags of go test.",
				Line: "torture test -run TestMyLock -count=1 ./mylock"},
		},
	},
	"replay": {
		Statuses: []manual.Status{
			{Code: console.ExitViolation, Meaning: "The violation happened again."},
			{Code: console.ExitUnknown, Meaning: "The run differs from the recorded one, or there was an error."},
		},
		Examples: []manual.Example{
			{Meaning: "Run a counterexample again.",
				Line: "torture replay counterexamples/lock-published-WriteLock-lost-wakeup-*.json"},
			{Meaning: "Make the same happen on three real servers.",
				Line: "torture replay --live counterexamples/lock-published-WriteLock-lost-wakeup-*.json"},
		},
	},
	"explain": {Statuses: done("The story was printed or written."), Examples: []manual.Example{
		{Meaning: "Print the story of a counterexample.",
			Line: "torture explain counterexamples/lock-published-WriteLock-lost-wakeup-*.json"},
		{Meaning: "Write it as a page.",
			Line: "torture explain --html story.html counterexamples/lock-published-WriteLock-lost-wakeup-*.json"},
		{Meaning: "Write index.html for a folder of results, and a page for each story.", Line: "torture explain counterexamples"},
		{Meaning: "Say what it means that a lock leaves an orphan, and what helps.", Line: "torture explain orphan"},
	}},
	"check": {Statuses: verdicts, Examples: []manual.Example{
		{Meaning: "Judge the history of a queue.", Line: "torture check history.jsonl --model queue"},
		{Meaning: "Judge a run on real servers, even one that was killed.", Line: "torture check results"},
	}},
	"list": {Statuses: done("The list was printed."), Examples: []manual.Example{
		{Meaning: "List all kinds, recipes, faults, strategies and models.", Line: "torture list"},
	}},
}
