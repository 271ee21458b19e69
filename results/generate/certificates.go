package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/internal/resource"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/prove"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// searchMax is how long one search may take before it counts as not finished.
const searchMax = 10 * time.Minute

// searches are what is certified of a kind's recipe: of each list of faults one search.
type searches struct {
	kind, recipe string
	clients, ops int
	faults       []world.Faults
	most         int // strikes, if not one
}

// oneFault are no fault, and each single one of a set.
func oneFault(of world.Faults) []world.Faults {
	return slices.Concat([]world.Faults{world.NoFaults}, slices.Collect(of.Each()))
}

// certified are the searches of results/certificates.md.
func certified() (all []searches) {
	few := []world.Faults{world.NoFaults, world.Loss}
	for _, kind := range []string{"lock", "counter", "election", "rwlock", "semaphore", "barrier"} {
		all = append(all, searches{kind: kind, recipe: workload.Ours, clients: 2, ops: 1, faults: oneFault(world.EveryFault)})
	}
	for _, kind := range []string{"queue", "doublebarrier", "twophase"} {
		all = append(all, searches{kind: kind, recipe: workload.Ours, clients: 2, ops: 1, faults: few})
	}
	all = append(all, searches{kind: "lock", recipe: workload.Ours, clients: 3, ops: 1, faults: oneFault(world.AllFaults)},
		searches{kind: "lock", recipe: workload.Ours, clients: 4, ops: 1, faults: few[:1]},
		searches{kind: "lock", recipe: workload.Ours, clients: 2, ops: 1, faults: []world.Faults{world.Loss, world.Expiry}, most: 2})
	for _, kind := range []string{"counter", "election", "rwlock", "semaphore", "barrier"} {
		all = append(all, searches{kind: kind, recipe: workload.Ours, clients: 3, ops: 1, faults: few})
	}
	for _, kind := range []string{"lock", "counter", "queue"} {
		all = append(all, searches{kind: kind, recipe: workload.Ours, clients: 2, ops: 2, faults: few})
	}
	for _, e := range workload.Entries() {
		if strings.HasPrefix(e.Recipe, "ours/") {
			all = append(all, searches{kind: e.Kind, recipe: e.Recipe, clients: 2, ops: 1, faults: few})
		}
	}
	return all
}

// certification is one search with what came of it.
type certification struct {
	tally.Extent
	Kind, Recipe string
	Bound        string
	Faults       string
	Verdict      sim.Verdict
	Command      string
	Sum          string        // of the states
	CPU          time.Duration // processor time of the search, and of all else that the process did meanwhile
}

// measureCertificates searches all executions of the project's recipes within small bounds.
func measureCertificates(ctx context.Context) (any, error) {
	memory.LimitHeap(900 << 20)
	var rows []certification
	var problems []error
	for _, s := range certified() {
		for _, faults := range s.faults {
			row, err := s.search(ctx, faults, searchMax)
			rows, problems = append(rows, row), append(problems, err)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	data := facts{"Rows": rows, "Reductions": prove.Texts(prove.AllReductions), "NotCovered": prove.NotCovered, "Most": searchMax}
	return data, errors.Join(problems...)
}

// search makes one search. The error is of a violation.
func (s searches) search(ctx context.Context, faults world.Faults, most time.Duration) (c certification, err error) {
	w, err := workload.Find(s.kind, s.recipe)
	if err != nil {
		return c, err
	}
	cfg := sim.Config{
		Strategy: sim.Exhaustive, Clients: s.clients, Ops: s.ops, Faults: faults, NoFaultsAtAll: true, AtMost: max(s.most, 1),
		Plain: true, Duration: most,
	}
	if faults == world.NoFaults {
		cfg.AtMost = 0
	}
	before := resource.CPUTime()
	r, err := sim.Run(ctx, w, cfg)
	if err != nil {
		return c, err
	}
	c = certification{
		Extent: r.Extent, CPU: resource.CPUTime() - before, Kind: s.kind, Recipe: s.recipe, Faults: faults.String(), Verdict: r.Verdict,
		Bound: fmt.Sprintf("%d × %d", s.clients, s.ops), Sum: digest.Hex(r.Extent.Digest),
		Command: fmt.Sprintf("torture prove %s --recipe %s --plain --clients %d --ops %d --faults %v "+
			"--at-most %d --certificate FILE", s.kind, s.recipe, s.clients, s.ops, faults, cfg.AtMost),
	}
	if s.most > 1 {
		c.Faults = fmt.Sprintf("%s, up to %d times", c.Faults, s.most)
	}
	if len(r.Violations) > 0 {
		err = fmt.Errorf("%w: %s: %s", errUnexpected, c.Command, r.Violations[0].Message)
	}
	return c, err
}
