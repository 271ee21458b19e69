//go:build zktexact

package sim_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// careless is a lock that forgets to release if a select takes the second of two cases that are ready.
type careless struct{ workload.Locker }

func (c careless) Unlock(ctx context.Context) error {
	first, second := make(chan bool, 1), make(chan bool, 1)
	first <- true
	second <- true
	select {
	case <-first:
		return c.Locker.Unlock(ctx)
	case <-second:
		return nil
	}
}

func carelessLock() sim.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return careless{recipes.NewLock(c, path)} })
}

func mapOrderLock() sim.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return mapOrder{recipes.NewLock(c, path), c} })
}

// undecided are recipes that leave something to the Go runtime.
var undecided = map[string]func() sim.Workload{"racing": racingLock, "map": mapOrderLock, "select": carelessLock}

// What the runtime decides is among the choices: to make them again gives the same run, and without them it is another.
func TestExactChoicesAreAll(t *testing.T) {
	for name, make := range undecided {
		w, other := make(), 0
		for seed := range uint64(200) {
			o := sim.RunOne(w, sim.Config{}, sim.NewRandomSource(seed, 1))
			again := sim.RunOne(w, sim.Config{}, o.Choices.Replay())
			if again.Hash != o.Hash || !slices.Equal(again.Choices, o.Choices) {
				t.Fatalf("%s, seed %d: equal choices gave another run", name, seed)
			}
			if calm := sim.RunOne(w, sim.Config{}, calmRuntime{sim.NewRandomSource(seed, 1)}); calm.Hash != o.Hash {
				other++
			}
		}
		if other < 20 {
			t.Errorf("%s: only %d of 200 runs would be others if the runtime were calm", name, other)
		}
	}
}

// calmRuntime makes the choices of another source, and the calmest for the runtime.
type calmRuntime struct{ source world.Source }

func (c calmRuntime) Choose(n int, label string) int {
	if label == world.LabelRuntime {
		return 0
	}
	return c.source.Choose(n, label)
}

// All passing episodes are run twice, and none differs.
func TestExactRunsTwice(t *testing.T) {
	r := run(t, racingLock(), sim.Config{Episodes: 300, Seed: 1, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictOK || r.Rerun.Episodes != 300 || r.Rerun.Differed != 0 {
		t.Errorf("%s, rerun %+v: want 300 equal", r.Verdict, r.Rerun)
	}
	r = run(t, racingLock(), sim.Config{Episodes: 300, Seed: 1, NoFaultsAtAll: true, Once: true})
	if r.Rerun.Episodes > 10 {
		t.Errorf("%d episodes were run again, although once was enough", r.Rerun.Episodes)
	}
}

// counted is a lock that counts all acquisitions of the process, which no bubble knows of.
type counted struct {
	workload.Locker
	conn  recipes.Conn
	count *atomic.Int64
}

func (c counted) Lock(ctx context.Context) error {
	c.conn.Exists(fmt.Sprintf("/%d", c.count.Add(1)))
	return c.Locker.Lock(ctx)
}

// What exact mode does not cover is noticed, with the step.
func TestExactNoticesWhatItDoesNotCover(t *testing.T) {
	var count atomic.Int64
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return counted{recipes.NewLock(c, path), c, &count}
	})
	r := run(t, w, sim.Config{Episodes: 20, Seed: 1, NoFaultsAtAll: true})
	if r.Rerun.Differed < 15 || r.Rerun.First == nil || r.Rerun.First.Step == 0 {
		t.Errorf("rerun %+v: want nearly all to differ, at a step", r.Rerun)
	}
}

// A violation that takes one decision of the runtime's shrinks to just that, and is replayed.
func TestExactShrinks(t *testing.T) {
	w, cfg := carelessLock(), sim.Config{Episodes: 100, Seed: 1, NoFaultsAtAll: true}
	r := run(t, w, cfg)
	if len(r.Violations) == 0 {
		t.Fatal("nobody noticed that it is sometimes not released")
	}
	f := r.Violations[0]
	if f.Divergence != nil || f.Clients > 2 {
		t.Errorf("%d clients, %v", f.Clients, f.Divergence)
	}
	file, err := cfg.Counterexample(r, f)
	if err != nil || !file.Exact {
		t.Fatalf("the file does not say that it is exact: %v", err)
	}
	replayed, err := sim.Replay(w, file)
	if err != nil || replayed.Diverged >= 0 || replayed.Try != 1 || replayed.Violation == nil {
		t.Fatalf("replayed: %+v, %v", replayed, err)
	}
	for i, v := range f.Choices {
		fewer := slices.Clone(f.Choices)
		fewer[i] = 0
		o := sim.RunOne(w, cfg, fewer.Replay())
		if v > 0 && len(o.Violations) > 0 && o.Violations[0].Property == f.Property && o.Tortured <= f.Steps {
			t.Errorf("choice %d need not be %d", i, v)
		}
	}
}

// Sources that cannot say their answers in advance choose a seed instead.
func TestExactForOtherSources(t *testing.T) {
	w, seen := racingLock(), map[uint64]bool{}
	for seed := range uint64(50) {
		hash := sim.HashOne(w, sim.Config{NoFaultsAtAll: true}, chooser{sim.NewRandomSource(seed, 1)})
		if again := sim.HashOne(w, sim.Config{NoFaultsAtAll: true}, chooser{sim.NewRandomSource(seed, 1)}); again != hash {
			t.Fatalf("seed %d: hash %016x, and %016x when it was run again", seed, hash, again)
		}
		seen[hash] = true
	}
	if len(seen) < 40 {
		t.Errorf("only %d of 50 runs differ from each other", len(seen))
	}
	sim.Check(t, workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return racing{recipes.NewLock(c, path), c}
	}), sim.WithEpisodes(50))
}

// chooser hides what a source can do beside choosing.
type chooser struct{ source world.Source }

func (p chooser) Choose(n int, label string) int { return p.source.Choose(n, label) }

// Neither processors nor the garbage collector decide anything.
func TestExactWhateverTheMachineDoes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	hashes := func() (all []uint64) {
		for _, name := range []string{"map", "racing", "select"} {
			hash := sim.NewHasher()
			for seed := range uint64(60) {
				all = append(all, hash(undecided[name](), sim.Config{}, sim.NewRandomSource(seed, 1)))
			}
		}
		return all
	}
	want := hashes()
	runtime.GOMAXPROCS(1)
	if !slices.Equal(want, hashes()) {
		t.Error("other runs on one processor")
	}
	runtime.GOMAXPROCS(2)
	defer collectAlways()()
	if !slices.Equal(want, hashes()) {
		t.Error("other runs while garbage is collected without pause")
	}
}

// collectAlways runs the garbage collector until stop is called.
func collectAlways() (stop func()) {
	var done atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !done.Load() {
			runtime.GC()
		}
	}()
	return func() { done.Store(true); <-ended }
}
