package command

import (
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/manual"
)

// verdicts are the exit statuses of a command that reports.
var verdicts = []manual.Status{
	{Code: 0, Meaning: "No violation."},
	{Code: 1, Meaning: "A violation."},
	{Code: console.ExitUnknown, Meaning: "The verdict is unknown, the campaign is red, or there was an error."},
}

// done are the exit statuses of a command that judges nothing.
func done(ok string) []manual.Status {
	return []manual.Status{{Code: 0, Meaning: ok}, {Code: console.ExitUnknown, Meaning: "There was an error."}}
}

// commands is what --help and the reference say of each command beside its flags.
var commands = manual.Manual{
	"start": {Statuses: verdicts, Examples: []manual.Example{
		{Meaning: "Run a campaign on this machine, and keep it in the folder night.", Line: "torture-campaign start plan.json --dir night"},
		{Meaning: "Record failures, to compare them with those of other nights.", Line: "torture-campaign start plan.json --dir night --failures failures"},
		{Meaning: "Accept workers on other machines.", Line: "torture-campaign start plan.json --dir night --listen 0.0.0.0:4222"},
	}},
	"work": {Statuses: done("The campaign has ended."), Examples: []manual.Example{
		{Meaning: "Run units for another machine, with the command line that its coordinator prints.",
			Line: "torture-campaign work tls://coordinator:4222 --token-file token --ca ca.pem"},
	}},
	"status": {Statuses: done("The status was printed."), Examples: []manual.Example{
		{Meaning: "Print the progress of a campaign.", Line: "torture-campaign status night"},
		{Meaning: "Print the status as JSON.", Line: "torture-campaign status night --json"},
	}},
	"report": {Statuses: verdicts, Examples: []manual.Example{
		{Meaning: "Print the report as Markdown.", Line: "torture-campaign report night"},
		{Meaning: "Write it as a page, and for a CI service.", Line: "torture-campaign report night --html page --junit junit.xml"},
	}},
	"part": {Statuses: done("A result was written, whatever its verdict."), Examples: []manual.Example{
		{Meaning: "Print how many units a plan has.", Line: "torture-campaign part --plan plan.json --units"},
		{Meaning: "Run the unit with number 3.", Line: "torture-campaign part --plan plan.json --unit 3 --out results"},
	}},
	"merge": {
		Statuses: []manual.Status{
			{Code: console.ExitOK, Meaning: "No violation in any job."},
			{Code: console.ExitViolation, Meaning: "A violation."},
			{Code: console.ExitUnknown, Meaning: "A unit has no result, a file cannot be read, or there was an error."},
		},
		Examples: []manual.Example{
			{Meaning: "Report what the units found.", Line: "torture-campaign merge --plan plan.json --out report results"},
			{Meaning: "Add up some results, for another merge.",
				Line: "torture-campaign merge --plan plan.json --partial sum.json results"},
		},
	},
	"completion": manual.Completion(commandName),
}
