package sim_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// subject is a recipe that is run twice and compared.
type subject struct {
	name    string
	w       sim.Workload
	clients int
}

// ours are the recipes that can be tortured by name.
func ours() (all []subject) {
	for _, e := range workload.Entries() {
		all = append(all, subject{e.Kind + "/" + e.Recipe, e.New(), 3})
	}
	return all
}

// seedsOf reads from the environment how many seeds are compared, of each recipe.
func seedsOf(t *testing.T, variable string, normally int) uint64 {
	text, given := os.LookupEnv(variable)
	switch {
	case testkit.RaceDetector:
		return 2
	case !given && testing.Short():
		return uint64(max(normally/4, 2))
	case !given:
		return uint64(normally)
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: want a number of seeds, 1 or more", variable, text)
	}
	return n
}

// Equal choices give equal runs, of every kind and recipe: each seed is run alone with one
// processor, on servers of its own; with two; and with four, on a machine that is busy, beside
// others on servers that were used before. ZKTORTURE_SEEDS is how many, of all kinds together.
func TestDeterminism(t *testing.T) {
	all := ours()
	n := seedsOf(t, "ZKTORTURE_SEEDS", testkit.Sized(400, 1200))
	for _, s := range all {
		compareSeeds(t, s, sim.Config{Clients: s.clients}, max(n/uint64(len(all)), 2))
	}
}

// It holds for connections within one of the user's own, which hides what the world's can do besides.
func TestDeterminismWithinAnotherConnection(t *testing.T) {
	n := seedsOf(t, "ZKTORTURE_SEEDS", 400)
	for _, e := range workload.Entries() {
		bare := e.New()
		within, can := bare.With("within", func(c recipes.Conn, path string) any {
			return bare.Make(struct{ recipes.Conn }{c}, path)
		}, nil)
		if e.Recipe == workload.Ours && can {
			compareSeeds(t, subject{e.Kind + " within", within, 3}, sim.Config{Clients: 3}, max(n/40, 3))
		}
	}
}

// It holds for few clients and many, and for the faults that end waits at any moment by themselves.
func TestDeterminismOfCrowds(t *testing.T) {
	n := seedsOf(t, "ZKTORTURE_SEEDS", 400)
	for i, s := range ours() {
		faults := [...]world.Faults{
			world.AllFaults, world.Cancel, world.Cancel | world.Time, world.Expiry | world.Loss, world.EveryFault, world.Quorum | world.Deposed,
		}[i%6]
		compareSeeds(t, s, sim.Config{Clients: 8, Ops: 6, Faults: faults, Seed: 2}, max(n/400, 2))
		if s.name == "lock/ours" {
			compareSeeds(t, s, sim.Config{Clients: world.ClientsMax, Ops: 4}, 2)
			compareSeeds(t, s, sim.Config{Clients: 3, Ops: world.OpsMax}, 2)
		}
	}
}

// It holds for the episodes of a mix, in which sources look at the world.
func TestDeterminismOfMixes(t *testing.T) {
	n := seedsOf(t, "ZKTORTURE_SEEDS", 400)
	all := ours()
	for i, s := range all {
		cfg := sim.Config{Clients: s.clients, Faults: []world.Faults{world.AllFaults, world.EveryFault}[i%2]}
		source := func(i uint64) world.Source { return sim.SourceOf("mix", 6, i) }
		compare(t, s, cfg, max(n/uint64(len(all)), testkit.Sized(3, uint64(len(sim.Turns())))), source)
	}
}

func compareSeeds(t *testing.T, s subject, cfg sim.Config, n uint64) {
	t.Helper()
	compare(t, s, cfg, n, func(i uint64) world.Source { return sim.NewRandomSource(cfg.Seed+1, i) })
}

// compare runs n lists of choices of a recipe in several ways and compares them one by one.
func compare(t *testing.T, s subject, cfg sim.Config, n uint64, source func(i uint64) world.Source) {
	t.Helper()
	alone := hashes(1, n, func() sim.Hasher { return sim.HashOne }, s.w, cfg, source)
	two := hashes(2, n, func() sim.Hasher { return sim.HashOne }, s.w, cfg, source)
	defer busy()()
	beside := hashes(4, n, sim.NewHasher, s.w, cfg, source)
	for i := range n {
		if alone[i] != two[i] || alone[i] != beside[i] {
			t.Errorf("%s: seed %d of %d: hash %016x with one processor, %016x with two, "+
				"%016x beside others with four%s",
				s.name, i, cfg.Seed+1, alone[i], two[i], beside[i],
				difference(s, cfg, func() world.Source { return source(i) }))
		}
	}
}

