package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// OfficialDoubleBarrier is a double barrier. After "ZooKeeper Recipes and Solutions", Double Barriers, with its
// steps' numbers.
type OfficialDoubleBarrier struct {
	assembly
	enter func(ctx context.Context) error
}

// NewOfficialDoubleBarrier returns a process's barrier; nothing is sent before it is used.
func NewOfficialDoubleBarrier(client recipes.Conn, b string, x int, bugs Bugs) *OfficialDoubleBarrier {
	o := &OfficialDoubleBarrier{assembly: assembly{client: client, dir: b, size: x, prefix: "p-"}}
	o.enter = o.enterRound
	if bugs.Has("B17") { // BUG: B17 nobody deletes "ready", so it is there in the next round
		o.enter = o.enterReady
	}
	return o
}

// Enter waits for the others.
func (o *OfficialDoubleBarrier) Enter(ctx context.Context) error {
	return o.orRemove(o.enter(ctx)) // the text says nothing of errors
}

func (o *OfficialDoubleBarrier) enterRound(ctx context.Context) error {
	if err := o.admit(o.name, func(p string) error { return o.join(p, zk.FlagEphemeral) }); err != nil {
		return err
	}
	return gather(ctx, o.begun)
}

func (o *OfficialDoubleBarrier) name() string { return "p-" + recipes.NewGUID(o.client) } // 1

// enterReady is the text.
func (o *OfficialDoubleBarrier) enterReady(ctx context.Context) error {
	p := o.name()
	_, _, changed, err := o.client.ExistsW(o.dir + "/ready") // 2
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
	return o.sayReady(ctx, len(names), changed, once) // 5, 6
}

// Leave waits until the others leave.
func (o *OfficialDoubleBarrier) Leave(ctx context.Context) error {
	return o.orRemove(o.disperse(ctx, o.awaitGone))
}

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

func (b *CuratorDoubleBarrier) enterRound(ctx context.Context) error {
	if err := b.enlist(ctx); err != nil {
		return err
	}
	return gather(ctx, func() (bool, []<-chan zk.Event, error) { return b.surelyBegun(ctx) })
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
	return b.sayReady(ctx, len(children), changed, retry)
}

// Leave blocks until all members have left.
func (b *CuratorDoubleBarrier) Leave(ctx context.Context) error { return b.leave(ctx) }

func (b *CuratorDoubleBarrier) leaveRound(ctx context.Context) error {
	return b.orRemove(b.disperse(ctx, b.awaitGone))
}

// KazooDoubleBarrier is a double barrier. After kazoo.recipe.barrier.DoubleBarrier, kazoo 2.8
// (python-zk/kazoo, kazoo/recipe/barrier.py). It counts on kazoo's habit to tell a watch, once, that
// the connection is gone.
type KazooDoubleBarrier struct {
	assembly

	// The steps in which it had bugs.
	meet   func(ctx context.Context) error            // the others
	caught func(ctx context.Context, err error) error // what Enter makes of an error
	hear   func(ctx context.Context, watches ...<-chan zk.Event) error
	ended  func(ctx context.Context) // before Leave
}

// NewKazooDoubleBarrier returns a client's barrier; nothing is sent before it is used.
func NewKazooDoubleBarrier(client recipes.Conn, path string, numClients int, bugs Bugs) *KazooDoubleBarrier {
	b := &KazooDoubleBarrier{assembly: assembly{client: client, dir: path, size: numClients, prefix: "n-"}}
	b.meet, b.hear = b.meetRound, awaitChange
	b.caught = func(_ context.Context, err error) error { return err }
	b.ended = func(context.Context) {}
	return mistaken(b, bugs.Has, kazooDoubleBarrierMistakes)
}

