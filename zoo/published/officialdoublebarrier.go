package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// OfficialDoubleBarrier is a double barrier. After "ZooKeeper Recipes and Solutions", Double Barriers, with its
// steps' numbers.
type OfficialDoubleBarrier struct{ assembly }

// NewOfficialDoubleBarrier returns a process's barrier; nothing is sent before it is used.
func NewOfficialDoubleBarrier(client recipes.Conn, b string, x int, bugs Bugs) *OfficialDoubleBarrier {
	return &OfficialDoubleBarrier{assembly{client: client, dir: b, size: x, prefix: "p-", bugs: bugs}}
}

// Enter waits for the others.
func (o *OfficialDoubleBarrier) Enter(ctx context.Context) error {
	return o.orRemove(o.enter(ctx)) // the text says nothing of errors
}

func (o *OfficialDoubleBarrier) enter(ctx context.Context) error {
	if o.bugs.Has("B17") { // BUG: B17 nobody deletes "ready", so it is there in the next round
		return o.enterReady(ctx, o.name())
	}
	if err := o.admit(o.name, func(p string) error { return o.join(p, zk.FlagEphemeral) }); err != nil {
		return err
	}
	return gather(ctx, o.begun)
}

func (o *OfficialDoubleBarrier) name() string { return "p-" + recipes.NewGUID(o.client) } // 1

// enterReady is the text.
func (o *OfficialDoubleBarrier) enterReady(ctx context.Context, p string) error {
	ready := o.dir + "/ready"
	_, _, changed, err := o.client.ExistsW(ready) // 2
	if err != nil {
		return err
	}
	if err := o.join(p, zk.FlagEphemeral); err != nil { // 3
		return err
	}
	names, _, err := o.client.Children(o.dir) // 4
	if err != nil {
		return err
	}
	if len(names) < o.size { // 5
		return awaitReady(ctx, changed)
	}
	_, err = o.client.Create(ready, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)) // 6
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// Leave waits until the others leave.
func (o *OfficialDoubleBarrier) Leave(ctx context.Context) error {
	return o.orRemove(o.disperse(ctx, o.awaitGone))
}
