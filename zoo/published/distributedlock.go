package published

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// DistributedLock is an exclusive lock. After com.twitter.common.zookeeper.DistributedLockImpl, twitter commons. The
// end of a context is what the timeout of the original's tryLock is.
//
// Fixed, it also has a guid in each name, so that a lost reply leaves nothing behind, goes on where the original
// throws, and looks whose znode is first.
type DistributedLock struct {
	contender
	owner
	bugs Bugs
}

// NewDistributedLock returns a lock; nothing is sent before it is used.
func NewDistributedLock(zkClient recipes.Conn, lockPath string, bugs Bugs) *DistributedLock {
	return &DistributedLock{contender: newContender(zkClient, lockPath, "member_", "-"), bugs: bugs}
}

// Lock waits until the lock is held.
func (d *DistributedLock) Lock(ctx context.Context) error {
	if err := d.enlist(ctx); err != nil { // prepare
		return d.orWithdraw(err)
	}
	late := false
	watch, err := d.reachTurn(ctx, rightBefore, func(name string) (bool, error) { // checkForLock
		err := d.awaitDeletion(ctx, name)
		if late = ctx.Err() != nil; late {
			err = ctx.Err()
		}
		return false, err
	})
	switch {
	case err == nil:
		d.holdLock(watch)
	case late && d.bugs.Has("L28"): // BUG: L28 the time is up, and the znode stays in the queue
		return err
	}
	return d.orWithdraw(err) // cancelAttempt
}

// holdLock begins to hold the lock.
func (d *DistributedLock) holdLock(watch <-chan zk.Event) {
	h := d.begin()
	if !d.bugs.Has("L30") { // BUG: L30 nobody tells the holder that its session, and its znode with it, is gone
		go h.keep(watch)
	}
}

// Unlock releases the lock.
func (d *DistributedLock) Unlock(context.Context) error {
	d.hold.Store(nil)
	return d.withdraw()
}
