package main

import (
	"context"
	"fmt"
	"os"

	"github.com/zktorture/zktorture/results/internal/measure"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

// zooSeeds is the number of hunts of each animal, with the seeds from 1 on. Each twin is run with the first.
const zooSeeds = 10

// animal is the result of an animal's hunts.
type animal struct {
	zoo.Animal
	Catches []zoo.Catch // the first has the story
	Hits    int         // hunts that found it
}

// Found reports whether there is a story.
func (a animal) Found() bool { return a.Catches[0].Found != nil }

// Story is the story, or an empty one.
func (a animal) Story() sim.Found {
	if !a.Found() {
		return sim.Found{}
	}
	return *a.Catches[0].Found
}

// Operations counts the story's operations.
func (a animal) Operations() int { return zoo.Operations(a.Story()) }

// Median is the median of the episodes in which it was found. A failed hunt counts with all its episodes.
func (a animal) Median() int {
	return measure.MedianOf(a.Catches, func(c zoo.Catch) int { return c.Episodes })
}

// Twin is the result of its twin.
func (a animal) Twin() string {
	if !a.Catches[0].TwinClean {
		return "accused"
	}
	return "clean in " + number(a.Catches[0].TwinEpisodes)
}

func measureZoo(ctx context.Context) (data any, problem error) {
	hunts, missed, accused, sum, rare := 0, 0, 0, 0, 0
	var all, told []animal
	first := zoo.NewHunter(zoo.HuntConfig{Seed: 1})
	for _, each := range zoo.Animals() {
		a, err := huntSeeds(ctx, first, each)
		if err != nil {
			return nil, err
		}
		hunts, missed = hunts+len(a.Catches), missed+len(a.Catches)-a.Hits
		accused += count(!a.Catches[0].TwinClean)
		sum, rare = sum+a.Median(), rare+count(a.Median() > 1000)
		if all = append(all, a); a.Found() {
			told = append(told, a)
		}
	}
	if 50*missed > hunts || accused > 0 {
		problem = fmt.Errorf("%w: %d of %d hunts missed, %d twins were accused", errUnexpected, missed, hunts, accused)
	}
	return facts{
		"Seeds": zooSeeds, "EpisodesMax": zoo.EpisodesMax, "Animals": all, "Absentees": zoo.Absentees(),
		"Missed": missed, "Hunts": hunts, "Accused": accused, "Sum": sum, "Rare": rare,
		"Clients":    measure.MedianOf(told, func(a animal) int { return a.Story().Clients }),
		"Operations": measure.MedianOf(told, animal.Operations),
		"Faults":     measure.MedianOf(told, func(a animal) int { return a.Story().Faults }),
	}, problem
}

// huntSeeds hunts with the first seed, for the story and the twin, and then with the others.
func huntSeeds(ctx context.Context, first *zoo.Hunter, each zoo.Animal) (animal, error) {
	a := animal{Animal: each}
	for seed := range uint64(zooSeeds) {
		hunter := first
		if seed > 0 {
			hunter = zoo.NewHunter(zoo.HuntConfig{Seed: seed + 1, SkipTwin: true, NoShrink: true})
		}
		c, err := hunter.Hunt(ctx, each)
		if err != nil {
			return a, err
		}
		a.Catches, a.Hits = append(a.Catches, c), a.Hits+count(c.OK())
	}
	fmt.Fprintf(os.Stderr, "%s: median of %d episodes\n", a.ID, a.Median())
	return a, nil
}
