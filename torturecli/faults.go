package torturecli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/zktorture/zktorture/ensemble/netns"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/worker"
	"github.com/zktorture/zktorture/workload"
)

// liveFaults are the faults of a run on real servers. "all" leaves out those that cannot strike there; naming one is
// an error.
func (r *runCmd) liveFaults(w *workload.Workload) (live.FaultSet, error) {
	if r.faultPlan != nil {
		set := r.faultPlan.Faults()
		return set, r.strikable(w, set)
	}
	set, err := live.ParseFaults(r.faultList())
	if err != nil {
		return set, err
	}
	if !strings.Contains(r.faultList(), "all") {
		return set, r.strikable(w, set)
	}
	if r.noProcesses(w) != nil {
		set.Clients &^= live.ProcessFaults
	}
	set.Servers &^= r.unhurt(set.Servers)
	return set, nil
}

// strikable returns an error for a fault that cannot strike in this run.
func (r *runCmd) strikable(w *workload.Workload, set live.FaultSet) error {
	if why := r.noProcesses(w); why != nil && set.Clients&live.ProcessFaults != 0 {
		return fmt.Errorf("pause and crash strike processes, but %w", why)
	}
	if cannot := r.unhurt(set.Servers); cannot != live.NoServerFaults {
		return fmt.Errorf("%v: %s", cannot, r.why())
	}
	return nil
}

// noProcesses says why clients cannot be in processes of their own, or returns nil.
func (r *runCmd) noProcesses(w *workload.Workload) error {
	if r.Auth != "" || r.Rate != 0 {
		return fmt.Errorf("clients in processes of their own do not support --auth and --rate: leave them out")
	}
	_, err := worker.InProcesses(w)
	return err
}

// linked tells whether a fault may strike clients, or the servers behind them, so that links are needed.
func (r *runCmd) linked() bool { return r.may != live.FaultSet{} }

// unhurt are those of the faults that spare the run's servers.
func (r *runCmd) unhurt(set live.ServerFaults) live.ServerFaults {
	switch {
	case r.Backend == "live":
		return set
	case r.Nodes == 1:
		return set & (live.PartitionServer | live.LagServer)
	case r.Backend == "serve":
		return set & live.PartitionServer
	}
	return live.NoServerFaults
}

func (r *runCmd) why() string {
	if r.Backend == "live" {
		return "nothing is ever done to servers of yours: these strike with --backend ensemble only"
	}
	if r.Nodes != 1 {
		return "the servers of --backend serve have no links that could be cut: --backend ensemble"
	}
	return "a single server has no others that it could lose, or hear late of: --nodes 3"
}

// partitions tells whether servers may be partitioned, for which they need network namespaces.
func (r *runCmd) partitions() bool {
	drawn := r.may.Servers == live.AtLeader && r.faultPlan == nil
	return r.may.Servers.Has(live.PartitionServer) || drawn && r.Nodes > 1
}

// gainNetworks makes sure that network namespaces can be made, if they are needed. It may run this program again.
func (r *runCmd) gainNetworks() error {
	if r.Backend != "ensemble" || !r.partitions() {
		return nil
	}
	if err := netns.Gain(); err != nil {
		return fmt.Errorf("servers cannot be partitioned here: %w. Leave out partition: --faults %v,%v", err,
			r.may.Clients, r.may.Servers&^live.PartitionServer)
	}
	return nil
}

// plan reads the fault plan, if the user gave one.
func (r *runCmd) plan() (*live.FaultPlan, error) {
	if r.Plan == "" {
		return nil, nil
	}
	in, err := os.Open(r.Plan)
	if err != nil {
		return nil, fmt.Errorf("--plan: %w", err)
	}
	defer in.Close()
	plan, err := live.ReadFaultPlan(in)
	if err != nil {
		return nil, fmt.Errorf("--plan %s: %w", r.Plan, err)
	}
	for _, f := range plan.Servers {
		if err := f.Validate(r.Nodes); err != nil {
			return nil, fmt.Errorf("--plan %s: %w", r.Plan, err)
		}
	}
	return plan, nil
}

// planRounds is the default number of rounds of a printed plan.
const planRounds = 100

// printPlan prints the faults that the seed draws, in the format of --plan.
func (r *runCmd) printPlan(c *commandContext, w *workload.Workload) error {
	unopened := func(context.Context) (*live.Session, error) { return nil, errors.New("a plan opens no sessions") }
	cfg := r.live()
	cfg.Rounds, cfg.Duration = cmp.Or(cfg.Rounds, planRounds), cmp.Or(cfg.Duration, liveDuration)
	foreign := strings.HasPrefix(r.Recipe, worker.Foreign)
	if !foreign && !r.processesOnly() {
		cfg.Open = unopened
	}
	if foreign || r.needsProcesses() {
		cfg.Start = unopened
	}
	plan, err := live.DrawPlan(w, cfg)
	if err != nil {
		return err
	}
	return plan.Write(c.out)
}
