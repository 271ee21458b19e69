package workload_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// existing is the barrier as it is published: shut while its znode exists.
type existing struct {
	conn  recipes.Conn
	again bool // repeats what was lost, whatever it was
	quick bool // reads without sync
	once  bool // goes through at the first event
}

const existingPath = "/t/barrier"

func (b existing) Shut(ctx context.Context) error {
	return b.change(ctx, zk.ErrNodeExists, func() error {
		_, err := b.conn.Create(existingPath, nil, 0, openACL)
		return err
	})
}

func (b existing) Open(ctx context.Context) error {
	return b.change(ctx, zk.ErrNoNode, func() error { return b.conn.Delete(existingPath, -1) })
}

func (b existing) change(ctx context.Context, nothingToDo error, request func() error) error {
	for ctx.Err() == nil {
		err := request()
		if err == nothingToDo {
			return nil
		}
		if err == nil || err == zk.ErrClosing || !b.again {
			return err
		}
	}
	return ctx.Err()
}

func (b existing) Wait(ctx context.Context) error {
	for ctx.Err() == nil {
		if !b.quick {
			b.conn.Sync(existingPath)
		}
		_, _, changed, err := b.conn.GetW(existingPath)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
		if b.once {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

func gate(b existing) *workload.Workload {
	return workload.Barrier(func(c recipes.Conn, _ string) workload.BarrierRecipe {
		own := b // several worlds turn at the same time
		own.conn = c
		return own
	})
}

func TestExistingIsCleanWithoutFaults(t *testing.T) { wantClean(t, gate(existing{}), world.NoFaults) }

// It takes a wait that got through in between to prove that one call opened the gate twice.
func TestRepeatedChangesOpenTwice(t *testing.T) {
	r := campaign(t, gate(existing{again: true}),
		sim.Config{Episodes: 8000, Until: "early-wait", Seed: 1, Faults: world.Loss, Ops: 8, NoShrink: true})
	if messageOf(r, "early-wait") == "" {
		t.Errorf("%s (%s)", r.Verdict, r.Reason)
	}
}

func TestStaleReadsLetThrough(t *testing.T) {
	wantBroken(t, gate(existing{quick: true}), world.Lag, "early-wait", "a wait ended although the gate was shut: c")
}

// A session event is no opening (bug ZL3).
func TestAnyEventLetsThrough(t *testing.T) {
	wantBroken(t, gate(existing{once: true}), world.Expiry, "early-wait", "a wait ended although the gate was shut: c")
}

// watchless does not watch.
type watchless struct{ existing }

func (d watchless) Wait(ctx context.Context) error {
	d.conn.Sync(existingPath)
	if ok, _, _ := d.conn.Exists(existingPath); ok {
		<-ctx.Done()
	}
	return ctx.Err()
}

func TestWaitingWithoutWatch(t *testing.T) {
	w := workload.Barrier(func(c recipes.Conn, _ string) workload.BarrierRecipe { return watchless{existing{conn: c}} })
	wantBroken(t, w, world.NoFaults, "lost-wakeup", "although the barrier is open")
}
