package published

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

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
