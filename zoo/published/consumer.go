package published

import (
	"context"

	"github.com/zktorture/zktorture/recipes"
)

// Consumer works on the items of a [DistributedQueue], and none is to be lost when it dies. With DQ4 it does so as
// the class wants it to be used: it takes an item, and then works on it. Else it claims an item with a znode beside
// it, and removes both when the work is done.
type Consumer struct {
	queue *DistributedQueue
	items
}

// NewConsumer returns a consumer with a DistributedQueue of its own.
func NewConsumer(zookeeper recipes.Conn, dir string, bugs Bugs) *Consumer {
	return &Consumer{
		NewDistributedQueue(zookeeper, dir, nil, bugs),
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
