package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/results/internal/measure"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

const (
	searchRecord = "results/search.jsonl"
	// The seeds from here on were not used for fitting the shares.
	searchSeed  = 101
	searchSeeds = 10
)

// What a mix is measured by. The sum of the medians was 135,157 while a fifth of a hunt was a sweep and the rest random.
const (
	mediansMax  = 45_000
	slow        = 1000 // episodes
	slowMax     = 10   // animals
	missedMax   = 1    // of ten hunts
	tenRatioMax = 0.5
	sixRatioMax = 0.6
)

// before is random as it was before there were other strategies than it and the sweep, in the world of then. Its hunts were
// recorded once, at that commit, with the seeds and the bound of all others.
const before = "random of " + fasterBase

// Animals that random hardly finds: an expiry has to be learned between two writes, or a moment must be met …
var hardTen = strings.Fields("W7 L30 E5 LK12 ZL14 C9 L6 W18 E1 DQ7")

// … and those that need two faults, several of one, or a special start.
var hardSix = strings.Fields("W9 W6 L20 W8 W15 S2")

// chase is a hunt: a line of the record. Hash is of some of its strategy's episodes: where that is another now, the hunt is
// done again.
type chase struct {
	Strategy string `json:"strategy"`
	Animal   string `json:"animal"`
	Seed     uint64 `json:"seed"`
	Found    bool   `json:"found"`
	Episodes int    `json:"episodes"`
	Hash     string `json:"hash"`
}

// measureSearch measures how many episodes strategies need to find animals: the mix all of them, random the hard ones, and
// the strategies that are asked for all. What is recorded and still holds is not measured again, so that it goes on where
// it was interrupted.
func measureSearch(ctx context.Context, strategies []string) error {
	for _, s := range strategies {
		if err := sim.CheckStrategy(s); err != nil {
			return err
		}
	}
	old, err := measure.ReadLines[chase](searchRecord)
	if err != nil {
		return err
	}
	s := &search{old: old, record: slices.Clone(old)}
	s.record = slices.DeleteFunc(s.record, func(c chase) bool { return c.Strategy != before })
	for _, a := range zoo.Animals() {
		for _, strategy := range s.strategiesFor(a, strategies) {
			if err := s.hunt(ctx, a, strategy); err != nil {
				return err
			}
		}
	}
	return write(ctx, "search", func(context.Context) (any, error) { return searchPage(s.record) })
}

// search is a measurement under way.
type search struct {
	old, record []chase
}

