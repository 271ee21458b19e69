package published

import (
	"context"
	"errors"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// SyncPrimitiveQueue is a producer-consumer queue. After the class SyncPrimitive.Queue of "Programming with ZooKeeper
// - A basic tutorial", as republished, and the producer of its queueTest. (There the elements are numbers. What is
// wrong with the mutex that all objects of a process share is not carried over: each watch here has its own.)
type SyncPrimitiveQueue struct{ items }

// NewSyncPrimitiveQueue returns a queue and creates its root.
func NewSyncPrimitiveQueue(zookeeper recipes.Conn, name string, bugs Bugs) *SyncPrimitiveQueue {
	q := &SyncPrimitiveQueue{items{client: zookeeper, dir: name, head: len(element), bugs: bugs}}
	if exists, _, err := zookeeper.Exists(name); err == nil && !exists {
		zookeeper.Create(name, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)) // errors are only printed
	}
	return q
}

// Offer is the producer of queueTest.
func (q *SyncPrimitiveQueue) Offer(ctx context.Context, value []byte) error {
	err := q.create(ctx, q.name(element), value, zk.FlagSequence) // produce
	if q.bugs.Has("SP7") {                                        // BUG: SP7 catch (KeeperException e) {}
		return nil
	}
	return err
}

// Poll is Take for those who do not wait: recipes.ErrEmpty if there is nothing.
func (q *SyncPrimitiveQueue) Poll(ctx context.Context) ([]byte, error) { return q.consume(ctx, false) }

// Take is the original's consume: it removes the first element from the queue.
func (q *SyncPrimitiveQueue) Take(ctx context.Context) ([]byte, error) { return q.consume(ctx, true) }

func (q *SyncPrimitiveQueue) consume(ctx context.Context, wait bool) ([]byte, error) {
	return q.items.consume(ctx, wait, func(min string) ([]byte, bool, error) {
		b, err := q.remove(ctx, q.find(min))
		if q.bugs.Has("SP5") || q.bugs.Has("SP4") { // BUG: SP5 another consumer was faster, and this one throws
			return b, false, err
		}
		return b, errors.Is(err, zk.ErrNoNode), err
	})
}

// find makes the name of the element with the smallest number.
func (q *SyncPrimitiveQueue) find(min string) string {
	number := q.numberAt()
	if q.bugs.Has("SP4") {
		if n, err := strconv.Atoi(min[number:]); err == nil { // BUG: SP4 the zeros before the number are lost
			return min[:number] + strconv.Itoa(n)
		}
	}
	return min
}

func (q *SyncPrimitiveQueue) remove(ctx context.Context, name string) ([]byte, error) {
	b, err := q.get(ctx, name)
	if err != nil {
		return nil, err
	}
	if q.bugs.Has("SP6") { // BUG: SP6 the delete may have been carried out, and the element is thrown away
		return b, q.client.Delete(q.dir+"/"+name, 0)
	}
	return b, q.delete("consume", name, b)
}
