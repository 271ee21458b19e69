package confirm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/confirm"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// zkLock is go-zookeeper's own lock: when it fails its znode stays in the queue, and an expiry makes it unusable.
type zkLock struct{ own *zk.Lock }

func newZKLock(c *zk.Conn, path string) workload.Locker {
	return zkLock{zk.NewLock(c, path, zk.WorldACL(zk.PermAll))}
}

func (l zkLock) Lock(context.Context) error { return l.own.Lock() }

func (l zkLock) Unlock(context.Context) error {
	err := l.own.Unlock()
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotLocked) {
		return fmt.Errorf("%w: %w", recipes.ErrLost, err)
	}
	return err
}

func newRecipesLock(c *zk.Conn, path string) workload.Locker { return recipes.NewLock(c, path) }

// dialling connects by itself, when it is locked first.
type dialling struct {
	workload.Locker
	connect func() (workload.Locker, error)
}

func (l *dialling) Lock(ctx context.Context) (err error) {
	if l.Locker == nil {
		if l.Locker, err = l.connect(); err != nil {
			return err
		}
	}
	return l.Locker.Lock(ctx)
}

// dials is a workload of locks that connect by themselves.
func dials(new func(*zk.Conn, string) workload.Locker) *workload.Workload {
	return workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		return &dialling{connect: func() (workload.Locker, error) {
			conn, _, err := zk.Connect(s.Addresses, 10*time.Second, s.Option)
			if err != nil {
				return nil, err
			}
			return new(conn, path), nil
		}}
	})
}

// Counterexamples of code that takes a *zk.Conn are confirmed on real servers: with a broken connection, one on which
// nothing arrives any more until the client gives it up, a server that lags, a session that expires, and a process that
// crashes. A correct lock with the same choices is not accused there.
func TestConfirmOf(t *testing.T) {
	t.Parallel()
	silent := func(s world.Step) bool { return s.Silent }
	crash := func(s world.Step) bool { return s.Fault == world.Crash }
	some := map[string]func(world.Step) bool{"silent": silent, "expiry": nil, "crash,loss": crash}
	all := map[string]func(world.Step) bool{"loss": nil, "silent": silent, "lag": nil, "expiry": nil, "crash,loss": crash}
	confirms(t, workload.Of(workload.Lock, newZKLock), workload.Of(workload.Lock, newRecipesLock), testkit.Sized(some, all))
}

// So are those of code that connects by itself.
func TestConfirmDials(t *testing.T) {
	t.Parallel()
	crash := func(s world.Step) bool { return s.Fault == world.Crash }
	some := map[string]func(world.Step) bool{"loss": nil, "crash,expiry": crash}
	all := map[string]func(world.Step) bool{"loss": nil, "lag": nil, "expiry": nil, "crash,expiry": crash}
	confirms(t, dials(newZKLock), dials(newRecipesLock), testkit.Sized(some, all))
}

// confirms checks that counterexamples of a broken recipe are confirmed, and a correct one is not accused.
func confirms(t *testing.T, broken, correct *workload.Workload, cases map[string]func(world.Step) bool) {
	ensembletest.Need(t)
	e, err := confirm.StartServers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop() })
	for name, has := range cases {
		t.Run(name, func(t *testing.T) {
			example := exampleWith(t, broken, name, has)
			for _, w := range []*workload.Workload{broken, correct} {
				replayed, err := sim.Replay(w, example)
				if err != nil {
					t.Fatal(err)
				}
				c, err := confirm.On(t.Context(), e, w, example, replayed)
				if err != nil {
					t.Fatal(err)
				}
				if w == broken && c.Violation == nil || w == correct && c.Violation != nil || c.Untried != "" {
					t.Errorf("%s: %v; step %d differs: %s; untried: %s", example.Property, c.Violation, c.Step, c.Difference, c.Untried)
				}
			}
		})
	}
}

// exampleWith finds a counterexample under faults; if has is not nil, one with such a step, which is not minimised.
func exampleWith(t *testing.T, w *workload.Workload, names string, has func(world.Step) bool) *sim.Counterexample {
	t.Helper()
	if names == "silent" {
		names = "loss"
	}
	faults, err := world.ParseFaults(names)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(100) {
		cfg := sim.Config{Strategy: "random", Episodes: 100, Seed: 1 + seed, Faults: faults, NoShrink: has != nil}
		result, err := sim.Run(t.Context(), w, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range result.Violations {
			if has != nil && !slices.ContainsFunc(found.Trace, has) {
				continue
			}
			example, err := cfg.Counterexample(result, found)
			if err != nil {
				t.Fatal(err)
			}
			return example
		}
	}
	t.Fatal("not found")
	return nil
}
