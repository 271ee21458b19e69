package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// claim is an ephemeral znode of the consumer of an item. The guid in its data tells it from another client's, and
// from an earlier one of the same client.
type claim struct {
	client recipes.Conn
	path   string
	guid   string
}

// makeClaim claims an item; false if another client has. It goes on when the caller has left, so that no client holds
// a claim without knowing.
func makeClaim(client recipes.Conn, path string) (c claim, made bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawMax)
	defer cancel()
	c = claim{client, path, recipes.NewGUID(client)}
	lost, err := retryNoting(ctx, func() error {
		_, err := client.Create(path, []byte(c.guid), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		return err
	})
	switch {
	case err == nil:
		return c, true, nil
	case !errors.Is(err, zk.ErrNodeExists):
		return c, false, err
	case lost == nil:
		return c, false, nil
	}
	made, err = c.held(ctx)
	return c, made, err
}

// held reports whether the claim is there, in this session.
func (c claim) held(ctx context.Context) (bool, error) {
	var data []byte
	var stat *zk.Stat
	err := retry(ctx, func() error {
		_, err := c.client.Sync(c.path)
		if err == nil {
			data, stat, err = c.client.Get(c.path)
		}
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil && string(data) == c.guid && stat.EphemeralOwner == c.client.SessionID(), err
}

// read reads the item that was claimed; held is false if it is gone or the claim is.
func (c claim) read(item string) (data []byte, held bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawMax)
	defer cancel()
	err = retry(ctx, func() (err error) { data, _, err = c.client.Get(item); return err })
	gone := errors.Is(err, zk.ErrNoNode)
	if err != nil && !gone {
		return nil, false, err
	}
	held, err = c.held(ctx)
	if held && gone {
		err = retry(ctx, func() error { return c.client.Delete(c.path, -1) })
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return data, held && !gone, err
}

// claimItem claims an item and reads it; nil if another client was faster, or the claim is lost already, or the
// directory is gone.
func claimItem(client recipes.Conn, item, path string) (*ClaimedItem, error) {
	claim, made, err := makeClaim(client, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil || !made {
		return nil, err
	}
	data, held, err := claim.read(item)
	if err != nil || !held {
		return nil, err
	}
	return &ClaimedItem{data, item, &claim}, nil
}

// finish removes the item and the claim, both or neither.
func (c claim) finish(item string) error {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawMax)
	defer cancel()
	held, err := c.held(ctx)
	if err != nil {
		return err
	}
	if !held {
		return recipes.ErrLost
	}
	lost, err := retryNoting(ctx, func() error {
		return deleteBoth(c.client, item, c.path)
	})
	if errors.Is(err, zk.ErrNoNode) && lost != nil {
		return &recipes.UnknownOutcomeError{Op: "finish", Path: item, Err: zk.ErrConnectionClosed}
	}
	if errors.Is(err, zk.ErrNoNode) {
		return recipes.ErrLost
	}
	return err
}

// ClaimedItem is an item that a consumer may work on.
type ClaimedItem struct {
	data []byte
	item string
	// claim is nil if the item has been removed already.
	claim *claim
}

// Data returns the item's data.
func (i *ClaimedItem) Data() []byte { return i.data }

// Done removes the item.
func (i *ClaimedItem) Done(context.Context) error {
	if i.claim == nil {
		return nil
	}
	return i.claim.finish(i.item)
}

// Consumer works on the items of a DistributedQueue of Apache ZooKeeper 3.4.6, and none is to be lost when it dies. With DQ4 it does so as
// the class wants it to be used: it takes an item, and then works on it. Else it claims an item with a znode beside
// it, and removes both when the work is done.
type Consumer struct {
	queue *distributedQueue
	items
}

// NewConsumer returns a consumer with a DistributedQueue of its own.
func NewConsumer(zookeeper recipes.Conn, dir string, bugs Bugs) *Consumer {
	return &Consumer{
		newDistributedQueue(zookeeper, dir, nil, bugs),
		items{client: zookeeper, dir: dir, head: len(prefix), claims: takenPrefix, bugs: bugs},
	}
}

// Offer appends an item.
func (c *Consumer) Offer(_ context.Context, data []byte) error {
	_, err := c.queue.Offer(data)
	return err
}

// takenPrefix begins the names of claims.
const takenPrefix = "taken-"

// Claim waits for an item to work on.
func (c *Consumer) Claim(ctx context.Context) (*ClaimedItem, error) {
	if c.bugs.Has("DQ4") {
		data, err := c.queue.Take(ctx)
		return &ClaimedItem{data: data}, err // BUG: DQ4 the item is gone: who dies from here on takes it along
	}
	for {
		free, watch, err := c.list(ctx, true)
		if err != nil {
			return nil, err
		}
		if len(free) == 0 {
			if err := await(ctx, watch); err != nil {
				return nil, err
			}
			continue
		}
		item, err := claimItem(c.client, c.dir+"/"+free[0], c.dir+"/"+takenPrefix+free[0])
		if item != nil || err != nil {
			return item, err
		}
	}
}
