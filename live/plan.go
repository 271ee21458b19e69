package live

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/zktorture/zktorture/workload"
)

// DrawPlan returns what the seed draws for so many Rounds of a run, and for its servers within its Duration. Nothing is
// opened: Open and Start only say which clients there are. [Run] lets just that happen, with the same
// configuration or with this Plan. The error is for a configuration with which nothing can be run.
func DrawPlan(w *workload.Workload, config Config) (*FaultPlan, error) {
	cfg := config.withDefaults()
	if err := checkFaults(cfg.Faults); err != nil {
		return nil, err
	}
	r, err := newLiveRun(w, cfg)
	if err != nil {
		return nil, err
	}
	plan := &FaultPlan{Rounds: map[int][]Fault{}}
	for n := range cfg.Rounds {
		if faults := r.draw(int64(n)).faults; len(faults) > 0 {
			plan.Rounds[n] = faults
		}
	}
	next := r.serverStrikes()
	for faults := next(); faults != nil && faults[0].AtMS < cfg.Duration.Milliseconds(); faults = next() {
		plan.Servers = append(plan.Servers, faults...)
	}
	return plan, nil
}

// Write writes a plan as [ReadFaultPlan] reads it: round by round, then what is to happen to servers.
func (p *FaultPlan) Write(w io.Writer) error {
	var lines []any
	for _, n := range slices.Sorted(maps.Keys(p.Rounds)) {
		for _, f := range p.Rounds[n] {
			lines = append(lines, f)
		}
	}
	for _, f := range p.Servers {
		lines = append(lines, f)
	}
	out := json.NewEncoder(w)
	for _, line := range lines {
		if err := out.Encode(line); err != nil {
			return fmt.Errorf("live: the plan cannot be written: %w", err)
		}
	}
	return nil
}
