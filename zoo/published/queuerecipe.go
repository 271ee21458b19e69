package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// QueueRecipe is a queue as ZooKeeper's documentation describes it in "ZooKeeper Recipes and Solutions": a producer
// creates a znode whose name ends in a number; a consumer lists the znodes and handles the smallest first, and lists
// them again when they are used up.
type QueueRecipe struct{ items }

// NewQueueRecipe returns a queue; nothing is sent before it is used.
func NewQueueRecipe(client recipes.Conn, dir string, bugs Bugs) *QueueRecipe {
	q := &QueueRecipe{items{client: client, dir: dir, head: len(prefix), bugs: bugs}}
	q.stale = bugs.Has("DQ11") // BUG: DQ11 "all servers show the same data": no sync before the list
	return q
}

// Offer puts an item into the queue.
func (q *QueueRecipe) Offer(ctx context.Context, data []byte) error {
	flags := int32(zk.FlagSequence)
	if q.bugs.Has("DQ10") { // BUG: DQ10 "sequence and ephemeral": the item goes when its producer does
		flags = zk.FlagEphemeralSequential
	}
	return q.create(ctx, q.name(prefix), data, flags)
}

// Poll removes the first item and returns it, or recipes.ErrEmpty.
func (q *QueueRecipe) Poll(ctx context.Context) ([]byte, error) {
	return q.handle(ctx, func(name string) ([]byte, error) { return q.take(ctx, "poll", name) })
}

// Peek returns the first item and leaves it there, or recipes.ErrEmpty.
func (q *QueueRecipe) Peek(ctx context.Context) ([]byte, error) {
	return q.handle(ctx, func(name string) ([]byte, error) { return q.get(ctx, name) })
}

// handle does something to the first item that is still there.
func (q *QueueRecipe) handle(ctx context.Context, do func(name string) ([]byte, error)) ([]byte, error) {
	for {
		session := q.client.SessionID()
		names, _, err := q.list(ctx, false)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, recipes.ErrEmpty
		}
		for _, name := range names {
			data, err := do(name)
			if !errors.Is(err, zk.ErrNoNode) {
				return data, err
			}
			if session != q.client.SessionID() {
				break // a new session may be served by a server that lags
			}
		}
	}
}
