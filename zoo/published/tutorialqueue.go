package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// element begins the names of the items in the tutorial's queues.
const element = "element"

// TutorialQueue is a producer-consumer queue. After "Programming with ZooKeeper - A basic tutorial", as republished
// in prose: consumers take the child with the smallest number.
type TutorialQueue struct{ items }

// NewTutorialQueue returns a queue; nothing is sent before it is used.
func NewTutorialQueue(client recipes.Conn, root string, bugs Bugs) *TutorialQueue {
	return &TutorialQueue{items{client: client, dir: root, head: len(element), bugs: bugs}}
}

// Offer is the tutorial's produce.
func (q *TutorialQueue) Offer(ctx context.Context, value []byte) error {
	return q.create(ctx, q.name(element), value, zk.FlagSequence)
}

// Poll is consume for those who do not wait: recipes.ErrEmpty if there is nothing.
func (q *TutorialQueue) Poll(ctx context.Context) ([]byte, error) { return q.consume(ctx, false) }

// Take is the tutorial's consume.
func (q *TutorialQueue) Take(ctx context.Context) ([]byte, error) { return q.consume(ctx, true) }

func (q *TutorialQueue) consume(ctx context.Context, wait bool) ([]byte, error) {
	return q.items.consume(ctx, wait, func(smallest string) ([]byte, bool, error) {
		value, err := q.take(ctx, "consume", smallest)
		// BUG: P4 another consumer was faster, and this one fails
		return value, errors.Is(err, zk.ErrNoNode) && !q.bugs.Has("P4"), err
	})
}
