package published

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// KazooDoubleBarrier is a double barrier. After kazoo.recipe.barrier.DoubleBarrier, kazoo 2.8 (python-zk/kazoo,
// kazoo/recipe/barrier.py). It counts on kazoo's habit to tell a watch, once, that the connection is gone.
type KazooDoubleBarrier struct{ assembly }

// NewKazooDoubleBarrier returns a client's barrier; nothing is sent before it is used.
func NewKazooDoubleBarrier(client recipes.Conn, path string, numClients int, bugs Bugs) *KazooDoubleBarrier {
	return &KazooDoubleBarrier{assembly{client: client, dir: path, size: numClients, prefix: "n-", bugs: bugs}}
}

// Enter waits until enough clients have entered.
func (b *KazooDoubleBarrier) Enter(ctx context.Context) error {
	err := b.orRemove(b.innerEnter(ctx))       // _best_effort_cleanup
	if b.bugs.Has("B13") && ctx.Err() == nil { // BUG: B13 except KazooException: the caller hears nothing of it
		return nil
	}
	return err
}

func (b *KazooDoubleBarrier) innerEnter(ctx context.Context) error {
	if err := b.enlist(ctx); err != nil {
		return err
	}
	if b.bugs.Has("B12") {
		return b.countAndSay(ctx)
	}
	for {
		begun, changed, err := b.surelyBegun(ctx)
		if begun || err != nil {
			return err
		}
		if err := b.hear(ctx, changed...); err != nil {
			return err
		}
	}
}

// countAndSay is the rest of the original's _inner_enter.
func (b *KazooDoubleBarrier) countAndSay(ctx context.Context) error {
	ready := b.dir + "/ready"
	var created <-chan zk.Event
	var children []string
	err := retry(ctx, func() (err error) { _, _, created, err = b.client.ExistsW(ready); return err })
	if err == nil {
		err = retry(ctx, func() (err error) { children, _, err = b.client.Children(b.dir); return err })
	}
	if err != nil {
		return err
	}
	if len(children) < b.size { // BUG: B12 one of them may be the "ready" of clients that have died
		return awaitReady(ctx, created)
	}
	return surePath(ctx, b.client, ready)
}

// hear waits for what a watch is set for.
func (b *KazooDoubleBarrier) hear(ctx context.Context, watches ...<-chan zk.Event) error {
	event, err := awaitAny(ctx, watches...)
	if err == nil && event.Type == zk.EventSession && b.bugs.Has("B15") { // BUG: B15 that the watch is gone is ignored
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// Leave waits until all clients have left.
func (b *KazooDoubleBarrier) Leave(ctx context.Context) error {
	if b.bugs.Has("B12") {
		retry(ctx, func() error { return b.client.Delete(b.dir+"/ready", -1) })
	}
	return b.orRemove(b.disperse(ctx, b.awaitGone))
}

func (b *KazooDoubleBarrier) awaitGone(ctx context.Context, name string) error {
	deleted, err := b.watched(ctx, name)
	if err != nil || deleted == nil {
		return err
	}
	return b.hear(ctx, deleted)
}
