package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// CuratorQueue is a queue that takes the place of [DistributedQueue]. After
// org.apache.curator.framework.recipes.queue.SimpleDistributedQueue, Apache Curator 5.4, whose client repeats each
// request until it is answered (RetryLoop).
type CuratorQueue struct{ items }

// NewCuratorQueue returns a queue; nothing is sent before it is used.
func NewCuratorQueue(client recipes.Conn, path string, bugs Bugs) *CuratorQueue {
	return &CuratorQueue{items{client: client, dir: path, head: len(prefix), bugs: bugs}}
}

// Offer inserts data into the queue.
func (q *CuratorQueue) Offer(ctx context.Context, data []byte) error {
	thisPath := q.name(prefix)
	if q.bugs.Has("Q9") { // BUG: Q9 a create that is repeated may have happened: the item is there twice
		return retry(ctx, func() error { return q.create(ctx, thisPath, data, zk.FlagSequence) })
	}
	err := q.create(ctx, thisPath, data, zk.FlagSequence)
	if connectionLoss(err) {
		return q.created(ctx, thisPath, data, err)
	}
	return err
}

// Poll removes the head and returns it, or recipes.ErrEmpty.
func (q *CuratorQueue) Poll(ctx context.Context) ([]byte, error) {
	data, _, err := q.internalElement(ctx, true, false)
	return data, err
}

// Peek returns the head, or recipes.ErrEmpty.
func (q *CuratorQueue) Peek(ctx context.Context) ([]byte, error) {
	data, _, err := q.internalElement(ctx, false, false)
	return data, err
}

// Take removes the head and returns it, and waits for one until ctx ends.
func (q *CuratorQueue) Take(ctx context.Context) ([]byte, error) {
	for {
		data, watch, err := q.internalElement(ctx, true, true)
		if !errors.Is(err, recipes.ErrEmpty) {
			return data, err
		}
		if err := await(ctx, watch); err != nil {
			return nil, err
		}
	}
}

func (q *CuratorQueue) internalElement(ctx context.Context, removeIt, watched bool) ([]byte, <-chan zk.Event, error) {
	for {
		session := q.client.SessionID()
		nodes, watch, err := q.list(ctx, watched)
		if err != nil {
			return nil, nil, err
		}
		if len(nodes) == 0 {
			return nil, watch, recipes.ErrEmpty
		}
		for _, node := range nodes {
			data, err := q.get(ctx, node)
			if err == nil && removeIt {
				err = q.delete(ctx, node, data)
			}
			// Another client removed the node first, try next; or a server that lags, in a new session.
			if !errors.Is(err, zk.ErrNoNode) && (removeIt || session == q.client.SessionID()) {
				return data, nil, err
			}
		}
	}
}

// delete deletes an item, again and again until there is an answer.
func (q *CuratorQueue) delete(ctx context.Context, node string, data []byte) error {
	thisPath := q.dir + "/" + node
	lost, err := retryNoting(ctx, func() error { return q.client.Delete(thisPath, -1) })
	if lost != nil && err != nil && !q.bugs.Has("Q10") { // BUG: Q10 the one who was faster may have been the lost try
		return &recipes.UnknownOutcomeError{Op: "poll", Path: thisPath, Data: data, Err: lost}
	}
	return err
}
