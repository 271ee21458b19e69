package sim_test

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/internal/bubbles"
	"github.com/zktorture/zktorture/sim"
)

// seeds is how many seeds are run twice: 2000, fewer with -short, or ZKTORTURE_SEEDS.
func seeds(t *testing.T) int {
	text, given := os.LookupEnv("ZKTORTURE_SEEDS")
	if !given && testing.Short() {
		return 500
	}
	if !given {
		return 2000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("ZKTORTURE_SEEDS=%q: want a number of seeds, 1 or more", text)
	}
	return n
}

// Equal choices give equal runs: each seed is run alone at GOMAXPROCS 1 on servers of its own, and
// then with others beside it at GOMAXPROCS 4 on servers that were used before. The traces must be
// equal, line by line.
func TestDeterminism(t *testing.T) {
	kinds := []string{"lock", "queue"}
	n := seeds(t) / len(kinds)
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			w := find(t, kind, "")
			const batch = 250
			for from := 0; from < n && !t.Failed(); from += batch {
				compare(t, w, from, min(batch, n-from))
			}
		})
	}
}

func compare(t *testing.T, w sim.Workload, from, n int) {
	alone, beside := make([]sim.One, n), make([]sim.One, n)
	withProcs(1, func() {
		for i := range n {
			alone[i] = sim.RunOne(w, sim.Config{}, sim.NewRandomSource(1, uint64(from+i)))
		}
	})
	withProcs(4, func() {
		inParallel(4, n, func(run func(sim.Workload, sim.Config, sim.Source) sim.One, i int) {
			beside[i] = run(w, sim.Config{}, sim.NewRandomSource(1, uint64(from+i)))
		})
	})
	for i := range n {
		sameRun(t, from+i, alone[i], beside[i])
	}
}

func withProcs(n int, f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	f()
}

func inParallel(workers, n int, f func(run func(sim.Workload, sim.Config, sim.Source) sim.One, i int)) {
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			run := sim.Runner()
			for i := worker; i < n; i += workers {
				f(run, i)
			}
		})
	}
	all.Wait()
}

// sameRun names the first step at which two runs of one seed differ.
func sameRun(t *testing.T, seed int, a, b sim.One) {
	t.Helper()
	x, y := sim.Lines(a.Trace), sim.Lines(b.Trace)
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(x) || i >= len(y):
			t.Errorf("seed %d: one run has %d lines of trace, the other %d", seed, len(x), len(y))
			return
		case x[i] != y[i]:
			t.Errorf("seed %d differs first at step %d, line %d:\n  %s\n  %s", seed, a.Trace[i].N, i+1, x[i], y[i])
			return
		}
	}
	if a.Hash != b.Hash {
		t.Errorf("seed %d: equal traces, but hashes %s and %s", seed, sim.FormatHash(a.Hash), sim.FormatHash(b.Hash))
	}
}

// The hash covers the steps: two seeds that are not the same run do not have the same hash, and
// equal hashes mean equal traces.
func TestHashTellsRunsApart(t *testing.T) {
	w := find(t, "lock", "")
	first := map[uint64]string{}
	for seed := range uint64(500) {
		one := sim.RunOne(w, sim.Config{}, sim.NewRandomSource(2, seed))
		trace := sim.Story(w, sim.Violation{}, one.Trace)
		if other, seen := first[one.Hash]; seen && other != trace {
			t.Fatalf("seed %d has the hash of another run", seed)
		}
		first[one.Hash] = trace
	}
	if len(first) < 400 {
		t.Errorf("500 seeds gave %d different runs: random choice draws too little", len(first))
	}
}

// What a campaign reports depends neither on how many workers it has nor on the order in which
// their episodes end.
func TestResultDoesNotDependOnWorkers(t *testing.T) {
	for _, strategy := range []string{"random", "sweep"} {
		w := find(t, "lock", "published/WriteLock")
		cfg := sim.Config{Episodes: 1500, Seed: 5, Strategy: strategy, Workers: 1, NoShrink: true}
		one := run(t, w, cfg)
		cfg.Workers = 2
		two := run(t, w, cfg)
		sameResult(t, one, two)
	}
}

// A campaign that is to end with the first violation of a property finds the first, whatever the
// number of workers, and little more is run.
func TestUntilTheFirst(t *testing.T) {
	bubbles.Many(t)
	w := find(t, "lock", "published/WriteLock")
	cfg := sim.Config{Episodes: 1500, Seed: 5, NoShrink: true}
	for _, f := range run(t, w, cfg).Violations {
		for workers := 1; workers <= 4; workers *= 4 {
			short := cfg
			short.Until, short.Workers = f.Property, workers
			r := run(t, w, short)
			if len(r.Violations) != 1 || r.Violations[0].Property != f.Property || r.Violations[0].Episode != f.Episode {
				t.Errorf("%d workers: found %+v, want %s in episode %d", workers, r.Violations, f.Property, f.Episode)
				continue
			}
			if again := sim.RunOne(w, cfg, r.Violations[0].Choices.Replay()); !slices.ContainsFunc(again.Violations, func(v sim.Violation) bool {
				return v.Property == f.Property && v.Message == r.Violations[0].Message
			}) {
				t.Errorf("%s: its choices break %v", f.Property, again.Violations)
			}
			if r.Episodes > f.Episode+200 {
				t.Errorf("%s was found in episode %d, but %d were run", f.Property, f.Episode, r.Episodes)
			}
		}
	}
}

func sameResult(t *testing.T, a, b sim.Result) {
	t.Helper()
	if a.Hash != b.Hash || a.Steps != b.Steps || a.Operations != b.Operations || a.Episodes != b.Episodes {
		t.Errorf("%s: 1 worker: %d episodes, %d steps, hash %x; 2 workers: %d, %d, %x",
			a.Strategy, a.Episodes, a.Steps, a.Hash, b.Episodes, b.Steps, b.Hash)
	}
	if len(a.Violations) != len(b.Violations) || len(a.Violations) == 0 {
		t.Fatalf("%s: %d and %d violations", a.Strategy, len(a.Violations), len(b.Violations))
	}
	for i, x := range a.Violations {
		y := b.Violations[i]
		if x.Property != y.Property || x.Hash != y.Hash || x.Episode != y.Episode || x.Times != y.Times || x.Message != y.Message {
			t.Errorf("%s: %s in episode %d (%d times, %x); with 2 workers %s in %d (%d times, %x)",
				a.Strategy, x.Property, x.Episode, x.Times, x.Hash, y.Property, y.Episode, y.Times, y.Hash)
		}
	}
}
