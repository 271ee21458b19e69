package published

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// KazooQueue is a queue with priorities from 0 to 999, of which the smallest comes first. After
// kazoo.recipe.queue.Queue, kazoo 2.8 (python-zk/kazoo, kazoo/recipe/queue.py).
type KazooQueue struct {
	items
	childList []string // self._children
}

const kazooEntry = "entry-"

func (q *KazooQueue) put(ctx context.Context, value []byte, priority int) error {
	return q.create(ctx, q.name(fmt.Sprintf("%s%03d-", kazooEntry, priority)), value, zk.FlagSequence)
}

// kazooPriority is what put takes for a priority if it is told none.
const kazooPriority = 100

// NewKazooQueue returns a queue; nothing is sent before it is used.
func NewKazooQueue(client recipes.Conn, path string, bugs Bugs) *KazooQueue {
	return &KazooQueue{items: items{client: client, dir: path, head: len(kazooEntry + "000-"), bugs: bugs}}
}

// Offer is put without a priority.
func (q *KazooQueue) Offer(ctx context.Context, value []byte) error {
	return q.put(ctx, value, kazooPriority)
}

// errForceRetry is kazoo's ForceRetryError.
var errForceRetry = errors.New("once more")

// Poll is the original's get: it gets and removes an item, recipes.ErrEmpty for its None.
func (q *KazooQueue) Poll(ctx context.Context) ([]byte, error) {
	for { // client.retry(self._inner_get)
		data, err := q.innerGet(ctx)
		switch {
		case errors.Is(err, errForceRetry):
		case !connectionLoss(err) || errors.Is(err, recipes.ErrEmpty):
			return data, err
		case !q.bugs.Has("Q1"): // BUG: Q1 the item may be removed: the next try returns another
			return nil, err
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

func (q *KazooQueue) innerGet(ctx context.Context) (_ []byte, err error) {
	if len(q.childList) == 0 || !q.bugs.Has("Q2") { // BUG: Q2 the list is as old as its first item's get
		if q.childList, _, err = q.list(ctx, false); err != nil {
			return nil, err
		}
	}
	if len(q.childList) == 0 {
		return nil, recipes.ErrEmpty
	}
	data, err := q.take(ctx, "poll", q.childList[0])
	if errors.Is(err, zk.ErrNoNode) {
		// The first node has vanished in the meantime, try to get another one.
		q.childList = nil
		return nil, errForceRetry
	}
	if err == nil {
		q.childList = q.childList[1:]
	}
	return data, err
}

// KazooPriorityQueue gives a [KazooQueue] the methods of other priority queues of this project. These know negative
// priorities: 0 is the middle of kazoo's.
type KazooPriorityQueue struct{ queue *KazooQueue }

// NewKazooPriorityQueue returns one with a KazooQueue of its own.
func NewKazooPriorityQueue(client recipes.Conn, path string, bugs Bugs) KazooPriorityQueue {
	return KazooPriorityQueue{NewKazooQueue(client, path, bugs)}
}

// Offer puts an item into the queue.
func (q KazooPriorityQueue) Offer(ctx context.Context, priority int32, data []byte) error {
	return q.queue.put(ctx, data, 500+int(priority))
}

// Poll removes the first item and returns it, or recipes.ErrEmpty.
func (q KazooPriorityQueue) Poll(ctx context.Context) ([]byte, error) { return q.queue.Poll(ctx) }
