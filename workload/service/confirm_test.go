//go:build zktexact

package service_test

import (
	"context"
	"io"
	"log"
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

// Counterexamples of whole services, and of code that has hard-wired addresses, are confirmed on real servers, each time. What
// is correct is not accused there with the same choices.
func TestExactConfirm(t *testing.T) {
	ensembletest.Need(t)
	e, err := confirm.StartServers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop() })
	correct := electing(elect).Workload()
	for name, c := range map[string]struct {
		broken, correct *workload.Workload
		property        string // "" for any
		faults          world.Faults
	}{
		"never steps down": {electing(neverDown).Workload(), correct, "belief", world.Expiry | world.Lag | world.Loss},
		"orders by name":   {electing(byName).Workload(), correct, "exclusion", world.Crash | world.Pause | world.Loss},
		"follows no more":  {following(false).Workload(), following(true).Workload(), "deaf", world.Lag | world.Crash | world.Expiry},
		"at": {
			lockAt(func(c *zk.Conn, path string) workload.Locker {
				return zkLock{zk.NewLock(c, path, zk.WorldACL(zk.PermAll))}
			}),
			lockAt(func(c *zk.Conn, path string) workload.Locker { return recipes.NewLock(c, path) }), "", world.Expiry | world.Loss,
		},
	} {
		t.Run(name, func(t *testing.T) {
			example := exampleOf(t, c.broken, c.property, c.faults)
			for _, w := range append(slices.Repeat([]*workload.Workload{c.broken}, testkit.Sized(2, 5)), c.correct) {
				replayed, err := sim.Replay(w, example)
				if err != nil {
					t.Fatal(err)
				}
				confirmed, err := confirm.On(t.Context(), e, w, example, replayed)
				if err != nil || (confirmed.Violation != nil) != (w == c.broken) || confirmed.Difference != "" {
					t.Errorf("correct %v: %+v, %v", w == c.correct, confirmed, err)
				}
			}
		})
	}
}

// exampleOf finds a counterexample in which no client is told of what has gone with its own session: real servers may drop such
// events as they close the connection.
func exampleOf(t *testing.T, w *workload.Workload, property string, faults world.Faults) *sim.Counterexample {
	t.Helper()
	for seed := range uint64(50) {
		cfg := sim.Config{Episodes: 2000, Seed: 1 + seed, Until: property, NoShrink: true, Strategy: "random", Faults: faults}
		r, err := sim.Run(t.Context(), w, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range r.Violations {
			if property != "" && found.Property != property || toldOfItsOwn(found.Trace) {
				continue
			}
			example, err := cfg.Counterexample(r, found)
			if err != nil {
				t.Fatal(err)
			}
			return example
		}
	}
	t.Fatalf("no %s is found", property)
	return nil
}

// toldOfItsOwn reports whether a client gets an event between the end of its session and when it learns of that.
func toldOfItsOwn(trace []world.Step) bool {
	over := map[int]bool{}
	for _, s := range trace {
		switch {
		case s.Kind == world.KindFault && s.Fault == world.Expiry:
			over[s.Client] = true
		case s.Kind == world.KindConnect:
			over[s.Client] = false
		case s.Kind == world.KindWatch && over[s.Client]:
			return true
		}
	}
	return false
}

// lockAt is a lock over a connection to addresses of its own, which it opens when it is locked first.
func lockAt(new func(c *zk.Conn, path string) workload.Locker) *workload.Workload {
	return workload.Of(workload.Lock, func(_ workload.Servers, path string) workload.Locker {
		return &lateLock{new: func() (workload.Locker, error) {
			conn, _, err := zk.Connect([]string{"zk1:2181", "zk2:2181"}, 4*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
			return new(conn, path), err
		}}
	}, workload.At("zk1:2181", "zk2:2181"))
}

type lateLock struct {
	workload.Locker
	new func() (workload.Locker, error)
}

func (l *lateLock) Lock(ctx context.Context) (err error) {
	if l.Locker == nil {
		if l.Locker, err = l.new(); err != nil {
			return err
		}
	}
	return l.Locker.Lock(ctx)
}

// zkLock is go-zookeeper's own, of which a failed call leaves a znode.
type zkLock struct{ own *zk.Lock }

func (l zkLock) Lock(context.Context) error   { return l.own.Lock() }
func (l zkLock) Unlock(context.Context) error { return l.own.Unlock() }
