// Package serving has the commands torture serve and torture proxy.
package serving

import (
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/manual"
)

var statuses = []manual.Status{{Code: console.ExitOK, Meaning: "It was stopped by Control-C or SIGTERM."},
	{Code: console.ExitUnknown, Meaning: "There was an error."}}

// ProxyManual and ServeManual are what --help says of the commands beside their flags.
var (
	ProxyManual = manual.Entry{Statuses: statuses, Examples: []manual.Example{
		{Meaning: "Inject faults between two servers and their clients.",
			Line: "torture proxy --servers a:2181,b:2181 --faults all --seed 7 --log faults.jsonl"},
	}}
	ServeManual = manual.Entry{Statuses: statuses, Examples: []manual.Example{
		{Meaning: "Serve one ZooKeeper on port 2181 of this machine.", Line: "torture serve --port 2181"},
		{Meaning: "Serve three, with an HTTP address where tests ask for faults.",
			Line: "torture serve --size 3 --control 127.0.0.1:0"},
	}}
)
