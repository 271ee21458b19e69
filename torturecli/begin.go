package torturecli

import (
	"fmt"

	"github.com/zktorture/zktorture/storyindex"
)

// begin is what the run is, for who finds its folder.
func (r *runCmd) begin() storyindex.Begin {
	b := storyindex.Begin{
		Workload: r.Workload, Recipe: r.Recipe, Backend: r.Backend, Strategy: r.Strategy, Seed: *r.Seed,
		Faults: r.faultList(), Plan: r.Plan, Clients: r.Clients, Ops: r.Ops, Episodes: r.Episodes, Duration: r.Duration.Seconds(),
	}
	if r.Backend == "ensemble" {
		b.Nodes = r.Nodes
	}
	return b
}

// begin writes into the user's folder what the run is.
func (o *output) begin(b storyindex.Begin) error {
	if !o.named {
		return nil
	}
	if err := storyindex.WriteBegin(o.dir, b); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}
