package published

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

func kazooItems(client recipes.Conn, path string, bugs Bugs) items {
	return items{client: client, dir: path, head: len(kazooEntry + "000-"), bugs: bugs}
}

// put is the original's put of both queues.
func (d items) put(ctx context.Context, value []byte, priority int) error {
	return d.create(ctx, d.name(fmt.Sprintf("%s%03d-", kazooEntry, priority)), value, zk.FlagSequence)
}

// kazooPriority is what put takes for a priority if it is told none.
const kazooPriority = 100

// NewKazooQueue returns a queue; nothing is sent before it is used.
func NewKazooQueue(client recipes.Conn, path string, bugs Bugs) *KazooQueue {
	return &KazooQueue{items: kazooItems(client, path, bugs)}
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

// KazooLockingQueue is a queue whose items are locked, and removed when they have been processed. After
// kazoo.recipe.queue.LockingQueue, kazoo 2.8 (python-zk/kazoo, kazoo/recipe/queue.py).
type KazooLockingQueue struct {
	items
	path string
}

// The directories of a KazooLockingQueue.
const (
	kazooEntries = "/entries"
	kazooTaken   = "/taken"
)

// NewKazooLockingQueue returns a queue; nothing is sent before it is used.
func NewKazooLockingQueue(client recipes.Conn, path string, bugs Bugs) *KazooLockingQueue {
	return &KazooLockingQueue{kazooItems(client, path+kazooEntries, bugs), path}
}

// Offer puts an entry into the queue (put).
func (q *KazooLockingQueue) Offer(ctx context.Context, value []byte) error {
	return q.put(ctx, value, kazooPriority)
}

// Claim locks an entry and returns it, and waits for one until ctx ends (get).
func (q *KazooLockingQueue) Claim(ctx context.Context) (*ClaimedItem, error) {
	for { // check_for_updates
		values, changed, err := q.list(ctx, true)
		if err != nil {
			return nil, err
		}
		taken, released, err := q.taken(ctx)
		if err != nil {
			return nil, err
		}
		available := slices.DeleteFunc(values, func(id string) bool { return slices.Contains(taken, id) })
		if len(available) > 0 {
			id := available[0]
			item, err := claimItem(q.client, q.dir+"/"+id, q.path+kazooTaken+"/"+id)
			if item != nil || err != nil {
				return item, err
			}
			continue
		}
		if err := q.wait(ctx, changed, released); err != nil {
			return nil, err
		}
	}
}

// taken lists the entries that are locked, as of now or later than the list of entries.
func (q *KazooLockingQueue) taken(ctx context.Context) (names []string, watch <-chan zk.Event, err error) {
	err = retry(ctx, func() error {
		err := ensurePath(q.client, q.path+kazooTaken)
		if err == nil {
			names, _, watch, err = q.client.ChildrenW(q.path + kazooTaken)
		}
		if errors.Is(err, zk.ErrNoNode) {
			err = nil // removed this moment: nothing is locked, and the next look makes it anew
			names, watch = nil, soon()
		}
		return err
	})
	return names, watch, err
}

// soon is a watch that has fired.
func soon() <-chan zk.Event {
	watch := make(chan zk.Event)
	close(watch)
	return watch
}

// wait waits until one of the lists has changed.
func (q *KazooLockingQueue) wait(ctx context.Context, watches ...<-chan zk.Event) error {
	changed, released := watches[0], watches[1]
	for ctx.Err() == nil { // it counts first, and changed before released: see awaitAny
		var event zk.Event
		select {
		case event = <-changed:
			changed = nil
		default:
			select {
			case event = <-changed:
				changed = nil
			case event = <-released:
				released = nil
			case <-ctx.Done():
				continue
			}
		}
		if errors.Is(event.Err, zk.ErrClosing) {
			return event.Err
		}
		// BUG: Q4 "if event.type != EventType.CHILD: return", although kazoo has dropped the watch
		if event.Type != zk.EventSession || !q.bugs.Has("Q4") {
			return nil
		}
	}
	return ctx.Err()
}
