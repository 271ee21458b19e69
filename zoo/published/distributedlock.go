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
}

// NewDistributedLock returns a lock; nothing is sent before it is used.
func NewDistributedLock(zkClient recipes.Conn, lockPath string, bugs Bugs) *DistributedLock {
	return &DistributedLock{contender: newContender(zkClient, lockPath, "member_", "-", bugs)}
}

// Lock waits until the lock is held.
func (d *DistributedLock) Lock(ctx context.Context) error {
	err := d.enlist(ctx) // prepare
	for err == nil {
		var predecessor string
		if predecessor, err = d.checkForLock(ctx); err != nil || predecessor == "" {
			break
		}
		err = d.awaitDeletion(ctx, predecessor)
		if ctx.Err() != nil && d.bugs.Has("L28") { // BUG: L28 the time is up, and the znode stays in the queue
			return ctx.Err()
		}
	}
	return d.orWithdraw(err) // cancelAttempt
}

// checkForLock begins to hold the lock if the own znode is the first, else it names the znode right before.
func (d *DistributedLock) checkForLock(ctx context.Context) (predecessor string, err error) {
	for {
		members, own, err := d.line(ctx)
		if err != nil {
			return "", err
		}
		if own > 0 {
			return members[own-1], nil
		}
		watch, held, err := d.first(ctx, own)
		if err != nil {
			return "", err
		}
		if held {
			d.holdLock(watch)
			return "", nil
		}
	}
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