// strategiesFor are those by which an animal is hunted: the mix, random if it is hard, those asked for, and those that
// were.
func (s *search) strategiesFor(a zoo.Animal, asked []string) []string {
	if a.Rate > 0 {
		return nil // a canary is not looked for
	}
	all := append([]string{"mix"}, asked...)
	if slices.Contains(hardTen, a.ID) || slices.Contains(hardSix, a.ID) {
		all = append(all, "random")
	}
	for _, c := range s.old {
		if c.Animal == a.ID && c.Strategy != before {
			all = append(all, c.Strategy)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hunt hunts an animal with all seeds.
func (s *search) hunt(ctx context.Context, a zoo.Animal, strategy string) error {
	hash, err := searchHash(ctx, a, strategy)
	if err != nil {
		return err
	}
	for seed := range uint64(searchSeeds) {
		c := chase{Strategy: strategy, Animal: a.ID, Seed: searchSeed + seed, Hash: hash}
		if at := slices.IndexFunc(s.old, c.same); at >= 0 {
			s.record = append(s.record, s.old[at])
			continue
		}
		hunter := zoo.NewHunter(zoo.HuntConfig{Seed: c.Seed, Strategy: strategy, SkipTwin: true, NoShrink: true})
		catch, err := hunter.Hunt(ctx, a)
		if err != nil {
			return err
		}
		c.Found, c.Episodes = catch.Found != nil, catch.Episodes
		s.record = append(s.record, c)
	}
	fmt.Fprintf(os.Stderr, "%s, %s: median of %d episodes\n", strategy, a.ID, measure.MedianOf(of(s.record, strategy, a.ID), chase.episodes))
	return writeChases(s.record, s.old)
}

// searchHash is a hash of a few of the episodes by which an animal is hunted.
func searchHash(ctx context.Context, a zoo.Animal, strategy string) (string, error) {
	const few = 24
	r, err := sim.Run(ctx, a.Broken(), sim.Config{
		Strategy: strategy, Episodes: few, Faults: a.Faults(), NoFaultsAtAll: true, Clients: a.Clients, NoShrink: true,
	})
	return digest.Hex(r.Hash), err
}

// same reports whether another hunt is this one.
func (c chase) same(other chase) bool {
	return c.Strategy == other.Strategy && c.Animal == other.Animal && c.Seed == other.Seed && c.Hash == other.Hash
}

func (c chase) episodes() int { return c.Episodes }

// of are the hunts of an animal by a strategy.
func of(all []chase, strategy, animal string) (some []chase) {
	for _, c := range all {
		if c.Strategy == strategy && c.Animal == animal {
			some = append(some, c)
		}
	}
	return some
}

// writeChases writes what has been measured, and what was before and is not yet again.
func writeChases(record, old []chase) error {
	all := slices.Clone(record)
	for _, c := range old {
		again := func(other chase) bool {
			return c.Strategy == other.Strategy && c.Animal == other.Animal && c.Seed == other.Seed
		}
		if !slices.ContainsFunc(record, again) {
			all = append(all, c)
		}
	}
	return measure.WriteLines(searchRecord, all)
}

// strategyPace is what a strategy needs. The sums are of the animals' medians.
type strategyPace struct {
	Name           string
	Animals, Sum   int
	Fitted, Others int           // the sum over those to which the shares were fitted, and over the others
	Slow           int           // animals whose median is above slow
	Hunts, Missed  int           // hunts, and those in vain
	Blind          int           // animals that were missed more than missedMax times
	Ten, TenBefore measure.Ratio // of the geometric means of the ten, to random's and to those of before
	Six, SixBefore measure.Ratio // of the sums of the six medians, likewise
}

func searchPage(record []chase) (any, error) {
	var paces []strategyPace
	for _, name := range strategiesOf(record) {
		paces = append(paces, paceOf(record, name))
	}
	mixAt := slices.IndexFunc(paces, func(p strategyPace) bool { return p.Name == "mix" })
	var rows []huntedBy
	for _, id := range idsOf(record) {
		rows = append(rows, rowOf(record, id, strategiesOf(record)))
	}
	slices.SortStableFunc(rows, func(a, b huntedBy) int { return cmp.Compare(b.Mix, a.Mix) })
	return facts{
		"Seeds": searchSeeds, "First": searchSeed, "EpisodesMax": zoo.EpisodesMax, "Paces": paces, "Mix": paces[mixAt],
		"Strategies": strategiesOf(record), "Rows": rows, "HardTen": hardTen, "HardSix": hardSix, "Turns": turnsOf(),
		"MediansMax": mediansMax, "SlowMax": slowMax, "Slow": slow, "TenMax": tenRatioMax, "SixMax": sixRatioMax,
	}, paces[mixAt].problem()
}

// turnsOf says how many of how many episodes of a mix are whose.
func turnsOf() string {
	times := map[string]int{}
	for _, name := range sim.MixTurns() {
		times[name]++
	}
	return fmt.Sprintf("of %d episodes: %s", len(sim.MixTurns()), counts(times))
}

// problem says where the mix is not as good as it should be.
func (p strategyPace) problem() error {
	var found []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			found = append(found, fmt.Errorf("%w: "+format, append([]any{errUnexpected}, args...)...))
		}
	}
	check(p.Sum <= mediansMax, "the sum of the medians is %d, and should be at most %d", p.Sum, mediansMax)
	check(p.Slow <= slowMax, "%d medians are above %d, and at most %d should be", p.Slow, slow, slowMax)
	check(p.Blind == 0, "%d animals were missed more than once in %d hunts", p.Blind, searchSeeds)
	check(within(p.TenBefore, tenRatioMax), "the ten take %.2f times as many episodes as before", p.TenBefore.Value)
	check(within(p.SixBefore, sixRatioMax), "the six take %.2f times as many episodes as before", p.SixBefore.Value)
	return errors.Join(found...)
}

// within reports whether a ratio is known and at most so large.
func within(r measure.Ratio, most float64) bool { return r.Value > 0 && r.Value <= most }

func strategiesOf(record []chase) (all []string) {
	for _, c := range record {
		all = append(all, c.Strategy)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// idsOf are the animals of the record, in the zoo's order.
func idsOf(record []chase) (ids []string) {
	for _, c := range record {
		if c.Strategy == "mix" && !slices.Contains(ids, c.Animal) {
			ids = append(ids, c.Animal)
		}
	}
	return ids
}

// huntedBy is what strategies need for an animal: their medians, "" for one that has not hunted it.
type huntedBy struct {
	ID      string
	Mix     int
	Medians []string
}

func rowOf(record []chase, id string, strategies []string) huntedBy {
	row := huntedBy{ID: id}
	for _, name := range strategies {
		hunts := of(record, name, id)
		text := ""
		if len(hunts) > 0 {
			text = number(measure.MedianOf(hunts, chase.episodes))
		}
		if name == "mix" {
			row.Mix = measure.MedianOf(hunts, chase.episodes)
		}
		row.Medians = append(row.Medians, text)
	}
	return row
}

func paceOf(record []chase, name string) strategyPace {
	p := strategyPace{Name: name}
	for i, id := range idsOf(record) {
		if hunts := of(record, name, id); len(hunts) > 0 {
			p.add(hunts, i%2 == 0)
		}
	}
	against := func(other string, ids []string, statistic func([][]int) float64) measure.Ratio {
		return measure.Bootstrap(statistic, groupOf(record, name, ids), groupOf(record, other, ids))
	}
	p.Ten, p.TenBefore = against("random", hardTen, measure.GeometricMean), against(before, hardTen, measure.GeometricMean)
	p.Six, p.SixBefore = against("random", hardSix, measure.SumOfMedians), against(before, hardSix, measure.SumOfMedians)
	return p
}

// add adds the hunts of an animal. The shares are fitted to every other one.
func (p *strategyPace) add(hunts []chase, fitted bool) {
	median, missed := measure.MedianOf(hunts, chase.episodes), 0
	for _, c := range hunts {
		missed += count(!c.Found)
	}
	p.Animals, p.Sum, p.Slow = p.Animals+1, p.Sum+median, p.Slow+count(median > slow)
	p.Hunts, p.Missed, p.Blind = p.Hunts+len(hunts), p.Missed+missed, p.Blind+count(missed > missedMax)
	if fitted {
		p.Fitted += median
	} else {
		p.Others += median
	}
}

// groupOf are the episodes of the hunts of each of some animals.
func groupOf(record []chase, strategy string, ids []string) (all [][]int) {
	for _, id := range ids {
		var episodes []int
		for _, c := range of(record, strategy, id) {
			episodes = append(episodes, c.Episodes)
		}
		if episodes != nil {
			all = append(all, episodes)
		}
	}
	return all
}
