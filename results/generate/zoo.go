package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// zooSeeds is how many hunts there are for each animal, with the seeds from 1 on. Each twin is
// looked at with the first.
const zooSeeds = 10

func measureZoo(ctx context.Context, p *page) error {
	p.line("# The zoo: recipes known to be broken, hunted one by one")
	p.line("")
	p.line("Each animal has one bug and is hunted by `torture zoo` with %d seeds, in at most %s episodes: a fifth", zooSeeds, number(workload.EpisodesMax))
	p.line("of them sweeps, the others are random. *Episodes* is the median until it was found; the story is")
	p.line("that of seed 1. Its twin is the same recipe without the bug, with all faults. By hand: `make zoo-W1`.")
	p.line("")
	p.table("id", "what is wrong", "origin", "property", "needs", "hunts that found it", "episodes", "clients", "operations", "faults", "steps", "twin")
	hunts, missed, accused := 0, 0, 0
	for _, a := range workload.Zoo() {
		catches, err := huntSeeds(ctx, a)
		if err != nil {
			return err
		}
		lost := slices.DeleteFunc(slices.Clone(catches), workload.Catch.OK)
		hunts, missed = hunts+len(catches), missed+len(lost)
		twin := fmt.Sprintf("clean in %s", number(catches[0].TwinEpisodes))
		if !catches[0].TwinClean {
			twin, accused = "accused", accused+1
		}
		story := catches[0].Found
		if story == nil {
			story = &sim.Found{}
		}
		p.row(a.ID, a.Title, a.Source, a.Property, a.Needs, fmt.Sprintf("%d of %d", len(catches)-len(lost), len(catches)),
			number(medianEpisodes(catches)), story.Clients, workload.Operations(*story), story.Faults, story.Steps, twin)
	}
	p.line("")
	p.line("%d of %d hunts missed (at most 2 %% may); %d twins were accused.", missed, hunts, accused)
	if 50*missed > hunts || accused > 0 {
		return fmt.Errorf("%w: %d of %d hunts missed, %d twins were accused", errUnexpected, missed, hunts, accused)
	}
	return nil
}

func huntSeeds(ctx context.Context, a workload.Animal) (catches []workload.Catch, err error) {
	for seed := range uint64(zooSeeds) {
		hunter := workload.NewHunter(workload.HuntConfig{Seed: seed + 1, SkipTwin: seed > 0})
		c, err := hunter.Hunt(ctx, a)
		if err != nil {
			return nil, err
		}
		catches = append(catches, c)
	}
	fmt.Fprintf(os.Stderr, "%s: median of %d episodes\n", a.ID, medianEpisodes(catches))
	return catches, nil
}

// medianEpisodes is the median of the episodes in which an animal was found; a hunt in vain counts
// with all that were run.
func medianEpisodes(catches []workload.Catch) int {
	var episodes []int
	for _, c := range catches {
		episodes = append(episodes, c.Episodes)
	}
	slices.Sort(episodes)
	return episodes[len(episodes)/2]
}
