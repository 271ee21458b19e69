package main

import (
	"context"
	"errors"
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

// speedRuns are the measured recipes.
var speedRuns = []struct{ kind, recipe string }{
	{"lock", workload.Ours},
	{"queue", workload.Ours},
	{"queue", "ours/receipts"},
}

// memoryMax bounds the memory of a campaign, in MB, however long it is.
const memoryMax = 200

// pace is the cost of one campaign.
type pace struct {
	sim.Result
	Bytes, Allocs float64 // a step
}

// EpisodesASecond is episodes a second.
func (p pace) EpisodesASecond() int { return int(float64(p.Episodes) / p.Elapsed.Seconds()) }

// StepsASecond is steps a second.
func (p pace) StepsASecond() int { return int(float64(p.Steps) / p.Elapsed.Seconds()) }

// StepsAnEpisode is steps an episode.
func (p pace) StepsAnEpisode() float64 { return float64(p.Steps) / float64(p.Episodes) }

func measureSpeed(ctx context.Context) (data any, problem error) {
	served, problem := measureServedSpeed(ctx)
	if err := fatal(problem, nil); err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var paces []pace
	for _, run := range speedRuns {
		m, err := median(ctx, run.kind, run.recipe)
		if err != nil {
			return nil, err
		}
		paces = append(paces, m)
	}
	mb := peakMemory()
	if mb > memoryMax {
		problem = errors.Join(problem,
			fmt.Errorf("%w: %d MB of memory, at most %d are promised", errUnexpected, mb, memoryMax))
	}
	return facts{"Rounds": speedRounds, "Episodes": speedEpisodes, "Paces": paces, "MB": mb, "Max": memoryMax,
		"Served": served}, problem
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
	slices.SortFunc(all, func(a, b pace) int { return a.EpisodesASecond() - b.EpisodesASecond() })
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
	return pace{r, float64(after.TotalAlloc-before.TotalAlloc) / steps,
		float64(after.Mallocs-before.Mallocs) / steps}, err
}
