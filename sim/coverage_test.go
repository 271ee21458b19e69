package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// Who looks changes nothing.
func TestCoverageChangesNoRun(t *testing.T) {
	for strategy := range someStrategies() {
		w := find(t, "lock", "")
		cfg := sim.Config{Episodes: 130, Seed: 5, Faults: world.EveryFault, Strategy: strategy, Near: sim.NearFor(strategy)}
		without := run(t, w, cfg)
		cfg.Coverage = true
		if with := run(t, w, cfg); with.Hash != without.Hash || without.Coverage != nil || with.Coverage == nil {
			t.Errorf("%s: hash %x, and %x where coverage is measured", strategy, without.Hash, with.Hash)
		}
	}
}

// A campaign that ends early says what was seen until then.
func TestCoverageOfWhatWasRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := sim.Config{Episodes: 1 << 30, Coverage: true, Progress: func(p sim.Progress) {
		if p.Episodes > 0 {
			cancel()
		}
	}}
	for _, cfg := range []sim.Config{cfg, {Duration: 50 * time.Millisecond, Coverage: true}} {
		r, err := sim.Run(ctx, find(t, "lock", ""), cfg)
		if c := r.Coverage; err != nil || c == nil || r.Episodes >= 64 && len(c) == 0 {
			t.Errorf("%v: %d episodes, coverage %+v", err, r.Episodes, c)
		}
	}
}

// The faults that strike are of all kinds, and what they find is of the recipe: no caller gives up outside of an operation.
func TestWaysForFaults(t *testing.T) {
	r := run(t, find(t, "lock", ""), sim.Config{Episodes: 600, Seed: 1, Coverage: true})
	struck := map[string]bool{}
	for way, taken := range r.Coverage {
		struck[way.Fault] = struck[way.Fault] || taken
		if way.Fault == "cancel" && way.Operation == "" {
			t.Errorf("the caller of no operation could give up: %v", way)
		}
		if taken && r.Struck[way.Fault] == 0 {
			t.Errorf("what has not struck was taken: %v", way)
		}
	}
	for _, fault := range []string{"loss", "expiry", "cancel", "pause", "lag"} {
		if !struck[fault] {
			t.Errorf("no way for %s was taken", fault)
		}
	}
	if !r.Coverage[world.Way{Fault: "loss", Operation: "acquire", Request: "create"}] {
		t.Error("no connection was lost while an acquire had sent its create")
	}
	few := run(t, find(t, "lock", ""), sim.Config{Episodes: 3, Seed: 1, Faults: world.Loss, Coverage: true}).Coverage
	for way := range few {
		if way.Fault != "loss" {
			t.Errorf("a fault that was left out could strike: %v", way)
		}
	}
	if few.Struck() == 0 || few.Struck() == len(few) {
		t.Errorf("of what was offered in three episodes, %v", few)
	}
}

// Of more episodes more is seen.
func TestCoverageGrows(t *testing.T) {
	cfg := sim.Config{Episodes: 100, Seed: 1, Coverage: true}
	few := run(t, find(t, "counter", ""), cfg).Coverage
	cfg.Episodes = 1000
	many := run(t, find(t, "counter", ""), cfg).Coverage
	if len(many) < len(few) || many.Struck() <= few.Struck() {
		t.Errorf("%v\nand of ten times as many\n%v", few, many)
	}
}
