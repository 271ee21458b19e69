package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

const (
	speedEpisodes = 10_000
	speedRounds   = 5
)

// speedRuns are the recipes whose speed is measured.
var speedRuns = []struct{ kind, recipe string }{
	{"lock", workload.Ours},
	{"queue", workload.Ours},
	{"queue", "ours/receipts"},
}

// memoryMax is how much memory a campaign may take, in MB, however long it is.
const memoryMax = 200

// pace is what one measured campaign cost.
type pace struct {
	result        sim.Result
	bytes, allocs float64 // a step
}

func (p pace) episodes() float64 { return float64(p.result.Episodes) / p.result.Elapsed.Seconds() }
func (p pace) steps() float64    { return float64(p.result.Steps) / p.result.Elapsed.Seconds() }

func measureSpeed(ctx context.Context, p *page) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p.line("# Speed on one core")
	p.line("")
	p.line("GOMAXPROCS is 1; up to 3 clients, all faults, all checks on; the median of %d campaigns of %s episodes.", speedRounds, number(speedEpisodes))
	p.line("An episode that draws more clients and operations has more steps, so both figures count.")
	p.line("")
	p.table("workload", "recipe", "episodes/s", "steps/s", "steps an episode", "bytes a step", "allocations a step")
	for _, run := range speedRuns {
		m, err := median(ctx, run.kind, run.recipe)
		if err != nil {
			return err
		}
		p.row(run.kind, run.recipe, number(int(m.episodes())), number(int(m.steps())),
			fmt.Sprintf("%.1f", float64(m.result.Steps)/float64(m.result.Episodes)), fmt.Sprintf("%.0f", m.bytes), fmt.Sprintf("%.1f", m.allocs))
	}
	return memoryLine(p)
}

// median measures a recipe several times and returns the median by episodes a second.
func median(ctx context.Context, kind, recipe string) (pace, error) {
	w, err := workload.Find(kind, recipe)
	if err != nil {
		return pace{}, err
	}
	var all []pace
	for seed := range uint64(speedRounds) {
		one, err := measurePace(ctx, w, seed+1)
		if err != nil {
			return pace{}, err
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b pace) int { return int(a.episodes() - b.episodes()) })
	return all[len(all)/2], nil
}

func measurePace(ctx context.Context, w sim.Workload, seed uint64) (pace, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, err := sim.Run(ctx, w, sim.Config{Episodes: speedEpisodes, Seed: seed, Faults: sim.AllFaults, Workers: 1})
	runtime.ReadMemStats(&after)
	if err == nil && r.Verdict != sim.VerdictOK {
		err = fmt.Errorf("%w: %s (%s), seed %d: %s %s", errUnexpected, r.Workload, r.Recipe, seed, r.Verdict, r.Reason)
	}
	steps := float64(max(r.Steps, 1))
	return pace{r, float64(after.TotalAlloc-before.TotalAlloc) / steps, float64(after.Mallocs-before.Mallocs) / steps}, err
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
