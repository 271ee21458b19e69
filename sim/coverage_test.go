package sim_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/internal/cover"
	"github.com/zktorture/zktorture/sim/world"
)

// What was seen depends on the seed alone: neither on the number of workers nor on the order in which episodes end.
func TestCoverageDoesNotDependOnWorkers(t *testing.T) {
	for strategy := range sim.Strategies {
		cfg := sim.Config{Episodes: 400, Seed: 5, Strategy: strategy, Workers: 1, Coverage: true,
			Near: sim.NearFor(strategy)}
		one := run(t, find(t, "lock", ""), cfg).Coverage
		cfg.Workers = 4
		four := run(t, find(t, "lock", ""), cfg).Coverage
		if !reflect.DeepEqual(one, four) {
			t.Errorf("%s:\n%v\nwith one worker, and with four\n%v", strategy, one, four)
		}
	}
}

// Who looks changes nothing.
func TestCoverageChangesNoRun(t *testing.T) {
	for strategy := range sim.Strategies {
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
		if c := r.Coverage; err != nil || c.Episodes != r.Episodes || r.Episodes > 0 && c.States == 0 {
			t.Errorf("%v: %d episodes, coverage %+v", err, r.Episodes, c)
		}
	}
}

// What is said of the faults adds up: what was offered was struck, or is listed. There is a way to lose the reply of a
// create of an acquire, in the place where that is possible and in no other.
func TestPlacements(t *testing.T) {
	c := run(t, find(t, "lock", ""), sim.Config{Episodes: 600, Seed: 1, Coverage: true}).Coverage
	if c.Offered != c.Struck+len(c.Never) || c.Struck == 0 || c.Pairs == 0 {
		t.Errorf("%d offered, %d struck, %d never, %d pairs", c.Offered, c.Struck, len(c.Never), c.Pairs)
	}
	for _, p := range c.Never {
		if p.Fault == "cancel" && p.Operation == "" {
			t.Errorf("the caller of no operation could give up: %v", p)
		}
	}
	sum, faults, left := sim.FaultCoverage{}, map[string]sim.FaultCoverage{}, 0
	for _, f := range c.Faults {
		sum.Offered, sum.Struck = sum.Offered+f.Offered, sum.Struck+f.Struck
	}
	if sum != (sim.FaultCoverage{Offered: c.Offered, Struck: c.Struck}) {
		t.Errorf("%+v is the sum of the faults", sum)
	}
	for _, of := range c.Operations {
		for fault, f := range of {
			sum := faults[fault]
			faults[fault] = sim.FaultCoverage{Offered: sum.Offered + f.Offered, Struck: sum.Struck + f.Struck}
		}
	}
	if !maps.Equal(faults, c.Faults) {
		t.Errorf("%v is the sum of the operations, not %v", faults, c.Faults)
	}
	for _, p := range c.Never {
		if p.Operation == "acquire" && p.Fault == "loss" {
			left++
		}
	}
	if f := c.Operations["acquire"]["loss"]; f.Struck == 0 || f.Offered-f.Struck != left {
		t.Errorf("%+v is said of lost connections in acquires, and %d ways are left", f, left)
	}
	few := run(t, find(t, "lock", ""), sim.Config{Episodes: 3, Seed: 1, Faults: world.Loss, Coverage: true}).Coverage
	for _, p := range few.Never {
		if p.Fault != "loss" || p.Variant == "reply lost" && (p.Place != "on its way" || p.Request == "") {
			t.Errorf("a fault could strike so: %s: %v", p.Fault, p)
		}
	}
	if !slices.ContainsFunc(few.Never, func(p cover.Placement) bool { return p.Variant == "reply lost" }) {
		t.Error("in three episodes every reply was lost")
	}
}

// Of more episodes more is seen, and less of it is new.
func TestCoverageGrows(t *testing.T) {
	cfg := sim.Config{Episodes: 100, Seed: 1, Coverage: true}
	few := run(t, find(t, "counter", ""), cfg).Coverage
	cfg.Episodes = 1000
	many := run(t, find(t, "counter", ""), cfg).Coverage
	if many.Offered < few.Offered || many.Struck <= few.Struck || many.States <= few.States || many.Next >= few.Next {
		t.Errorf("%v\nand of ten times as many\n%v", few, many)
	}
}
