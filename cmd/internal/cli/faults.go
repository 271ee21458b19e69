package cli

import (
	"fmt"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/workload"
)

// faults are those of a run on real servers. "all" leaves out those that cannot strike there; naming one is
// an error.
func (r *LiveCmd) faults(w *workload.Workload) (strike.Set, error) {
	set := r.Faults.set
	if !strings.Contains(r.Faults.text, "all") {
		return set, r.strikable(w, set)
	}
	if r.noProcesses(w) != nil {
		set &^= live.ProcessFaults
	}
	set &^= r.unhurt(set)
	return set, nil
}

// strikable returns an error for a fault that cannot strike in this run.
func (r *LiveCmd) strikable(w *workload.Workload, set strike.Set) error {
	if why := r.noProcesses(w); why != nil && set&live.ProcessFaults != 0 {
		return fmt.Errorf("pause and crash strike processes, but %w", why)
	}
	if cannot := r.unhurt(set); cannot != 0 {
		return fmt.Errorf("%v: %s", cannot, r.why())
	}
	return nil
}

// noProcesses says why clients cannot be in processes of their own, or returns nil.
func (r *LiveCmd) noProcesses(w *workload.Workload) error {
	if r.Auth != "" {
		return fmt.Errorf("clients in processes of their own do not support --auth: leave it out")
	}
	_, err := worker.InProcesses(w)
	return err
}

// unhurt are those of the faults that spare the run's servers.
func (r *LiveCmd) unhurt(set strike.Set) (spared strike.Set) {
	for f := range (set & live.ServerFaults).Each() {
		if r.backend == "live" || !f.Strikes(r.nodes) {
			spared |= strike.SetOf(f)
		}
	}
	return spared
}

func (r *LiveCmd) why() string {
	if r.backend == "live" {
		return "your own servers are never harmed: these faults need --start"
	}
	return "a single server has no others that it could lose, or hear late of: start 3"
}
