package published

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// ErrNoSuchElement is java.util.NoSuchElementException: the queue has no item.
var ErrNoSuchElement = errors.New("no such element")

const prefix = "qn-"

// DistributedQueue is a protocol to implement a distributed queue. After
// org.apache.zookeeper.recipes.queue.DistributedQueue, Apache ZooKeeper 3.4.6, as republished with
// a constructor that creates the root. (The original's smallestChildName is left out: nobody calls
// it.)
type DistributedQueue struct {
	dir       string
	zookeeper recipes.Conn
	acl       []zk.ACL
}

// NewDistributedQueue returns a queue and creates its root. acl nil lets everybody do everything.
func NewDistributedQueue(zookeeper recipes.Conn, dir string, acl []zk.ACL) *DistributedQueue {
	q := &DistributedQueue{dir: dir, zookeeper: zookeeper, acl: zk.WorldACL(zk.PermAll)}
	if acl != nil {
		q.acl = acl
	}
	// Add root dir first if not exists. Errors are only logged.
	if exists, _, err := zookeeper.Exists(dir); err == nil && !exists {
		zookeeper.Create(dir, []byte{}, zk.FlagPersistent, acl) // BUG: DQ9 the parameter, not the field: nil is an invalid ACL
	}
	return q
}

// item is an entry of the original's TreeMap from id to name.
type item struct {
	id   int64
	name string
}

// orderedChildren returns the children, ordered by id, and a watch on them if asked for.
func (q *DistributedQueue) orderedChildren(watched bool) ([]item, <-chan zk.Event, error) {
	names, watch, err := q.children(watched) // BUG: DQ7 no sync before: the server may be behind
	if err != nil {
		return nil, nil, err
	}
	byID := make(map[int64]string)
	for _, name := range names {
		suffix, ok := strings.CutPrefix(name, prefix)
		if id, err := strconv.ParseInt(suffix, 10, 64); ok && err == nil {
			byID[id] = name
		}
	}
	var ordered []item
	for _, id := range slices.Sorted(maps.Keys(byID)) { // BUG: DQ6 after the wrap the newest has the smallest id
		ordered = append(ordered, item{id, byID[id]})
	}
	return ordered, watch, nil
}

func (q *DistributedQueue) children(watched bool) ([]string, <-chan zk.Event, error) {
	if watched {
		names, _, watch, err := q.zookeeper.ChildrenW(q.dir)
		return names, watch, err
	}
	names, _, err := q.zookeeper.Children(q.dir)
	return names, nil, err
}

// Element returns the head of the queue without modifying the queue, or ErrNoSuchElement.
func (q *DistributedQueue) Element() ([]byte, error) {
	// Element, Take and Remove follow the same pattern. We want to return the child node with the
	// smallest sequence number. Since other clients are removing nodes concurrently, it might be
	// gone by the time we check. We don't ask for the children again until we have tried the rest
	// of the nodes in sequence order.
	for {
		ordered, _, err := q.orderedChildren(false)
		if errors.Is(err, zk.ErrNoNode) || err == nil && len(ordered) == 0 {
			return nil, ErrNoSuchElement
		}
		if err != nil {
			return nil, err
		}
		for _, head := range ordered {
			data, _, err := q.zookeeper.Get(q.dir + "/" + head.name)
			if !errors.Is(err, zk.ErrNoNode) {
				return data, err
			}
			// Another client removed the node first, try next.
		}
	}
}

// Remove attempts to remove the head of the queue and return it, or ErrNoSuchElement.
func (q *DistributedQueue) Remove() ([]byte, error) {
	// Same as for Element. Should refactor this.
	for {
		ordered, _, err := q.orderedChildren(false)
		if errors.Is(err, zk.ErrNoNode) || err == nil && len(ordered) == 0 {
			return nil, ErrNoSuchElement
		}
		if err != nil {
			return nil, err
		}
		if data, err := q.removeFirst(ordered); !errors.Is(err, zk.ErrNoNode) {
			return data, err
		}
	}
}

// removeFirst is the inner loop of Remove and Take. It returns zk.ErrNoNode if all are gone.
func (q *DistributedQueue) removeFirst(ordered []item) ([]byte, error) {
	for _, head := range ordered {
		path := q.dir + "/" + head.name
		data, _, err := q.zookeeper.Get(path)
		if err == nil {
			err = q.zookeeper.Delete(path, -1) // BUG: DQ5 the name may mean a new item by now
		}
		if err == nil {
			return data, nil // BUG: DQ4 whoever dies from here on takes the item along
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return nil, err // BUG: DQ2 the delete may have been carried out, and the data is thrown away
		}
		// Another client deleted the node first.
	}
	return nil, zk.ErrNoNode
}

// Take removes the head of the queue and returns it, blocks until it succeeds. The end of ctx
// interrupts it where it waits for an item, and nowhere else.
func (q *DistributedQueue) Take(ctx context.Context) ([]byte, error) {
	// Same as for Element. Should refactor this.
	for {
		ordered, watch, err := q.orderedChildren(true)
		if errors.Is(err, zk.ErrNoNode) {
			if err := q.createRoot(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err // BUG: DQ8 in Java each loss of the connection leads here, out of a call that waits
		}
		if len(ordered) == 0 {
			if err := await(ctx, watch); err != nil {
				return nil, err
			}
			continue
		}
		if data, err := q.removeFirst(ordered); !errors.Is(err, zk.ErrNoNode) {
			return data, err
		}
	}
}

// await is the latch of the original's LatchChildWatcher.
func await(ctx context.Context, watch <-chan zk.Event) error {
	select {
	case <-watch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// createRoot creates the root that Offer and Take found missing.
func (q *DistributedQueue) createRoot() error {
	_, err := q.zookeeper.Create(q.dir, []byte{}, zk.FlagPersistent, q.acl)
	return err // BUG: DQ1 ErrNodeExists too, although somebody else has done the work
}

// Offer inserts data into the queue. It returns true if data was successfully added.
func (q *DistributedQueue) Offer(data []byte) (bool, error) {
	for {
		_, err := q.zookeeper.Create(q.dir+"/"+prefix, data, zk.FlagSequence, q.acl)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return false, err // BUG: DQ3 the item may have been added: nothing in its name tells
		}
		if err := q.createRoot(); err != nil {
			return false, err
		}
	}
}

// Peek returns the data at the first element of the queue, or nil if the queue is empty.
func (q *DistributedQueue) Peek() ([]byte, error) {
	data, err := q.Element()
	if err == ErrNoSuchElement {
		return nil, nil
	}
	return data, err
}

// Poll attempts to remove the head of the queue and return it. It returns nil if the queue is
// empty.
func (q *DistributedQueue) Poll() ([]byte, error) {
	data, err := q.Remove()
	if err == ErrNoSuchElement {
		return nil, nil
	}
	return data, err
}
