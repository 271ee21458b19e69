package recipes

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-zookeeper/zk"
)

// PriorityQueue is a queue of byte strings from which the item of the lowest number comes out first, and of equal
// numbers the oldest. After ZooKeeper's recipe "Priority Queues" (ZooKeeper Recipes and Solutions), with the changes
// below.
//
// # Znodes
//
// An item is a persistent sequential znode dir/pq-<priority>-<guid>-<sequence> with the item's data. The priority
// stands there as eight hexadecimal digits of priority + 2^31, so that names sort by it, negative ones too. The
// client that deletes the znode has taken the item. As with [Queue] a missing dir is an empty queue, and other
// children are ignored.
//
// # Promises
//
// The queue is linearizable: each operation that returns a result or nil took effect at one moment between its call
// and its return, and what came out was the best item of that moment. An operation that returns [ErrEmpty] found
// nothing at such a moment; one that returns another error that is not an [*UnknownOutcomeError] has changed nothing.
//
// An item that is offered after a Poll has looked at the list may be better than what that Poll goes on to delete.
// The Poll then counts as the earlier of the two, which no client can contradict: its item was the best of all while
// the list was true, and a client that sees it at the head after that must have seen the better one gone.
//
// Delivery is at most once: a client that dies after the deletion takes the item along. [LockingQueue] does better.
//
// # Unknown outcomes
//
// As for [Queue]: what a lost reply leaves open is an [*UnknownOutcomeError] with the item's data, and [WithReceipts]
// leaves next to nothing open, at the price that is named there.
//
// # Cost
//
// Offer is one request. Poll is four (sync, which is a transaction unless [WithSync] is given, list, read, delete), and
// four more each time another client was faster, since what is best must be looked up anew. Peek is three, ErrEmpty
// two. Take waits with one request more, and again each half minute; every change of dir wakes all that wait. Once the
// sequence number has wrapped each list costs one request more for each item of the best priority.
//
// # Wrong versions that tempt
//
//   - Taking items from a list that was read before, until it is used up (kazoo's Queue does so): a better item that
//     came later waits behind all of them.
//   - Trying the next of the list when the best is gone, which is right for [Queue]: a better item may have come
//     before that one went.
//   - Reading the list without sync: an item that was offered before is not in it, and a worse one comes out. A plain
//     queue needs no sync there, because in it later items cannot be better.
//   - Putting the priority into the name as "%d", or with its sign: -1 sorts before -2, 10 before 9.
//
// A PriorityQueue may be used from several goroutines.
type PriorityQueue struct{ store }

// NewPriorityQueue returns a queue in the directory dir, which must not be that of another recipe.
func NewPriorityQueue(conn Conn, dir string, opts ...QueueOption) *PriorityQueue {
	q := &PriorityQueue{}
	q.open(conn, dir, opts)
	return q
}

// Offer puts an item in. Lower numbers come out first. It takes effect when ZooKeeper creates the znode.
func (q *PriorityQueue) Offer(ctx context.Context, priority int32, data []byte) error {
	return q.offer(ctx, priorityPrefix(priority), data)
}

// Poll removes the best item and returns it, or ErrEmpty. It takes effect while the list that it read was true, or,
// if others then saw its item at the head, after the last of these did.
func (q *PriorityQueue) Poll(ctx context.Context) ([]byte, error) {
	data, err := carryOut(ctx, func(op *operation) ([]byte, error) { return q.remove(ctx, op, "poll") })
	return data, q.explain("poll", err)
}

// Take is Poll, but waits for an item as long as there is none.
func (q *PriorityQueue) Take(ctx context.Context) ([]byte, error) {
	return q.takeWaiting(ctx, anyPrioritized, func(op *operation) ([]byte, error) { return q.remove(ctx, op, "take") })
}

// Peek returns the best item and leaves it there, or ErrEmpty. It takes effect while the list that it read was true.
func (q *PriorityQueue) Peek(ctx context.Context) ([]byte, error) {
	data, err := carryOut(ctx, func(*operation) ([]byte, error) {
		return q.onBest(ctx, func(path string) ([]byte, error) {
			data, _, err := q.get(ctx, path)
			if errors.Is(err, zk.ErrNoNode) {
				return nil, errGone
			}
			return data, err
		})
	})
	return data, q.explain("peek", err)
}

func (q *PriorityQueue) remove(ctx context.Context, op *operation, name string) ([]byte, error) {
	return q.onBest(ctx, func(path string) ([]byte, error) {
		data, taken, err := q.take(ctx, op, name, path)
		if err == nil && !taken {
			return nil, errGone
		}
		return data, err
	})
}

// onBest does something to the best item, and to the next best if that was gone. Each round is caused by another
// client's success, or by a new session.
func (q *PriorityQueue) onBest(ctx context.Context, do func(path string) ([]byte, error)) ([]byte, error) {
	return untilSure(func() ([]byte, error) {
		path, err := q.best(ctx)
		if err != nil {
			return nil, err
		}
		return do(path)
	})
}

// best returns the path of what was the best item at a moment during this call; ErrEmpty if there was none, errGone
// if it cannot be told.
//
// Members of the best priority that are gone when they are asked for their age may be left out: in their class none
// that came later is better than the one that is chosen.
func (q *PriorityQueue) best(ctx context.Context) (string, error) {
	session := q.conn.SessionID()
	names, err := q.syncedChildren(ctx, q.dir)
	if err != nil {
		return "", err
	}
	class := bestClass(names)
	if len(class) == 0 {
		return "", ErrEmpty
	}
	class, err = q.ordered(ctx, q.dir, session, class)
	if err == nil && len(class) == 0 {
		err = errGone
	}
	if err != nil {
		return "", err
	}
	return join(q.dir, class[0].name), nil
}

// priorityMark begins the names of a priority queue's items, and priorityPrefix is what all items of one priority
// begin with. Prefixes sort like priorities.
const priorityMark = "pq-"

func priorityPrefix(priority int32) string {
	return fmt.Sprintf("%s%08x-", priorityMark, uint32(priority)^1<<31)
}

// priorityOf returns the priority's prefix of an item's name; false for names of another form.
func priorityOf(name string) (prefix string, ok bool) {
	const digits = len(priorityMark)
	if len(name) <= digits+8 || name[:digits] != priorityMark {
		return "", false
	}
	if _, err := strconv.ParseUint(name[digits:digits+8], 16, 32); err != nil {
		return "", false
	}
	prefix = name[:digits+9]
	_, ok = parseMember(prefix, name)
	return prefix, ok && prefix[digits+8] == '-'
}

// bestClass returns the items of the best priority in a list.
func bestClass(names []string) []member {
	best := ""
	for _, name := range names {
		if prefix, ok := priorityOf(name); ok && (best == "" || prefix < best) {
			best = prefix
		}
	}
	if best == "" {
		return nil
	}
	return parseMembers(names, best)
}

func anyPrioritized(names []string) bool { return len(bestClass(names)) > 0 }
