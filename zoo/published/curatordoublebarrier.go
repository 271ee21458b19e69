package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// CuratorDoubleBarrier is a double barrier. After
// org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier, Apache Curator 5.4. (The original's object
// is for one round.)
type CuratorDoubleBarrier struct{ assembly }

// NewCuratorDoubleBarrier returns a member; nothing is sent before it is used.
func NewCuratorDoubleBarrier(client recipes.Conn, barrierPath string, memberQty int, bugs Bugs) *CuratorDoubleBarrier {
	return &CuratorDoubleBarrier{assembly{client: client, dir: barrierPath, size: memberQty, prefix: "_c_", bugs: bugs}}
}

func (b *CuratorDoubleBarrier) readyPath() string { return b.dir + "/ready" }

// Enter blocks until all members have entered.
func (b *CuratorDoubleBarrier) Enter(ctx context.Context) error {
	err := b.enter(ctx)
	if err != nil && !(ctx.Err() != nil && b.bugs.Has("B4")) { // BUG: B4 who gives up leaves its node, which counts
		b.remove()
	}
	return err
}

func (b *CuratorDoubleBarrier) enter(ctx context.Context) error {
	ready, changed, err := b.readyPathExists(ctx)
	if err != nil {
		return err
	}
	if err := b.enlist(ctx); err != nil || ready {
		return err
	}
	return b.internalEnter(ctx, changed)
}

// readyPathExists tells whether others say that enough are there.
func (b *CuratorDoubleBarrier) readyPathExists(ctx context.Context) (exists bool, changed <-chan zk.Event, err error) {
	if b.bugs.Has("B3") { // BUG: B3 they may have said so of an earlier round, and have died before they deleted it
		err = retry(ctx, func() (err error) { exists, _, changed, err = b.client.ExistsW(b.readyPath()); return err })
	}
	return exists, changed, err
}

func (b *CuratorDoubleBarrier) internalEnter(ctx context.Context, changed <-chan zk.Event) error {
	if b.bugs.Has("B3") {
		return b.countAndSay(ctx, changed)
	}
	return gather(ctx, func() (bool, []<-chan zk.Event, error) { return b.surelyBegun(ctx) })
}

// countAndSay is the original's internalEnter.
func (b *CuratorDoubleBarrier) countAndSay(ctx context.Context, changed <-chan zk.Event) error {
	children, _, err := b.left(ctx, false)
	if err != nil {
		return err
	}
	if len(children) < b.size {
		return awaitReady(ctx, changed)
	}
	err = retry(ctx, func() error {
		_, err := b.client.Create(b.readyPath(), nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		return err
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// Leave blocks until all members have left.
func (b *CuratorDoubleBarrier) Leave(ctx context.Context) error {
	err := b.orRemove(b.disperse(ctx, b.awaitGone))
	if b.bugs.Has("B3") {
		retry(ctx, func() error { return b.client.Delete(b.readyPath(), -1) })
	}
	return err
}
