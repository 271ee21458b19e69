package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

// zooSeeds is how many hunts there are for each animal, with the seeds from 1 on. Each twin is
// looked at with the first.
const zooSeeds = 10

func measureZoo(ctx context.Context, p *page) error {
	p.line("# The zoo: recipes known to be broken, hunted one by one")
	p.line("")
	p.line("Each animal has one bug and is hunted by `torture zoo` with %d seeds, in at most %s episodes: a fifth", zooSeeds, number(zoo.EpisodesMax))
	p.line("of them sweeps, the others are random. *Episodes* is the median until it was found; the story is")
	p.line("that of seed 1. Its twin is the same recipe without the bug, with all faults. By hand: `make zoo-W1`.")
	p.line("")
	p.table("id", "what is wrong", "origin", "property", "needs", "hunts that found it", "episodes", "clients", "operations", "faults", "steps", "twin")
	hunts, missed, accused := 0, 0, 0
	var stories []zoo.Catch
	first := zoo.NewHunter(zoo.HuntConfig{Seed: 1})
	for _, a := range zoo.Animals() {
		catches, err := huntSeeds(ctx, first, a)
		if err != nil {
			return err
		}
		lost := slices.DeleteFunc(slices.Clone(catches), zoo.Catch.OK)
		hunts, missed = hunts+len(catches), missed+len(lost)
		twin := fmt.Sprintf("clean in %s", number(catches[0].TwinEpisodes))
		if !catches[0].TwinClean {
			twin, accused = "accused", accused+1
		}
		story := catches[0].Found
		if story == nil {
			story = &sim.Found{}
		} else {
			stories = append(stories, catches[0])
		}
		p.row(a.ID, a.Title, a.Source, a.Property, a.Needs, fmt.Sprintf("%d of %d", len(catches)-len(lost), len(catches)),
			number(medianEpisodes(catches)), story.Clients, zoo.Operations(*story), story.Faults, story.Steps, twin)
	}
	p.line("")
	p.line("The median story has %d clients, %d operations, %d faults.", medianOf(stories, func(c zoo.Catch) int { return c.Found.Clients }),
		medianOf(stories, func(c zoo.Catch) int { return zoo.Operations(*c.Found) }),
		medianOf(stories, func(c zoo.Catch) int { return c.Found.Faults }))
	p.line("%d of %d hunts missed (at most 2 %% may); %d twins were accused.", missed, hunts, accused)
	absent(p)
	if 50*missed > hunts || accused > 0 {
		return fmt.Errorf("%w: %d of %d hunts missed, %d twins were accused", errUnexpected, missed, hunts, accused)
	}
	return nil
}

// absent lists the published bugs that have no animal.
func absent(p *page) {
	p.line("")
	p.line("Published bugs without an animal:")
	p.line("")
	for _, a := range zoo.Absentees() {
		p.line("- %s: %s.", a.ID, a.Reason)
	}
}

// huntSeeds hunts with the first seed, for the story and the twin, and then with the others.
func huntSeeds(ctx context.Context, first *zoo.Hunter, a zoo.Animal) (catches []zoo.Catch, err error) {
	for seed := range uint64(zooSeeds) {
		hunter := first
		if seed > 0 {
			hunter = zoo.NewHunter(zoo.HuntConfig{Seed: seed + 1, SkipTwin: true, NoShrink: true})
		}
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
func medianEpisodes(catches []zoo.Catch) int {
	return medianOf(catches, func(c zoo.Catch) int { return c.Episodes })
}

func medianOf(catches []zoo.Catch, of func(zoo.Catch) int) int {
	if len(catches) == 0 {
		return 0
	}
	var all []int
	for _, c := range catches {
		all = append(all, of(c))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