// hashes runs with so many processors, and as many runs at a time.
func hashes(procs int, n uint64, newHasher func() sim.Hasher, w sim.Workload, cfg sim.Config,
	source func(uint64) world.Source) []uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	all := make([]uint64, n)
	var workers sync.WaitGroup
	for first := range procs {
		workers.Go(func() {
			hash := newHasher()
			for i := uint64(first); i < n; i += uint64(procs) {
				all[i] = hash(w, cfg, source(i))
			}
		})
	}
	workers.Wait()
	return all
}

// busy keeps processors and collector busy until the function that it returns is called.
func busy() (stop func()) {
	var done atomic.Bool
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for !done.Load() {
				for i := range 1000 {
					sink.Store(make([]byte, i))
				}
				runtime.Gosched()
			}
		})
	}
	return func() { done.Store(true); all.Wait() }
}

var sink atomic.Value

// difference names the first step at which runs of equal choices differ, if that can be seen again.
func difference(s subject, cfg sim.Config, source func() world.Source) string {
	one := sim.RunOne(s.w, cfg, source())
	for range 100 {
		other := sim.RunOne(s.w, cfg, source())
		x, y := replay.Lines(one.Trace), replay.Lines(other.Trace)
		for i := range min(len(x), len(y)) {
			if x[i] != y[i] {
				return fmt.Sprintf("; first at line %d of the trace:\n  %s\n  %s", i+1, x[i], y[i])
			}
		}
	}
	return ""
}

