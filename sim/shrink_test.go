package sim_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// brittle is a correct lock with a planted bug: once it has seen a connection loss, its third
// acquisition fails with an error that no fault explains.
type brittle struct {
	workload.Locker
	conn     recipes.Conn
	seenLoss bool
	acquired int
}

func newBrittle(c recipes.Conn, path string) workload.Locker {
	return &brittle{Locker: recipes.NewLock(c, path), conn: c}
}

func (b *brittle) Lock(ctx context.Context) error {
	if _, _, err := b.conn.Exists("/t"); errors.Is(err, zk.ErrConnectionClosed) {
		b.seenLoss = true
	}
	if b.acquired == 2 && b.seenLoss {
		return zk.ErrBadVersion
	}
	err := b.Locker.Lock(ctx)
	if err == nil {
		b.acquired++
	}
	return err
}

// The planted bug needs one client with one user, one fault, and three acquisitions with the two
// releases between them. At most an acquisition and its release more are left of whatever found it.
func TestPlantedBugShrinksToItsMinimum(t *testing.T) {
	testkit.ManyWorlds(t)
	for seed := range testkit.Sized(uint64(2), 6) {
		cfg := sim.Config{Episodes: 1500, Seed: seed, Ops: 6, Until: "unexpected-error"} // it is unusable for ever, too
		r := run(t, workload.Lock(newBrittle), cfg)
		wantOnly(t, r, "unexpected-error", zk.ErrBadVersion.Error())
		f := r.Violations[0]
		calls := 0
		for _, step := range f.Trace {
			if step.Kind == world.KindCall {
				calls++
			}
		}
		if f.Clients != 1 || f.Faults != 1 || calls < 5 || calls > 7 {
			t.Errorf("seed %d: %d clients, %d faults, %d calls; want 1, 1, 5 to 7:\n%s", seed, f.Clients, f.Faults, calls,
				f.Story(workload.Lock(newBrittle)))
		}
	}
}

// However much is taken away, the property that breaks stays the same, and the numbers that are
// reported are those of the run that is left.
func TestShrinkingKeepsTheProperty(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, of := range testkit.Sized([][2]string{{"queue", "broken"}}, [][2]string{{"lock", "broken"}, {"queue", "broken"}}) {
		w := find(t, of[0], of[1])
		cfg := sim.Config{Episodes: 1500, Seed: 9, Faults: world.AllFaults}
		small := run(t, w, cfg)
		cfg.NoShrink = true
		large := run(t, w, cfg)
		if len(small.Violations) != len(large.Violations) || len(small.Violations) < 4 {
			t.Fatalf("%d properties broke, %d before shrinking", len(small.Violations), len(large.Violations))
		}
		byProperty := func(a, b sim.Found) int { return cmp.Compare(a.Property, b.Property) }
		slices.SortFunc(small.Violations, byProperty) // the simplest is another one before
		slices.SortFunc(large.Violations, byProperty)
		for i, f := range small.Violations {
			shrunkFrom(t, w, f, large.Violations[i])
		}
	}
}

func shrunkFrom(t *testing.T, w sim.Workload, small, large sim.Found) {
	t.Helper()
	one := sim.RunOne(w, sim.Config{}, small.Choices.Replay())
	before := sim.RunOne(w, sim.Config{}, large.Choices.Replay())
	if small.Property != large.Property || one.Users > before.Users || small.Hash == 0 {
		t.Errorf("%s with %d users became %s with %d", large.Property, before.Users, small.Property, one.Users)
	}
	if one.Hash != small.Hash || one.Faults != small.Faults || one.Tortured != small.Steps {
		t.Errorf("%s: reported are %d faults and %d steps, replay has %d and %d", small.Property, small.Faults,
			small.Steps, one.Faults, one.Tortured)
	}
	for _, v := range one.Violations {
		if v.Property == small.Property && v.Message == small.Message {
			return
		}
	}
	t.Errorf("%s: the smallest run breaks %v instead", small.Property, one.Violations)
}

// W1 and W2 of the published WriteLock need two clients and a dozen steps.
func TestKnownBugsShrinkToADozenSteps(t *testing.T) {
	testkit.ManyWorlds(t)
	w := find(t, "lock", "broken")
	for seed := range testkit.Sized(uint64(1), 5) {
		r := run(t, w, sim.Config{Episodes: 2000, Seed: seed, NoFaultsAtAll: true})
		seen := 0
		for _, f := range r.Violations {
			if f.Property != "lost-wakeup" && f.Property != "order" {
				continue
			}
			seen++
			if f.Clients != 2 || f.Steps > 12 || f.Faults != 0 {
				t.Errorf("seed %d: %s has %d clients, %d steps, %d faults; want 2, at most 12, none",
					seed, f.Property, f.Clients, f.Steps, f.Faults)
			}
		}
		if seen != 2 {
			t.Errorf("seed %d: W1 (lost-wakeup) and W2 (order) must break, did: %d of them", seed, seen)
		}
	}
}
