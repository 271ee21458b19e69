package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/results/internal/measure"
	"github.com/zktorture/zktorture/zoo"
)

// chases are hunts for an animal, all of as many episodes.
func chases(strategy, animal string, episodes int) (all []chase) {
	for seed := range uint64(searchSeeds) {
		all = append(all, chase{strategy, animal, searchSeed + seed, true, episodes, "0"})
	}
	return all
}

// searchedPage is the page of hunts for two animals, one of which was in vain.
func searchedPage() any {
	record := slices.Concat(chases("mix", "W7", 500), chases("random", "W7", 1000), chases(before, "W7", 2000),
		chases("mix", "W9", 1000), chases("random", "W9", 2000), chases(before, "W9", 4000))
	record[0].Found = false
	page, _ := searchPage(record)
	return page
}

// A mix that is not as good as promised is a problem, each way of it.
func TestSearchPromises(t *testing.T) {
	random := slices.Concat(chases(before, "W7", 1000), chases(before, "W9", 2000))
	missed := chases("mix", "W7", 100)
	missed[0].Found, missed[1].Found = false, false
	for want, mix := range map[string][]chase{
		"":                                slices.Concat(chases("mix", "W7", 500), chases("mix", "W9", 1200)),
		"the sum of the medians is 45001": chases("mix", "X6", 45001),
		"1 animals were missed":           missed,
		"the ten take 0.51":               chases("mix", "W7", 510),
		"the six take 0.61":               chases("mix", "W9", 1220),
		"11 medians are above 1000": slices.Concat(chases("mix", "1", 1001), chases("mix", "2", 1001), chases("mix", "3", 1001),
			chases("mix", "4", 1001), chases("mix", "5", 1001), chases("mix", "6", 1001), chases("mix", "7", 1001),
			chases("mix", "8", 1001), chases("mix", "9", 1001), chases("mix", "10", 1001), chases("mix", "11", 1001)),
	} {
		_, problem := searchPage(append(mix, random...))
		switch {
		case want == "" && problem != nil:
			t.Error(problem)
		case want != "" && (!errors.Is(problem, errUnexpected) || !strings.Contains(problem.Error(), want)):
			t.Errorf("the problem is %v, and should be that %s", problem, want)
		}
	}
}

// The interval holds the value, is wider where hunts differ more, and is the same each time.
func TestBootstrap(t *testing.T) {
	some, others := [][]int{{100, 200, 400, 800}, {50, 50, 50, 50}}, [][]int{{200, 400, 800, 1600}, {100, 100, 100, 100}}
	r := measure.Bootstrap(measure.GeometricMean, some, others)
	if r.Value < 0.499 || r.Value > 0.501 || r.Low > 0.4 || r.High < 0.6 || r.Low < 0.2 || r.High > 1.2 {
		t.Errorf("half as many are %v", r)
	}
	if again := measure.Bootstrap(measure.GeometricMean, some, others); again != r {
		t.Errorf("%v, and %v the second time", r, again)
	}
	if r := measure.Bootstrap(measure.SumOfMedians, some[1:], others[1:]); r != (measure.Ratio{Value: 0.5, Low: 0.5, High: 0.5}) {
		t.Errorf("hunts that do not differ are %v", r)
	}
	if r := measure.Bootstrap(measure.SumOfMedians, nil, others); r != (measure.Ratio{}) {
		t.Errorf("no hunts are %v", r)
	}
}

// What is recorded is not hunted again, unless the strategy's episodes are others now.
func TestSearchGoesOn(t *testing.T) {
	testkit.ManyWorlds(t)
	t.Chdir(t.TempDir())
	if err := os.Mkdir("results", 0o755); err != nil {
		t.Fatal(err)
	}
	found, err := zoo.Find([]string{"P3"})
	if err != nil {
		t.Fatal(err)
	}
	hunt := func() []chase {
		old, err := measure.ReadLines[chase](searchRecord)
		s := &search{old: old}
		if err = errors.Join(err, s.hunt(t.Context(), found[0], "mix")); err != nil {
			t.Fatal(err)
		}
		return s.record
	}
	first := hunt()
	if len(first) != searchSeeds || !first[0].Found || first[0].Episodes < 1 {
		t.Fatalf("hunted %+v", first)
	}
	edited := slices.Clone(first)
	edited[0].Episodes, edited[1].Episodes, edited[1].Hash = 7777, 8888, "other"
	if err := writeChases(edited, nil); err != nil {
		t.Fatal(err)
	}
	again := hunt()
	if again[0].Episodes != 7777 || again[1] != first[1] || !slices.Equal(again[2:], first[2:]) {
		t.Errorf("after %+v it has\n%+v", edited, again)
	}
}