// A run is the same in every build: the hashes of a few seeds of each recipe are written down, and
// hold with and without the race detector. A change of what a run does changes them, which is to be
// a decision: go test ./sim -run Recorded -update.
func TestHashesAreThoseRecorded(t *testing.T) {
	const file = "testdata/hashes.txt"
	var now strings.Builder
	for _, s := range ours() {
		hash := uint64(0)
		for i := range uint64(5) {
			hash = hash*31 + sim.HashOne(s.w, sim.Config{Clients: s.clients}, sim.NewRandomSource(4, i))
		}
		fmt.Fprintf(&now, "%s %016x\n", s.name, hash)
	}
	if *update {
		if err := os.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(recorded), "\n"), strings.Split(now.String(), "\n")
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			t.Fatalf("line %d of %s is %q, and was %q", i+1, file, at(is, i), at(was, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

var update = flag.Bool("update", false, "write the hashes that came out into testdata")

// The hash covers the steps: two seeds that are not the same run do not have the same hash, and
// equal hashes mean equal traces.
func TestHashTellsRunsApart(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, recipe := range testkit.Sized([]string{"broken"}, []string{"ours", "ours/simple-watch", "broken"}) {
		tellsRunsApart(t, find(t, "lock", recipe))
	}
	tellsRunsApart(t, find(t, "queue", ""))
}

func tellsRunsApart(t *testing.T, w sim.Workload) {
	seeds := testkit.Sized(150, 700)
	for stream := uint64(2); stream <= 3; stream++ {
		first := map[uint64]string{}
		for seed := range uint64(seeds) {
			one := sim.RunOne(w, sim.Config{}, sim.NewRandomSource(stream, seed))
			trace := sim.Found{Trace: one.Trace}.Story(w)
			if other, seen := first[one.Hash]; seen && other != trace {
				t.Fatalf("%s, seed %d: episode %d has the hash of another run", w.Recipe(), stream, seed)
			}
			first[one.Hash] = trace
		}
		if len(first) < seeds*3/4 {
			t.Errorf("%s: %d seeds gave %d different runs: random choice draws too little", w.Recipe(), seeds, len(first))
		}
	}
}

// What a campaign reports depends neither on how many workers it has nor on the order in which
// their episodes end.
func TestResultDoesNotDependOnWorkers(t *testing.T) {
	for strategy := range sim.Strategies {
		w := find(t, "lock", "broken")
		cfg := sim.Config{
			Episodes: testkit.Sized(150, 400), Seed: 5, Strategy: strategy, Workers: 1, NoShrink: true, Near: sim.NearFor(strategy),
			Coverage: true,
		}
		one := run(t, w, cfg)
		cfg.Workers = 2
		two := run(t, w, cfg)
		sameResult(t, one, two)
	}
}

// After the first episode that breaks a property a campaign goes on for a moment: what it finds in that is what a whole
// campaign finds in these episodes, and only what comes first is minimised.
func TestAMomentAfterTheFirst(t *testing.T) {
	testkit.ManyWorlds(t)
	w, graver := find(t, "lock", "broken"), 0
	for seed := range uint64(2) {
		for _, workers := range []int{1, 3} {
			cfg := sim.Config{Seed: seed, Workers: workers, Until: tally.AnyProperty, ShrinkTime: 1}
			r := run(t, w, cfg)
			first := slices.MinFunc(r.Violations, func(f, g sim.Found) int { return cmp.Compare(f.Episode, g.Episode) })
			cfg.Until, cfg.NoShrink, cfg.Episodes = "", true, first.Episode+201
			if first.Episode != r.Violations[0].Episode {
				graver++
			}
			whole := run(t, w, cfg)
			for i, f := range whole.Violations {
				if i >= len(r.Violations) || r.Violations[i].Property != f.Property || r.Violations[i].Times != f.Times {
					t.Fatalf("seed %d, %d workers: no. %d is %s, %d times; of %d", seed, workers, i, f.Property, f.Times, len(r.Violations))
				}
				if (i == 0) != (len(r.Violations[i].Trace) > 0) {
					t.Errorf("%s, no. %d, has %d steps of trace", f.Property, i, len(r.Violations[i].Trace))
				}
			}
		}
	}
	if graver == 0 {
		t.Error("it was always the first episode that was told")
	}
}

// A campaign that is to end with the first violation of a property finds the first, whatever the
// number of workers, and little more is run.
func TestUntilTheFirst(t *testing.T) {
	testkit.ManyWorlds(t)
	w := find(t, "lock", "broken")
	cfg := sim.Config{Episodes: testkit.Sized(400, 1500), Seed: 5, NoShrink: true, Faults: world.AllFaults}
	for _, f := range run(t, w, cfg).Violations {
		for workers := 1; workers <= 4; workers *= 4 {
			short := cfg
			short.Until, short.Workers = f.Property, workers
			r := run(t, w, short)
			if len(r.Violations) != 1 || r.Violations[0].Property != f.Property ||
				r.Violations[0].Episode != f.Episode {
				t.Errorf("%d workers: found %+v, want %s in episode %d", workers, r.Violations, f.Property, f.Episode)
				continue
			}
			same := func(v sim.Violation) bool {
				return v.Property == f.Property && v.Message == r.Violations[0].Message
			}
			again := sim.RunOne(w, cfg, r.Violations[0].Choices.Replay())
			if !slices.ContainsFunc(again.Violations, same) {
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
	if !reflect.DeepEqual(a.Coverage, b.Coverage) {
		t.Errorf("%s: 1 worker: %v\n2 workers: %v", a.Strategy, a.Coverage, b.Coverage)
	}
	if a.Hash != b.Hash || a.Steps != b.Steps || a.Operations != b.Operations || a.Episodes != b.Episodes {
		t.Errorf("%s: 1 worker: %d episodes, %d steps, hash %x; 2 workers: %d, %d, %x",
			a.Strategy, a.Episodes, a.Steps, a.Hash, b.Episodes, b.Steps, b.Hash)
	}
	if len(a.Violations) != len(b.Violations) || len(a.Violations) == 0 {
		t.Fatalf("%s: %d and %d violations", a.Strategy, len(a.Violations), len(b.Violations))
	}
	for i, x := range a.Violations {
		y := b.Violations[i]
		if x.Property != y.Property || x.Hash != y.Hash || x.Episode != y.Episode || x.Times != y.Times ||
			x.Message != y.Message {
			t.Errorf("%s: %s in episode %d (%d times, %x); with 2 workers %s in %d (%d times, %x)",
				a.Strategy, x.Property, x.Episode, x.Times, x.Hash, y.Property, y.Episode, y.Times, y.Hash)
		}
	}
}
