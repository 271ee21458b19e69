package zoo

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

var update = flag.Bool("update", false, "write the hashes that came out into testdata")

// subject is a recipe that is run twice and compared.
type subject struct {
	name    string
	w       *workload.Workload
	clients int
}

// subjects are the recipes that package listed names, the known bugs and their fixed versions.
func subjects(t *testing.T) (all []subject) {
	t.Helper()
	for _, name := range []string{"lock/published/WriteLock", "lock/unfenced", "queue/published/DistributedQueue"} {
		kind, recipe, _ := strings.Cut(name, "/")
		w, err := workload.Find(kind, recipe)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, subject{name, w, 3})
	}
	for _, a := range KnownBugs() {
		if !a.Exact { // else in exact builds only, see TestExactKnownBugs
			all = append(all, subject{a.ID, a.Broken(), a.Clients}, subject{a.ID + "/twin", a.Fixed(), a.Clients})
		}
	}
	return all
}

// part is the hash of some episodes of a campaign.
func (s subject) part(t *testing.T, seed uint64, from, episodes, workers int) uint64 {
	t.Helper()
	cfg := sim.Config{Strategy: "random", Seed: seed, Clients: s.clients, Workers: workers, Once: true, NoShrink: true, Faults: world.AllFaults}
	p, err := cfg.RunPart(t.Context(), s.w, from, episodes)
	if err != nil {
		t.Fatal(err)
	}
	return p.Hash
}

// Equal choices give equal runs, of each recipe of the zoo: alone with one processor, and beside others with two and with
// four. ZKTORTURE_ZOO_SEEDS is how many, of each. With the race detector some are compared; what is recorded of all is
// compared with it, too.
func TestDeterminism(t *testing.T) {
	n := testkit.Sized(2, 20)
	if text := os.Getenv("ZKTORTURE_ZOO_SEEDS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("ZKTORTURE_ZOO_SEEDS=%q: want a number of seeds, 1 or more", text)
		}
	}
	all := subjects(t)
	for i := range testkit.Share(len(all)) {
		s := all[i*len(all)/testkit.Share(len(all))]
		hashes := map[uint64]int{}
		for _, processors := range []int{1, 2, 4} {
			before := runtime.GOMAXPROCS(processors)
			hashes[s.part(t, 1, 0, n, processors)] = processors
			runtime.GOMAXPROCS(before)
		}
		if len(hashes) > 1 {
			t.Errorf("%s: the %d episodes of seed 1 differ with one, two and four processors: %v", s.name, n, hashes)
		}
	}
}

// A run is the same in every build: the hashes of a few seeds of each recipe are written down, and hold with and without
// the race detector. A change of what a run does changes them, which is to be a decision: go test ./zoo -run Recorded
// -update.
func TestHashesAreThoseRecorded(t *testing.T) {
	const file = "testdata/hashes.txt"
	var now strings.Builder
	for _, s := range subjects(t) {
		hash := uint64(0)
		for i := range 5 {
			hash = hash*31 + (unmixed(s.part(t, 4, i, 1, 1)) ^ digest.Mix(uint64(i)))
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
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("line %d of %s is %q, and was %q", i+1, file, is[i], was[i])
		}
	}
	if len(was) != len(is) {
		t.Errorf("%s has %d lines, and there are %d recipes", file, len(was)-1, len(is)-1)
	}
}

// unmixed is the inverse of [digest.Mix]: of the hash of one episode's part it makes that of the episode.
func unmixed(x uint64) uint64 {
	x = (x ^ x>>31 ^ x>>62) * 0x319642b2d24d8ec3
	x = (x ^ x>>27 ^ x>>54) * 0x96de1b173f119089
	return (x ^ x>>30 ^ x>>60) - 0x9e3779b97f4a7c15
}
