package published

import (
	"context"
	"errors"
	"strconv"

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

// SyncPrimitiveQueue is a producer-consumer queue. After the class SyncPrimitive.Queue of "Programming with ZooKeeper
// - A basic tutorial", as republished, and the producer of its queueTest. (There the elements are numbers. What is
// wrong with the mutex that all objects of a process share is not carried over: each watch here has its own.)
type SyncPrimitiveQueue struct {
	items

	// The steps in which it had bugs.
	produced func(err error) error   // what Offer makes of an error
	find     func(min string) string // the name of the element with the smallest number
	faster   func(err error) bool    // whether an error says that another consumer was faster
	remove   func(name string, b []byte) error
}

// NewSyncPrimitiveQueue returns a queue and creates its root.
func NewSyncPrimitiveQueue(zookeeper recipes.Conn, name string, bugs Bugs) *SyncPrimitiveQueue {
	q := &SyncPrimitiveQueue{items: items{client: zookeeper, dir: name, head: len(element)}}
	q.produced = func(err error) error { return err }
	q.find = func(min string) string { return min }
	q.faster = func(err error) bool { return errors.Is(err, zk.ErrNoNode) }
	q.remove = func(name string, b []byte) error { return q.delete("consume", name, b) }
	mistaken(q, bugs.Has, syncPrimitiveQueueMistakes)
	if exists, _, err := zookeeper.Exists(name); err == nil && !exists {
		zookeeper.Create(name, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)) // errors are only printed
	}
	return q
}

var syncPrimitiveQueueMistakes = []mistake[SyncPrimitiveQueue]{
	{"SP4", func(q *SyncPrimitiveQueue) {
		q.faster = func(error) bool { return false }
		q.find = func(min string) string {
			number := q.numberAt()
			if n, err := strconv.Atoi(min[number:]); err == nil { // BUG: SP4 the zeros before the number are lost
				return min[:number] + strconv.Itoa(n)
			}
			return min
		}
	}},
	// BUG: SP5 another consumer was faster, and this one throws
	{"SP5", func(q *SyncPrimitiveQueue) { q.faster = func(error) bool { return false } }},
	{"SP6", func(q *SyncPrimitiveQueue) {
		q.remove = func(name string, _ []byte) error {
			// BUG: SP6 the delete may have been carried out, and the element is thrown away
			return q.client.Delete(q.dir+"/"+name, 0)
		}
	}},
	// BUG: SP7 catch (KeeperException e) {}
	{"SP7", func(q *SyncPrimitiveQueue) { q.produced = func(error) error { return nil } }},
}

// Offer is the producer of queueTest.
func (q *SyncPrimitiveQueue) Offer(ctx context.Context, value []byte) error {
	return q.produced(q.create(ctx, q.name(element), value, zk.FlagSequence)) // produce
}

// Poll is Take for those who do not wait: recipes.ErrEmpty if there is nothing.
func (q *SyncPrimitiveQueue) Poll(ctx context.Context) ([]byte, error) { return q.consume(ctx, false) }

// Take is the original's consume: it removes the first element from the queue.
func (q *SyncPrimitiveQueue) Take(ctx context.Context) ([]byte, error) { return q.consume(ctx, true) }

func (q *SyncPrimitiveQueue) consume(ctx context.Context, wait bool) ([]byte, error) {
	return q.items.consume(ctx, wait, func(min string) (b []byte, next bool, err error) {
		name := q.find(min)
		if b, err = q.get(ctx, name); err == nil {
			err = q.remove(name, b)
		}
		return b, q.faster(err), err
	})
}
