// Package serving has the commands serve and proxy. A main function imports it for that alone.
package serving

import (
	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/manual"
)

func init() { cli.Extend(func() any { return new(commands) }, said) }

type commands struct {
	Serve serveCmd `cmd:"" group:"servers" help:"Run an in-memory ZooKeeper for tests, for any client, with faults on request."`
	Proxy proxyCmd `cmd:"" group:"servers" help:"Run a proxy between ZooKeeper and your clients that injects faults."`
}

var (
	statuses = []manual.Status{{Code: console.ExitOK, Meaning: "It was stopped by Control-C or SIGTERM."},
		{Code: console.ExitUnknown, Meaning: "There was an error."}}
	said = manual.Manual{
		"proxy": {Statuses: statuses, Examples: []manual.Example{
			{Meaning: "Inject faults between two servers and their clients.", Unrun: true,
				Line: "torture proxy --servers a:2181,b:2181 --faults all --seed 7 --log faults.jsonl"},
		}},
		"serve": {Statuses: statuses, Examples: []manual.Example{
			{Meaning: "Serve one ZooKeeper on port 2181 of this machine.", Unrun: true, Line: "torture serve --port 2181"},
			{Meaning: "Serve three, with an HTTP address where tests ask for faults.", Unrun: true,
				Line: "torture serve --size 3 --control 127.0.0.1:0"},
		}},
	}
)
