package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// racing is a lock that asks, in goroutines that run together, for something that differs with
// their order.
type racing struct {
	workload.Locker
	conn recipes.Conn
}

func (r racing) Lock(ctx context.Context) error {
	var mu sync.Mutex
	var order []byte
	var all sync.WaitGroup
	for name := range byte(4) {
		all.Go(func() {
			for range rand.IntN(20) { // a race that nobody wins twice
				runtime.Gosched()
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, 'a'+name)
		})
	}
	all.Wait()
	r.conn.Exists("/" + string(order))
	return r.Locker.Lock(ctx)
}

func racingLock() sim.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return racing{recipes.NewLock(c, path), c}
	})
}

// mapOrder is a lock that goes through a map, and forgets to release.
type mapOrder struct {
	workload.Locker
	conn recipes.Conn
}

func (m mapOrder) Lock(ctx context.Context) error {
	for n := range map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true} {
		m.conn.Exists("/" + strconv.Itoa(n))
	}
	return m.Locker.Lock(ctx)
}

func (mapOrder) Unlock(context.Context) error { return nil }

// notExact skips a test of what differs in ordinary builds only.
func notExact(t *testing.T) {
	t.Helper()
	if sim.Exact() {
		t.Skip("in exact mode this is another thing: see exact_test.go")
	}
}

// Who races is told so: a passing campaign says in how many of the episodes that were run again
// equal choices gave another run, where the two part, and that exact mode decides it.
func TestRacingRecipeIsNoticed(t *testing.T) {
	notExact(t)
	testkit.ManyWorlds(t)
	r := run(t, racingLock(), sim.Config{Episodes: 640, Seed: 1, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictOK {
		t.Errorf("verdict %s", r.Verdict)
	}
	if r.Rerun.Episodes < 7 || r.Rerun.Differed == 0 || r.Rerun.First == nil {
		t.Fatalf("rerun %+v: want most of 640/64 to differ", r.Rerun)
	}
	if d := r.Rerun.First; !strings.Contains(d.One+d.Other, "exists") {
		t.Errorf("the runs part with %q and %q", d.One, d.Other)
	}
	if !strings.Contains(r.Rerun.First.String(), "exact mode") {
		t.Errorf("it does not say what helps: %s", r.Rerun.First)
	}
}

// A violation of a recipe that does not repeat itself stays one. Its file says so, and to replay it
// is tried again until it matches.
func TestViolationThatDiffersReplays(t *testing.T) {
	notExact(t)
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return mapOrder{recipes.NewLock(c, path), c}
	})
	cfg := sim.Config{Episodes: 50, Seed: 1, NoFaultsAtAll: true}
	r := run(t, w, cfg)
	if len(r.Violations) == 0 {
		t.Fatal("nobody noticed that it is never released")
	}
	f := r.Violations[0]
	if f.Divergence == nil {
		t.Fatalf("%s: nobody noticed that equal choices give different runs", f.Property)
	}
	file, err := cfg.Counterexample(r, f)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := file.Write(&text); err != nil {
		t.Fatal(err)
	}
	read, err := sim.ReadCounterexample(&text)
	if err != nil || read.Divergence == nil || read.Divergence.One != f.Divergence.One {
		t.Fatalf("the file does not say that it may not repeat: %v, %+v", err, read)
	}
	replayed, err := sim.Replay(w, read)
	if err != nil {
		t.Fatal(err)
	}
	if replayed.Violation == nil || replayed.Violation.Property != f.Property {
		t.Errorf("replayed: %+v, want a violation of %s", replayed.Violation, f.Property)
	}
	if replayed.Diverged < 0 && replayed.Try < 1 || replayed.Diverged >= 0 && replayed.Try < 2 {
		t.Errorf("try %d, diverged at %d", replayed.Try, replayed.Diverged)
	}
}

// atOnce is a lock that sends several requests at once, each from a goroutine of its own.
type atOnce struct {
	workload.Locker
	conn recipes.Conn
}

func (a atOnce) Lock(ctx context.Context) error {
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range rand.IntN(20) {
				runtime.Gosched()
			}
			a.conn.Multi(&zk.CreateRequest{Path: fmt.Sprintf("/%d", i), Acl: zk.WorldACL(zk.PermAll)},
				&zk.DeleteRequest{Path: fmt.Sprintf("/%d", i), Version: -1})
		})
	}
	all.Wait()
	return a.Locker.Lock(ctx)
}

// Requests that goroutines hand in together reach the servers in an order that does not depend on
// which was faster.
func TestRequestsAtOnceAreOrdered(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return atOnce{recipes.NewLock(c, path), c} })
	for seed := range uint64(8) {
		hash := sim.HashOne(w, sim.Config{NoFaultsAtAll: true}, sim.NewRandomSource(1, seed))
		for range 3 {
			if again := sim.HashOne(w, sim.Config{NoFaultsAtAll: true}, sim.NewRandomSource(1, seed)); again != hash {
				t.Fatalf("seed %d: hash %016x, and %016x when it was run again", seed, hash, again)
			}
		}
	}
}

// No recipe that does not race is said to.
func TestNobodyElseRaces(t *testing.T) {
	notExact(t)
	testkit.ManyWorlds(t)
	for _, kind := range testkit.Sized([]string{"lock"}, []string{"lock", "queue", "counter", "doublebarrier"}) {
		r := run(t, find(t, kind, ""), sim.Config{Episodes: 640, Seed: 7})
		if r.Rerun.Episodes != 10 || r.Rerun.Differed != 0 || r.Rerun.First != nil {
			t.Errorf("%s: %+v, want 10 equal", kind, r.Rerun)
		}
	}
}
