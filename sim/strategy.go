package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Strategies are the names of the strategies, with what they do.
var Strategies = map[string]string{
	"mix":    "patterns, conflicts, pos and random in turns, in shares that were measured (results/search.md)",
	"random": "each episode draws its own schedule and its own subset of the faults",
	"pos":    "like random, but both orders of two events that race are about equally likely (partial-order sampling)",
	"conflicts": "faults strike where something depends on them: two clients use one znode, or a client writes " +
		"by what it has read, or uses what the recipe gave it",
	"patterns": "two or three faults that fit each other strike consecutive requests of one client",
	Sweep: "an episode without faults is run again with one fault at every place where it could strike, " +
		"then with sampled pairs and patterns",
	Near:       "each episode begins like a known one, such as a counterexample, and continues at random from a point that is drawn",
	Exhaustive: "all executions with at most --at-most faults, each state once",
}

// Sweep is the strategy that strikes every place of an episode. Its episodes come in blocks of 4,096, each with base episodes
// of its own, so that any of them can be run without all that come before. What is left of the last base of a block is not
// run.
const Sweep = "sweep"

// Near is the strategy whose episodes begin like those of [Config.Near].
const Near = "near"

// Exhaustive is the strategy that runs all executions within a bound, or says why not: see [Extent].
const Exhaustive = "exhaustive"

// CheckStrategy returns an error unless a strategy is one of [Strategies].
func CheckStrategy(name string) error {
	if _, known := Strategies[name]; !known {
		all := strings.Join(slices.Sorted(maps.Keys(Strategies)), ", ")
		return fmt.Errorf("unknown strategy %q: there are %s", name, all)
	}
	return nil
}

// turns are whose the episodes of a mix are, one after the other. The shares are fitted to half of the zoo's animals:
// results/search.md.
var turns = [...]string{
	"patterns", "conflicts", "random", "patterns", "pos", "conflicts", "patterns", "random",
}

// episodeSource is a source that can be set to an episode of a campaign.
type episodeSource interface {
	Source
	reset(seed, episode uint64)
}

// draws makes the sources of a worker's episodes, which use its memory again. Each source depends on the campaign's seed
// and the episode's number alone, so that a campaign can be cut into parts.
type draws struct {
	seed   uint64
	turns  []string
	byName map[string]episodeSource
}

func newDraws(strategy string, seed uint64, near []Choices) *draws {
	d := &draws{seed, []string{strategy}, map[string]episodeSource{
		"random":    newRandomSource(0, 0),
		"pos":       &lookingSource{},
		"conflicts": &lookingSource{aim: &conflicts{}},
		"patterns":  &lookingSource{aim: &patterns{}},
		Near:        &nearSource{forkedSource: forkedSource{random: newRandomSource(0, 0)}, near: near},
	}}
	if strategy == "mix" {
		d.turns = turns[:]
	}
	return d
}

// source returns the source of an episode, which is good until the next one is asked for.
func (d *draws) source(episode uint64) Source {
	s := d.byName[d.turns[episode%uint64(len(d.turns))]]
	s.reset(d.seed, episode)
	return s
}

// MixTurns says whose the episodes of a mix are, one after the other, before it begins again.
func MixTurns() []string { return slices.Clone(turns[:]) }
