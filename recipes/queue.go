package recipes

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// itemPrefix begins the names of a queue's items.
const itemPrefix = "qn-"

// Queue is a first-in first-out queue of byte strings. After ZooKeeper's recipe "Queues" (ZooKeeper Recipes and
// Solutions), with the changes below.
//
// # Znodes
//
// An item is a persistent sequential znode dir/qn-<guid>-<sequence> with the item's data. The oldest is the head; the
// client that deletes it has taken it. A missing dir is an empty queue; Offer and Take create it. Names carry a guid,
// so an old name can never mean a new item, although the numbers start again in a new dir. Other children of dir are
// ignored.
//
// # Promises
//
// The queue is linearizable: each operation that returns a result or nil took effect at one moment between its call
// and its return, and the items come out in the order in which they went in. An operation that returns [ErrEmpty]
// found the queue empty at such a moment; one that returns another error that is not an [*UnknownOutcomeError] has
// changed nothing. Each method says why.
//
// An item is taken when it is deleted. A process that dies after that takes it along: delivery is at most once.
//
// # Unknown outcomes
//
// When the reply to a change is lost, Offer looks for its item, and a removal tries again, which resolves most cases.
// What remains is an item that has gone meanwhile: the offer may have happened and been taken by another, the removal
// may have been one's own or another's. Then an [*UnknownOutcomeError] tells which item is concerned, and has its
// data. Repeating an Offer may then put the item in twice, not repeating it may lose it: items that carry an identity
// of their own allow consumers to tell. A context that ends during a change has the same effect.
//
// [WithReceipts] resolves the rest. Each change is then one multi together with a note in an ephemeral znode of this
// Queue value, dir/claim-<guid>: the identity of the change. After a lost reply that note reports whether the change
// was made. Only a session that expires at that moment, or a caller that leaves, still makes an unknown outcome. The
// price: each change is a transaction of two operations instead of one, in the same single request but with twice the
// entries in the servers' log; one more create for each session; changes through one Queue value take turns; and dir
// is not empty, and not removed, while a session that used it lives.
//
// # Cost
//
// Offer is one request. Poll is three (list, read, delete) and one more for each item that others took in between; a
// list grows with the queue. Peek is three (sync, which is a transaction unless [WithSync] is given, list, read).
// ErrEmpty costs another sync and list, and so does every half minute of waiting in Take. Each Offer wakes all that
// wait in Take at that time: with many idle consumers, poll instead.
//
// A Take that gives up leaves its watch on dir in the client. The next Take through the same Queue uses it, so there
// is one at most for each Take that ran at the same time.
//
// # Wrong versions that tempt
//
//   - Names without guid: a name read before dir was created anew deletes a new item, and the old data is delivered
//     twice.
//   - Taking a delete that answers "no such znode" after a lost reply for another client's work: the item, which
//     nobody else has, is lost.
//   - Saying "empty" without sync: a server that lags shows an empty queue long after an Offer returned.
//   - Ephemeral items: they vanish with the producer.
//
// A Queue may be used from several goroutines.
type Queue struct{ store }

// NewQueue returns a queue in the directory dir.
func NewQueue(conn Conn, dir string, opts ...QueueOption) *Queue {
	q := &Queue{}
	q.open(conn, dir, opts)
	return q
}

// Offer appends an item. It takes effect when ZooKeeper creates the znode: its number, and its czxid, are greater
// than those of all items before it.
func (q *Queue) Offer(ctx context.Context, data []byte) error {
	return q.offer(ctx, itemPrefix, data)
}

// Poll removes the head and returns it, or ErrEmpty. It takes effect when ZooKeeper deletes the znode. That is the
// head at that moment even if the list was old: an item before it was created before it, so it is in any list that
// contains it or was deleted; and of those in the list each was found deleted first. ErrEmpty comes only from a list
// that was read after a sync during this call, so it is true of a moment in this call.
func (q *Queue) Poll(ctx context.Context) ([]byte, error) {
	data, err := carryOut(ctx, func(op *operation) ([]byte, error) {
		data, err := q.takeFirst(ctx, op, "poll", q.items)
		if err != errGone && err != ErrEmpty {
			return data, err
		}
		return untilSure(func() ([]byte, error) { return q.takeFirst(ctx, op, "poll", q.itemsNow) })
	})
	return data, q.explain("poll", err)
}

// Take removes the head and returns it, and waits for one as long as there is none. It takes effect like
// [Queue.Poll]. It needs no sync: if the list is old, the watch on it fires when the server learns of the item.
func (q *Queue) Take(ctx context.Context) ([]byte, error) {
	return q.takeWaiting(ctx, anyItem, func(op *operation) ([]byte, error) {
		return q.takeFirst(ctx, op, "take", q.items)
	})
}

// Peek returns the head and leaves it there, or ErrEmpty. It takes effect at the state of the server that answered
// the read: not older than the sync, so one that held during this call; the item was there, and all items before it
// were gone, by the reasoning of [Queue.Poll].
func (q *Queue) Peek(ctx context.Context) ([]byte, error) {
	data, err := carryOut(ctx, func(*operation) ([]byte, error) {
		return untilSure(func() ([]byte, error) { return q.first(ctx) })
	})
	return data, q.explain("peek", err)
}

// errGone: every item of a list had been taken by others, or the view was not of one session.
var errGone = errors.New("gone")

// takeFirst removes the first item of a list that is still there. ErrEmpty means that the list was empty, errGone
// that all of it was gone.
func (q *Queue) takeFirst(ctx context.Context, op *operation, name string,
	list func(context.Context) ([]member, error)) ([]byte, error) {
	items, err := list(ctx)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, ErrEmpty
	}
	for _, item := range items {
		data, taken, err := q.take(ctx, op, name, join(q.dir, item.name))
		if taken || err != nil {
			return data, err
		}
	}
	return nil, errGone
}

// first reads the head, all within one session, see [retryConn.after].
func (q *Queue) first(ctx context.Context) ([]byte, error) {
	session := q.conn.SessionID()
	items, err := q.itemsNow(ctx)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, ErrEmpty
	}
	for _, item := range items {
		data, _, err := q.get(ctx, join(q.dir, item.name))
		switch {
		case errors.Is(err, zk.ErrNoNode):
			continue
		case err == nil && q.conn.SessionID() != session:
			return nil, errGone
		}
		return data, err
	}
	return nil, errGone
}

// items lists the queue as some server knows it, perhaps an old state.
func (q *Queue) items(ctx context.Context) ([]member, error) {
	items, err := q.members(ctx, q.dir, q.children, itemPrefix)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return items, err
}

// itemsNow lists the queue as it was at a moment during this call.
func (q *Queue) itemsNow(ctx context.Context) ([]member, error) {
	return q.members(ctx, q.dir, q.syncedChildren, itemPrefix)
}

// anyItem reports whether a list has items.
func anyItem(names []string) bool { return len(parseMembers(names, itemPrefix)) > 0 }