var kazooDoubleBarrierMistakes = []mistake[KazooDoubleBarrier]{
	{"B12", func(b *KazooDoubleBarrier) {
		b.meet = b.countAndSay
		b.ended = func(ctx context.Context) {
			retry(ctx, func() error { return b.client.Delete(b.dir+"/ready", -1) })
		}
	}},
	{"B13", func(b *KazooDoubleBarrier) {
		b.caught = func(ctx context.Context, err error) error {
			if ctx.Err() == nil {
				return nil // BUG: B13 except KazooException: the caller hears nothing of it
			}
			return err
		}
	}},
	{"B15", func(b *KazooDoubleBarrier) {
		b.hear = func(ctx context.Context, watches ...<-chan zk.Event) error {
			event, err := awaitAny(ctx, watches...)
			if err == nil && event.Type == zk.EventSession { // BUG: B15 that the watch is gone is ignored
				<-ctx.Done()
				return ctx.Err()
			}
			return err
		}
	}},
}

// Enter waits until enough clients have entered.
func (b *KazooDoubleBarrier) Enter(ctx context.Context) error {
	err := b.enlist(ctx)
	if err == nil {
		err = b.meet(ctx)
	}
	return b.caught(ctx, b.orRemove(err)) // _best_effort_cleanup
}

func (b *KazooDoubleBarrier) meetRound(ctx context.Context) error {
	return gatherBy(ctx, b.hear, func() (bool, []<-chan zk.Event, error) { return b.surelyBegun(ctx) })
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

// Leave waits until all clients have left.
func (b *KazooDoubleBarrier) Leave(ctx context.Context) error {
	b.ended(ctx)
	return b.orRemove(b.disperse(ctx, b.awaitGone))
}

func (b *KazooDoubleBarrier) awaitGone(ctx context.Context, name string) error {
	deleted, err := b.watched(ctx, name)
	if err != nil || deleted == nil {
		return err
	}
	return b.hear(ctx, deleted)
}

// KazooBarrier is shut while its znode is there. After kazoo.recipe.barrier.Barrier, kazoo 2.8 to 2.11
// (python-zk/kazoo, kazoo/recipe/barrier.py).
// A change whose reply is lost is not repeated here: a second delete might open what another has shut.
type KazooBarrier struct {
	client    recipes.Conn
	dir, path string
	bugs      Bugs
}

// barrierName is the znode's name in its directory.
const barrierName = "barrier"

// NewKazooBarrier returns a barrier in a directory; nothing is sent before it is used.
func NewKazooBarrier(client recipes.Conn, dir string, bugs Bugs) *KazooBarrier {
	return &KazooBarrier{client, dir, dir + "/" + barrierName, bugs}
}

// Shut makes the znode (create).
func (b *KazooBarrier) Shut(context.Context) error {
	_, err := createUnder(b.client, b.dir, barrierName, zk.FlagPersistent)
	return b.outcome("shut", err, zk.ErrNodeExists)
}

// Open deletes the znode (remove).
func (b *KazooBarrier) Open(context.Context) error {
	return b.outcome("open", b.client.Delete(b.path, -1), zk.ErrNoNode)
}

// outcome is the error of a change, nil if there was nothing to do.
func (b *KazooBarrier) outcome(change string, err, done error) error {
	switch {
	case errors.Is(err, done):
		return nil
	case connectionLoss(err):
		return &recipes.UnknownOutcomeError{Op: change, Path: b.path, Err: err}
	}
	return err
}

// Wait waits until the barrier is cleared.
func (b *KazooBarrier) Wait(ctx context.Context) error {
	for {
		watch, err := b.look(ctx)
		if watch == nil || err != nil {
			return err
		}
		event, err := awaitAny(ctx, watch)
		if event.Type == zk.EventNodeDeleted || err != nil {
			return err
		}
		if b.bugs.Has("B18") && event.Err != zk.ErrClosing { // BUG: B18 an expiry ends the watch, too
			<-ctx.Done()
			return ctx.Err()
		}
	}
}

// look sets a watch on the znode, nil if it was not there at a moment during the call.
func (b *KazooBarrier) look(ctx context.Context) (watch <-chan zk.Event, err error) {
	for {
		session := b.client.SessionID()
		if err := catchUp(ctx, b.client, b.path); err != nil {
			return nil, err
		}
		err = retry(ctx, func() (err error) { _, _, watch, err = b.client.GetW(b.path); return err })
		if errors.Is(err, zk.ErrNoNode) {
			watch, err = nil, nil
		}
		if err != nil || session != 0 && session == b.client.SessionID() {
			return watch, err
		}
	}
}
