package published

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// CuratorDoubleBarrier is a double barrier. After
// org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier, Apache Curator 5.4. (The
// original's object is for one round.)
type CuratorDoubleBarrier struct {
	assembly

	// The steps in which it had bugs.
	internalEnter func(ctx context.Context) error
	failed        func(ctx context.Context) // to enter
	leave         func(ctx context.Context) error
}

// NewCuratorDoubleBarrier returns a member; nothing is sent before it is used.
func NewCuratorDoubleBarrier(client recipes.Conn, barrierPath string, memberQty int, bugs Bugs) *CuratorDoubleBarrier {
	b := &CuratorDoubleBarrier{assembly: assembly{client: client, dir: barrierPath, size: memberQty, prefix: "_c_"}}
	b.internalEnter, b.leave = b.enterRound, b.leaveRound
	b.failed = func(context.Context) { b.remove() }
	return mistaken(b, bugs.Has, curatorDoubleBarrierMistakes)
}

var curatorDoubleBarrierMistakes = []mistake[CuratorDoubleBarrier]{
	{"B3", func(b *CuratorDoubleBarrier) {
		b.internalEnter = b.enterByReady
		b.leave = func(ctx context.Context) error {
			err := b.leaveRound(ctx)
			retry(ctx, func() error { return b.client.Delete(b.readyPath(), -1) })
			return err
		}
	}},
	{"B4", func(b *CuratorDoubleBarrier) {
		b.failed = func(ctx context.Context) {
			if ctx.Err() == nil { // BUG: B4 who gives up leaves its node, which counts
				b.remove()
			}
		}
	}},
}

func (b *CuratorDoubleBarrier) readyPath() string { return b.dir + "/ready" }

// Enter blocks until all members have entered.
func (b *CuratorDoubleBarrier) Enter(ctx context.Context) error {
	err := b.internalEnter(ctx)
	if err != nil {
		b.failed(ctx)
	}
	return err
}

// enterByReady is the original, in which who finds enough there says so for the others.
func (b *CuratorDoubleBarrier) enterByReady(ctx context.Context) error {
	ready, changed := false, (<-chan zk.Event)(nil)
	err := retry(ctx, func() (err error) { ready, _, changed, err = b.client.ExistsW(b.readyPath()); return err })
	if err == nil {
		err = b.enlist(ctx)
	}
	if err != nil || ready { // BUG: B3 it may be of an earlier round, whose members have died before they deleted it
		return err
	}
	children, _, err := b.left(ctx, false)
	if err != nil {
		return err
	}
	return b.sayReady(ctx, len(children), changed)
}

// Leave blocks until all members have left.
func (b *CuratorDoubleBarrier) Leave(ctx context.Context) error { return b.leave(ctx) }

func (b *CuratorDoubleBarrier) leaveRound(ctx context.Context) error {
	return b.orRemove(b.disperse(ctx))
}

// KazooDoubleBarrier is a double barrier. After kazoo.recipe.barrier.DoubleBarrier, kazoo 2.8
// (python-zk/kazoo, kazoo/recipe/barrier.py).
type KazooDoubleBarrier struct {
	assembly
	bugs Bugs
}

// NewKazooDoubleBarrier returns a client's barrier; nothing is sent before it is used.
func NewKazooDoubleBarrier(client recipes.Conn, path string, numClients int, bugs Bugs) *KazooDoubleBarrier {
	return &KazooDoubleBarrier{assembly{client: client, dir: path, size: numClients, prefix: "n-"}, bugs}
}

// Enter waits until enough clients have entered.
func (b *KazooDoubleBarrier) Enter(ctx context.Context) error {
	err := b.orRemove(b.enterRound(ctx)) // _best_effort_cleanup
	if b.bugs.Has("B13") && ctx.Err() == nil {
		return nil // BUG: B13 except KazooException: the caller hears nothing of it
	}
	return err
}

// Leave waits until all clients have left.
func (b *KazooDoubleBarrier) Leave(ctx context.Context) error {
	return b.orRemove(b.disperse(ctx))
}
