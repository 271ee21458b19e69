package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// enlistUnder is enlist as long as a lock's znode is there, which a multi makes sure of: who has lost
// the lock creates nothing. It returns zk.ErrNoNode if the lock or the directory is missing.
func (c *contender) enlistUnder(ctx context.Context, lock string) error {
	c.identify()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		results, err := c.client.Multi(
			&zk.CheckVersionRequest{Path: lock, Version: -1},
			&zk.CreateRequest{Path: c.dir + "/" + c.stem(), Acl: zk.WorldACL(zk.PermAll), Flags: c.flags},
		)
		if !connectionLoss(err) {
			if err == nil {
				c.path = results[1].String
			}
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
		if found, err := c.find(ctx); found || err != nil {
			return err
		}
		if c.session != c.client.SessionID() {
			return zk.ErrNoNode // and so is the lock
		}
	}
}

// keeps tells whether the znode is there and belongs to the session.
func (c *contender) keeps(ctx context.Context) (bool, error) {
	var exists bool
	var stat *zk.Stat
	err := retry(ctx, func() (err error) { exists, stat, err = c.client.Exists(c.path); return err })
	return err == nil && exists && c.owned(stat), err
}

// lockAround acquires a lock, does something and releases it.
func lockAround(ctx context.Context, lock *contender, do func() error) error {
	before := func(line []string, own int) string {
		if own == 0 {
			return ""
		}
		return line[own-1]
	}
	err := lock.waitTurn(ctx, before)
	if err == nil {
		err = do()
	}
	return errors.Join(err, lock.withdraw())
}
