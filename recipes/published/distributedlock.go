package published

import (
	"context"
	"errors"
	"sync"

	"github.com/zktorture/zktorture/recipes"
)

// DistributedLock is an exclusive lock. After com.twitter.common.zookeeper.DistributedLockImpl,
// twitter commons. The end of a context is what the timeout of the original's tryLock is.
//
// Mended, it also has a guid in each name, so that a lost reply leaves nothing behind, goes on where
// the original throws, and looks whose znode is first.
type DistributedLock struct {
	current contender
	bugs    Bugs

	refs      sync.Mutex
	holdsLock bool
	currentID string
}

// NewDistributedLock returns a lock; nothing is sent before it is used.
func NewDistributedLock(zkClient recipes.Conn, lockPath string, bugs Bugs) *DistributedLock {
	return &DistributedLock{current: newContender(zkClient, lockPath, "member_"), bugs: bugs}
}

// Lock waits until the lock is held.
func (d *DistributedLock) Lock(ctx context.Context) error {
	err := d.current.enlist(ctx) // prepare
	for err == nil {
		var predecessor string
		if predecessor, err = d.checkForLock(ctx); err != nil || predecessor == "" {
			break
		}
		err = d.current.awaitDeletion(ctx, predecessor)
		if ctx.Err() != nil && d.bugs.Has("L28") { // BUG: L28 the time is up, and the znode stays in the queue
			return ctx.Err()
		}
	}
	if err != nil {
		err = errors.Join(err, d.current.withdraw()) // cancelAttempt
	}
	return err
}

// checkForLock begins to hold the lock if the own znode is the first, else it names the znode right
// before.
func (d *DistributedLock) checkForLock(ctx context.Context) (predecessor string, err error) {
	for {
		members, own, err := d.current.line(ctx)
		if err != nil {
			return "", err
		}
		if own > 0 {
			return members[own-1], nil
		}
		if own == 0 {
			watch, held, err := d.current.confirm(ctx)
			if err != nil {
				return "", err
			}
			if held {
				d.hold(d.current.path)
				if !d.bugs.Has("L30") { // BUG: L30 nobody tells the holder that its session, and its znode with it, is gone
					go func(id string) {
						<-watch
						d.lose(id)
					}(d.current.path)
				}
				return "", nil
			}
		}
		if err := d.current.enlist(ctx); err != nil {
			return "", err
		}
	}
}

func (d *DistributedLock) hold(id string) {
	d.refs.Lock()
	defer d.refs.Unlock()
	d.holdsLock, d.currentID = true, id
}

// lose ends the hold by a znode.
func (d *DistributedLock) lose(id string) {
	d.refs.Lock()
	defer d.refs.Unlock()
	if d.currentID == id {
		d.holdsLock = false
	}
}

// IsOwner tells whether the lock is held.
func (d *DistributedLock) IsOwner() bool {
	d.refs.Lock()
	defer d.refs.Unlock()
	return d.holdsLock
}

// Unlock releases the lock.
func (d *DistributedLock) Unlock(context.Context) error {
	d.lose(d.current.path)
	return d.current.withdraw()
}
