//go:build zktexact

package sim_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// exactWorlds are what is compared between processes: go-zookeeper's own lock over the wire, also where it
// dials by itself, recipes in process, and a recipe
// that leaves all it can to the Go runtime.
var exactWorlds = map[string]func() sim.Workload{
	"wire": func() sim.Workload { return workload.Of(workload.Lock, newZKLock) },
	"process": func() sim.Workload {
		return workload.Lock(func(c recipes.Conn, p string) workload.Locker { return recipes.NewLock(c, p) })
	},
	"plain":  plainLock,
	"racing": racingLock,
	"maps":   mapsLock,
	"exits":  exitingOwnLock,
	"mutex":  mutexLock, "package": packageMutexLock, "rwmutex": rwMutexLock, "once": onceLock, "opposite": oppositeLock,
}

// mapsLock goes through maps that are too large for their order to be that of insertion: one that a program has from its
// beginning, one of its own, one that has grown on the stack, and a sync.Map.
func mapsLock() sim.Workload {
	return workload.Lock(func(c recipes.Conn, p string) workload.Locker { return throughMaps{recipes.NewLock(c, p), c} })
}

type throughMaps struct {
	workload.Locker
	conn recipes.Conn
}

var wordsAtFirst = map[string]int{
	"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9, "j": 10, "k": 11, "l": 12,
}

func (m throughMaps) Lock(ctx context.Context) error {
	own, grown, synced := map[string]int{}, map[int]string{}, sync.Map{}
	for word, n := range wordsAtFirst {
		m.conn.Exists("/" + word)
		own[word], grown[n] = n, word
		synced.Store(word, n)
	}
	for word := range own {
		m.conn.Exists("/" + word)
	}
	for n := range grown {
		m.conn.Exists("/" + strconv.Itoa(n))
	}
	for word := range synced.Range {
		m.conn.Exists("/" + word.(string))
	}
	return m.Locker.Lock(ctx)
}

// exactChild is the variable with what a process of TestExactAcrossProcesses does.
const exactChild = "ZKTORTURE_EXACT_CHILD"

// TestExactChild prints the hash of each seed, for TestExactAcrossProcesses.
func TestExactChild(t *testing.T) {
	var name, collect string
	var seeds uint64
	if n, _ := fmt.Sscan(os.Getenv(exactChild), &name, &collect, &seeds); n != 3 {
		t.Skip("a process of TestExactAcrossProcesses")
	}
	if collect == "always" {
		defer collectAlways()()
	}
	hash := sim.NewHasher()
	w := exactWorlds[name]()
	for i := range seeds {
		seed := i
		if collect == "backwards" {
			seed = seeds - 1 - i
		}
		fmt.Printf("hash %d %016x\n", seed, hash(w, sim.Config{}, sim.NewRandomSource(seed, 0)))
	}
}

// Equal seeds give equal runs in several processes, on one processor and on more, in whichever order, and while garbage is
// collected without pause, all faults striking three clients. ZKTORTURE_EXACT says how many seeds.
func TestExactAcrossProcesses(t *testing.T) {
	seeds := exactSeeds(t)
	for name := range exactWorlds {
		t.Run(name, func(t *testing.T) { acrossProcesses(t, name, seeds) })
	}
}

func exactSeeds(t *testing.T) uint64 {
	text, given := os.LookupEnv("ZKTORTURE_EXACT")
	if !given {
		return 40
	}
	seeds, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("ZKTORTURE_EXACT: %v", err)
	}
	return seeds
}

func acrossProcesses(t *testing.T, name string, seeds uint64) {
	first := childHashes(t, name, "GOMAXPROCS=1", "as-usual", seeds)
	for _, other := range []struct{ processors, collect string }{
		{"GOMAXPROCS=1", "as-usual"}, {"GOMAXPROCS=2", "as-usual"}, {"GOMAXPROCS=8", "backwards"}, {"GOMAXPROCS=2", "always"},
	} {
		n := seeds
		if other.collect == "always" {
			n = min(n, max(40, seeds/10))
		}
		differ := 0
		for seed, hash := range childHashes(t, name, other.processors, other.collect, n) {
			if hash != first[seed] {
				differ++
			}
		}
		t.Logf("%s, %s: %d of %d seeds differ", other.processors, other.collect, differ, n)
		if differ > 0 {
			t.Fail()
		}
	}
}

func childHashes(t *testing.T, name, processors, collect string, seeds uint64) map[string]string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestExactChild$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), processors, fmt.Sprintf("%s=%s %s %d", exactChild, name, collect, seeds))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	hashes := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) == 3 && words[0] == "hash" {
			hashes[words[1]] = words[2]
		}
	}
	if uint64(len(hashes)) != seeds {
		t.Fatalf("%d hashes of %d seeds:\n%s", len(hashes), seeds, out)
	}
	return hashes
}
