package chaosproxy

import (
	"math"
	"strings"
	"testing"
	"time"
)

// Property: as many requests draw a fault as the odds say, all ways of all faults are drawn, each for as
// long as it may last.
func TestDraw(t *testing.T) {
	const n = 100_000
	for name, odds := range map[string]Odds{"every": {Every: 20}, "by the minute": {PerMinute: 30}} {
		cfg := Config{Faults: Names, Odds: odds, Seed: 7}
		times := map[variant]float64{}
		total := 0.0
		for i := range n {
			if what, due := cfg.draw(i%100, i/100, 100*time.Millisecond); due {
				total++
				times[what.variant]++
				if what.share < what.least || what.share > what.most {
					t.Errorf("%s lasts for %g of the timeout", what.fault+" "+what.name, what.share)
				}
			}
		}
		p := odds.chance(100 * time.Millisecond)
		if mean, deviation := n*p, math.Sqrt(n*p*(1-p)); math.Abs(total-mean) > 5*deviation {
			t.Errorf("%s: %g of %d requests drew a fault, %g are meant", name, total, n, mean)
		}
		for _, v := range variants {
			if times[v] < total/60 {
				t.Errorf("%s: %s was drawn %g times of %g", name, v.fault+" "+v.name, times[v], total)
			}
		}
	}
}

// A minute of requests has the faults of a minute, however many requests they are.
func TestPerMinute(t *testing.T) {
	odds := Odds{PerMinute: 0.6}
	for _, requests := range []int{1, 10, 1000} {
		none := math.Pow(1-odds.chance(time.Minute/time.Duration(requests)), float64(requests))
		if math.Abs(none-math.Exp(-0.6)) > 1e-6 {
			t.Errorf("%d requests in a minute draw nothing with probability %g", requests, none)
		}
	}
}

// What is drawn depends on seed, client and request, on all three, and on nothing else.
func TestDrawAgain(t *testing.T) {
	story := func(seed uint64, client int) string {
		cfg := Config{Faults: Names, Odds: Odds{Every: 10}, Seed: seed}
		var told strings.Builder
		for i := range 1000 {
			if what, due := cfg.draw(client, i, 0); due {
				told.WriteString(what.fault + what.name + " ")
			}
		}
		return told.String()
	}
	if first, again := story(1, 1), story(1, 1); first != again {
		t.Error("equal draws differ")
	}
	if story(1, 1) == story(2, 1) || story(1, 1) == story(1, 2) {
		t.Error("other seeds or clients draw the same")
	}
}

func TestRefuses(t *testing.T) {
	if names, err := ParseFaults("watch,loss"); err != nil || strings.Join(names, " ") != "watch loss" {
		t.Errorf("%q, %v", names, err)
	}
	if names, err := ParseFaults("none"); err != nil || len(names) > 0 {
		t.Errorf("none is %q, %v", names, err)
	}
	for _, list := range []string{"", "loss,", "rain", "all,loss"} {
		if _, err := ParseFaults(list); err == nil ||
			!strings.Contains(err.Error(), "stall, watch, expiry, all and none") {
			t.Errorf("%q: %v", list, err)
		}
	}
	tell := func(Strike) {}
	for name, cfg := range map[string]Config{
		"nobody is told": {Servers: []string{"a"}, Faults: Names, Odds: Odds{Every: 1}},
		"no odds":        {Servers: []string{"a"}, Faults: Names, Struck: tell},
		"both odds":      {Servers: []string{"a"}, Faults: Names, Struck: tell, Odds: Odds{1, 1}},
		"negative":       {Servers: []string{"a"}, Faults: Names, Struck: tell, Odds: Odds{-1, 1}},
		"not a number":   {Servers: []string{"a"}, Faults: Names, Struck: tell, Odds: Odds{0, math.NaN()}},
		"no servers":     {Faults: Names, Struck: tell, Odds: Odds{Every: 1}},
	} {
		if p, err := New(cfg); err == nil {
			p.Close()
			t.Error("no error:", name)
		}
	}
}
