package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

const (
	millionEpisodes = 1_000_000
	millionSeed     = 1
	memoryMax       = 200 // MB
)

// millionRuns are the recipes that must not break once in a million episodes.
var millionRuns = []struct{ kind, recipe string }{
	{"lock", workload.Ours},
	{"queue", workload.Ours},
	{"queue", "ours/receipts"},
}

func measureMillion(ctx context.Context, p *page) error {
	p.line("# A million episodes each")
	p.line("")
	p.line("`torture run KIND --recipe RECIPE --faults all --episodes %d --seed %d`, all checks on.", millionEpisodes, millionSeed)
	p.line("")
	p.table("workload", "recipe", "verdict", "violations", "unknown", "episodes", "operations", "steps", "time", "episodes/s", "hash")
	var results []sim.Result
	var problem error
	for _, run := range millionRuns {
		r, err := million(ctx, run.kind, run.recipe)
		if err != nil {
			return err
		}
		results = append(results, r)
		p.row(r.Workload, r.Recipe, r.Verdict, violated(r), r.Undecided, number(r.Episodes), number(r.Operations), number(r.Steps),
			r.Elapsed.Round(time.Second), number(int(float64(r.Episodes)/r.Elapsed.Seconds())), "`"+sim.FormatHash(r.Hash)+"`")
		if r.Verdict != sim.VerdictOK || r.Interrupted {
			problem = errors.Join(problem, fmt.Errorf("%w: %s (%s): %s %s", errUnexpected, r.Workload, r.Recipe, r.Verdict, r.Reason))
		}
	}
	struckTable(p, results)
	return errors.Join(problem, memoryLine(p))
}

// violated counts the episodes with a violation, by property.
func violated(r sim.Result) (n int) {
	for _, v := range r.Violations {
		n += v.Times
	}
	return n
}

func million(ctx context.Context, kind, recipe string) (sim.Result, error) {
	w, err := workload.Find(kind, recipe)
	if err != nil {
		return sim.Result{}, err
	}
	last := time.Now()
	return sim.Run(ctx, w, sim.Config{Episodes: millionEpisodes, Seed: millionSeed, Faults: sim.AllFaults, Progress: func(p sim.Progress) {
		if time.Since(last) > 10*time.Second {
			last = time.Now()
			fmt.Fprintf(os.Stderr, "%s (%s): %d of %d episodes\n", kind, recipe, p.Episodes, p.Of)
		}
	}})
}

// struckTable says how often each fault struck.
func struckTable(p *page, results []sim.Result) {
	p.line("")
	p.line("How often each fault struck:")
	p.line("")
	heads := []any{"fault"}
	for _, r := range results {
		heads = append(heads, r.Workload+" ("+r.Recipe+")")
	}
	p.table(heads...)
	for _, name := range sim.FaultNames {
		cells := []any{name}
		for _, r := range results {
			cells = append(cells, number(r.Struck[name]))
		}
		p.row(cells...)
	}
}

func memoryLine(p *page) error {
	mb, ok := peakMemory()
	if !ok {
		return nil
	}
	p.line("")
	p.line("Peak resident memory of the process that ran all of them: %d MB (at most %d MB are promised).", mb, memoryMax)
	if mb > memoryMax {
		return fmt.Errorf("%w: %d MB of memory, at most %d are promised", errUnexpected, mb, memoryMax)
	}
	return nil
}
