package workload_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

func TestOurDoubleBarrierIsClean(t *testing.T) { wantOursClean(t, "doublebarrier") }

// Rounds of three must not be harder than rounds of two.
func TestOurDoubleBarrierForThree(t *testing.T) {
	w := workload.Barrier(3, func(c recipes.Conn) workload.Rendezvous {
		return recipes.NewDoubleBarrier(c, "/t/doublebarrier", 3)
	})
	wantClean(t, w, sim.AllFaults)
}

// counted is the double barrier as it is written in prose: members are counted, and nothing says
// that a round has begun.
type counted struct {
	conn   recipes.Conn
	member string
	ready  string // a znode that says so all the same, and that nobody removes
	hasty  bool   // leaves without waiting
	untidy bool   // leaves its znode when it gives up
}

const countedDir = "/t/doublebarrier"

func (b *counted) Enter(ctx context.Context) (err error) {
	b.conn.Create(countedDir, nil, 0, world)
	name := fmt.Sprintf("%s/m-%s-", countedDir, recipes.NewGUID(b.conn))
	if b.member, err = b.conn.Create(name, nil, zk.FlagEphemeralSequential, world); err != nil {
		return err
	}
	err = b.await(ctx, func(members int, ready bool) bool { return members >= 2 || ready })
	switch {
	case err != nil && !b.untidy:
		for b.conn.Delete(b.member, -1) == zk.ErrConnectionClosed {
		}
	case err == nil && b.ready != "":
		b.conn.Create(b.ready, nil, 0, world)
	}
	return err
}

func (b *counted) Leave(ctx context.Context) error {
	if err := b.conn.Delete(b.member, -1); err != nil || b.hasty {
		return err
	}
	return b.await(ctx, func(members int, _ bool) bool { return members == 0 })
}

// await looks at the children again and again, each time that they change.
func (b *counted) await(ctx context.Context, enough func(members int, ready bool) bool) error {
	for {
		names, _, changed, err := b.conn.ChildrenW(countedDir)
		if err != nil {
			return err
		}
		all := len(names)
		names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(b.ready, "/"+name) })
		if enough(len(names), len(names) < all) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A fast member is gone before a slow one counts (bugs P1 and P2).
func TestCountingMissesTheMoment(t *testing.T) {
	w := workload.Barrier(2, func(c recipes.Conn) workload.Rendezvous { return &counted{conn: c} })
	wantBroken(t, w, sim.NoFaults, "lost-wakeup", "although")
}

// A sign that is left lets the next round in at once (bugs B3 and B17).
func TestLeftoverSignLetsIn(t *testing.T) {
	w := workload.Barrier(2, func(c recipes.Conn) workload.Rendezvous {
		return &counted{conn: c, ready: countedDir + "/ready"}
	})
	wantBroken(t, w, sim.NoFaults, "early-enter", "no more than 1 of 2 members were there")
}

// Who leaves at once leaves others inside (bug SP1).
func TestLeavingWithoutWaiting(t *testing.T) {
	w := workload.Barrier(2, func(c recipes.Conn) workload.Rendezvous { return &counted{conn: c, hasty: true} })
	wantBroken(t, w, sim.NoFaults, "early-leave", "no moment of it at which nobody was inside")
}

// Who gives up and leaves its znode lets a later one in without it (bug B4).
func TestGivingUpLeavesAZnode(t *testing.T) {
	w := workload.Barrier(2, func(c recipes.Conn) workload.Rendezvous { return &counted{conn: c, untidy: true} })
	wantBroken(t, w, sim.Cancel, "early-enter", "no more than 1 of 2 members were there")
}

// heedless is a correct barrier whose user goes on after an error (bugs SP10 and B13).
type heedless struct{ *recipes.DoubleBarrier }

func (b heedless) Enter(ctx context.Context) error {
	b.DoubleBarrier.Enter(ctx)
	return nil
}

func TestGoingOnAfterAnError(t *testing.T) {
	w := workload.Barrier(2, func(c recipes.Conn) workload.Rendezvous {
		return heedless{recipes.NewDoubleBarrier(c, countedDir, 2)}
	})
	wantBroken(t, w, sim.Cancel, "early-enter", "members were there")
}
