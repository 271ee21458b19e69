package main

import (
	"context"
	"slices"
	"strings"

	campaigns "github.com/zktorture/zktorture/campaign"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/zoo"
)

// identitySeeds is the number of hunts of each animal, with the seeds from 1 on.
const identitySeeds = 6

// kin are animals that make the same mistake, by their titles, in recipes of different libraries.
var kin = [][]string{
	{"W7", "LK12", "ZL14", "L30", "E5"}, {"W1", "W17", "L13", "E7"}, {"L5", "X1", "B15", "Q4"}, {"W5", "ZL10", "L6"},
	{"W14", "L2", "L14", "ZL15", "L7"}, {"W8", "L20"}, {"W19", "ZL11"}, {"LK8", "L10", "L16", "L19", "S4", "E4"},
	{"DQ3", "Q9"}, {"DQ2", "SP6"}, {"P4", "SP5"}, {"DQ7", "DQ11"}, {"W18", "E1", "ZL2", "E2"}, {"W13", "ZL12"},
	{"L28", "ZL8", "S2"}, {"LK6", "ZL6", "SP8", "SP13"}, {"B3", "B12"}, {"W3", "W16"}, {"C1", "C2"}, {"ZL1", "ZL7"},
	{"SP3", "B13", "SP10"}, {"ZL9", "ZL16"},
}

func areKin(a, b string) bool {
	return slices.ContainsFunc(kin, func(group []string) bool {
		return slices.Contains(group, a) && slices.Contains(group, b)
	})
}

// caught is an animal with its smallest stories, one of each seed that found it.
type caught struct {
	zoo.Animal
	stories []*sim.Found
}

// identity is a way to name what is likely the same mistake.
type identity struct {
	Name string
	of   func(f *sim.Found) string
}

var identities = []identity{
	{"the property", func(f *sim.Found) string { return f.Property }},
	{"… and the faults, with what they hit", func(f *sim.Found) string { return f.Property + steps(f, world.KindFault) }},
	{"… and every request", func(f *sim.Found) string {
		return f.Property + steps(f, world.KindFault, world.KindRequest, world.KindExchange)
	}},
	{"the property and the shape", func(f *sim.Found) string {
		id, _ := campaigns.Identify(f.Violation, f.Trace)
		return id
	}},
}

// steps are the lines of some kinds of a story's trace, without what differs from run to run.
func steps(f *sim.Found, kinds ...world.Kind) string {
	var lines []string
	for _, s := range f.Trace {
		if s.N <= f.Steps && slices.Contains(kinds, s.Kind) {
			lines = append(lines, strings.Join([]string{string(s.Kind), s.Fault.String(), string(s.Lost), s.Request}, " "))
		}
	}
	return "\n" + strings.Join(lines, "\n")
}

// told is how well an identity tells mistakes apart.
type told struct {
	Name                   string
	IDs                    int     // of all stories
	Mean                   float64 // of an animal
	Few                    int     // animals with one or two
	Differ                 float64 // percentage of the pairs of stories of one animal
	Kin, OneRecipe, Others shared
}

// shared are pairs of animals that break the same property, and how many of them share an identity.
type shared struct{ Share, Of int }

func (s *shared) add(share bool) { s.Share, s.Of = s.Share+count(share), s.Of+1 }

func measureIdentities(ctx context.Context) (any, error) {
	var all []caught
	for _, a := range zoo.Animals() {
		c := caught{Animal: a}
		for seed := range uint64(identitySeeds) {
			h := zoo.NewHunter(zoo.HuntConfig{Seed: seed + 1, SkipTwin: true})
			catch, err := h.Hunt(ctx, a)
			if err != nil {
				return nil, err
			}
			if catch.Found != nil {
				c.stories = append(c.stories, catch.Found)
			}
		}
		if len(c.stories) > 0 {
			all = append(all, c)
		}
	}
	return identityFacts(all), nil
}

func identityFacts(all []caught) facts {
	var rows []told
	stories := 0
	for _, way := range identities {
		rows = append(rows, tell(way, all))
	}
	ids, shapes := map[string][]string{}, map[string]string{}
	for _, c := range all {
		stories += len(c.stories)
		for _, f := range c.stories {
			id, shape := campaigns.Identify(f.Violation, f.Trace)
			shapes[id] = strings.Join(shape, "; ")
			if !slices.Contains(ids[id], c.ID) {
				ids[id] = append(ids[id], c.ID)
			}
		}
	}
	return facts{
		"Seeds": identitySeeds, "Animals": len(all), "Stories": stories, "Ways": rows, "IDs": ids, "Shapes": shapes,
	}
}

func tell(way identity, all []caught) told {
	t := told{Name: way.Name}
	ids := make([][]string, len(all)) // of each animal
	every := map[string]bool{}
	pairs, differ := 0, 0
	for i, c := range all {
		for j, f := range c.stories {
			id := way.of(f)
			every[id] = true
			for _, other := range c.stories[:j] {
				pairs, differ = pairs+1, differ+count(way.of(other) != id)
			}
			if !slices.Contains(ids[i], id) {
				ids[i] = append(ids[i], id)
			}
		}
		t.Mean += float64(len(ids[i])) / float64(len(all))
		t.Few += count(len(ids[i]) <= 2)
		for j, other := range all[:i] {
			if c.Property == other.Property {
				share := slices.ContainsFunc(ids[i], func(id string) bool { return slices.Contains(ids[j], id) })
				t.compare(c.Animal, other.Animal, share)
			}
		}
	}
	t.IDs, t.Differ = len(every), 100*float64(differ)/float64(max(pairs, 1))
	return t
}

// compare takes two animals that break the same property, and whether they share an identity.
func (t *told) compare(a, b zoo.Animal, share bool) {
	switch {
	case areKin(a.ID, b.ID):
		t.Kin.add(share)
	case a.Twin().Recipe() == b.Twin().Recipe():
		t.OneRecipe.add(share)
	default:
		t.Others.add(share)
	}
}
