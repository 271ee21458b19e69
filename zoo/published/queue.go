package published

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// ErrNoSuchElement is java.util.NoSuchElementException: the queue has no item.
var ErrNoSuchElement = errors.New("no such element")

const prefix = "qn-"

const lookAgain = 30 * time.Second

// DistributedQueue is a protocol to implement a distributed queue. After
// org.apache.zookeeper.recipes.queue.DistributedQueue, Apache ZooKeeper 3.4.6, as republished with a constructor that
// creates the root. (The original's smallestChildName, peek and poll are left out: nothing calls them.)
type DistributedQueue struct {
	dir       string
	zookeeper recipes.Conn
	acl       []zk.ACL
	bugs      Bugs
}

// NewDistributedQueue returns a queue and creates its root. acl nil lets everybody do everything.
func NewDistributedQueue(zookeeper recipes.Conn, dir string, acl []zk.ACL, bugs Bugs) *DistributedQueue {
	q := &DistributedQueue{dir: dir, zookeeper: zookeeper, acl: zk.WorldACL(zk.PermAll), bugs: bugs}
	if acl != nil {
		q.acl = acl
	}
	// Add root dir first if not exists. Errors are only logged.
	if exists, _, err := zookeeper.Exists(dir); err == nil && !exists {
		if !bugs.Has("DQ9") { // BUG: DQ9 the parameter, not the field: nil is an invalid ACL
			acl = q.acl
		}
		zookeeper.Create(dir, []byte{}, zk.FlagPersistent, acl)
	}
	return q
}

// orderedChildren returns the children, ordered by id, and a watch on them if asked for. (The original's TreeMap
// would keep one of several items of one id; there is only one, as long as names are nothing but ids.)
func (q *DistributedQueue) orderedChildren(watched bool) ([]standing, <-chan zk.Event, error) {
	for {
		var session int64
		if !q.bugs.Has("DQ7") { // BUG: DQ7 no sync before: the server may be behind
			session = q.zookeeper.SessionID()
			if _, err := q.zookeeper.Sync(q.dir); err != nil {
				return nil, nil, err
			}
		}
		names, watch, err := q.children(watched)
		if errors.Is(err, zk.ErrNoNode) && !q.bugs.Has("DQ7") && session != q.zookeeper.SessionID() {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		ordered, vanished, err := q.order(names)
		if err != nil {
			return nil, nil, err
		}
		current := q.bugs.Has("DQ7") || session != 0 && session == q.zookeeper.SessionID()
		if current && !(vanished && len(ordered) == 0) {
			return ordered, watch, nil
		}
	}
}

// order sorts names by their ids. vanished tells that some were gone when they were asked for more.
func (q *DistributedQueue) order(names []string) (ordered []standing, vanished bool, err error) {
	for _, name := range names {
		suffix, ok := strings.CutPrefix(name, prefix)
		if !q.bugs.Has("DQ5") {
			_, suffix, ok = strings.Cut(suffix, "-")
		}
		if id, err := strconv.ParseInt(suffix, 10, 64); ok && err == nil {
			ordered = append(ordered, standing{number: id, name: name})
		}
	}
	// BUG: DQ6 after the wrap the newest has the smallest id
	if !q.bugs.Has("DQ6") && slices.ContainsFunc(ordered, standing.wrapped) {
		all := len(ordered)
		ordered, err = q.dated(ordered)
		vanished = len(ordered) < all
	}
	slices.SortFunc(ordered, standing.compare)
	return ordered, vanished, err
}

// dated gives items the transactions that created them for ids, and leaves out what is gone.
func (q *DistributedQueue) dated(items []standing) (alive []standing, err error) {
	for _, i := range items {
		exists, stat, err := q.zookeeper.Exists(q.dir + "/" + i.name)
		if err != nil {
			return nil, err
		}
		if exists {
			alive = append(alive, standing{number: stat.Czxid, name: i.name})
		}
	}
	return alive, nil
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
	// Element, Take and Remove follow the same pattern. We want to return the child node with the smallest sequence
	// number. Since other clients are removing nodes concurrently, it might be gone by the time we check. We don't
	// ask for the children again until we have tried the rest of the nodes in sequence order.
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
		if data, err := q.removeFirst("poll", ordered, once); !errors.Is(err, zk.ErrNoNode) {
			return data, err
		}
	}
}

// performer performs a request.
type performer func(request func() error) error

// once does not repeat it.
func once(request func() error) error { return request() }

// removeFirst is the inner loop of Remove and Take. It returns zk.ErrNoNode if all are gone.
func (q *DistributedQueue) removeFirst(op string, ordered []standing, perform performer) ([]byte, error) {
	for _, head := range ordered {
		path := q.dir + "/" + head.name
		var data []byte
		err := perform(func() (err error) { data, _, err = q.zookeeper.Get(path); return err })
		if err == nil {
			err = q.delete(op, path, data)
		}
		if err == nil {
			return data, nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return nil, err
		}
		// Another client deleted the node first.
	}
	return nil, zk.ErrNoNode
}

// delete deletes an item. With DQ5 in force its name may mean a new item by now.
func (q *DistributedQueue) delete(op, path string, data []byte) error {
	err := q.zookeeper.Delete(path, -1)
	if connectionLoss(err) && !q.bugs.Has("DQ2") { // BUG: DQ2 it may have been carried out, and the data is thrown away
		return &recipes.UnknownOutcomeError{Op: op, Path: path, Data: data, Err: err}
	}
	return err
}

// Take removes the head of the queue and returns it, blocks until it succeeds. The end of ctx interrupts it where it
// waits for an item, and nowhere else.
func (q *DistributedQueue) Take(ctx context.Context) ([]byte, error) {
	// Same as for Element. Should refactor this.
	perform := performer(func(request func() error) error { return retry(ctx, request) })
	// BUG: DQ8 a disconnect opens the latch, and the list is asked for without a connection: a call that waits throws
	if q.bugs.Has("DQ8") {
		perform = once
	}
	for {
		ordered, watch, err := q.awaitable(perform)
		if err != nil {
			return nil, err
		}
		if len(ordered) == 0 {
			if err := await(ctx, watch); err != nil {
				return nil, err
			}
			continue
		}
		if data, err := q.removeFirst("take", ordered, perform); !errors.Is(err, zk.ErrNoNode) {
			return data, err
		}
	}
}

// awaitable returns the children, ordered by id, and a watch on them, and creates a missing root.
func (q *DistributedQueue) awaitable(perform performer) (ordered []standing, watch <-chan zk.Event, err error) {
	for {
		err := perform(func() (err error) { ordered, watch, err = q.orderedChildren(true); return err })
		if !errors.Is(err, zk.ErrNoNode) {
			return ordered, watch, err
		}
		if err := perform(q.createRoot); err != nil {
			return nil, nil, err
		}
	}
}

// await is the latch of the original's LatchChildWatcher. The original does not look again by itself; it has to where
// the creation of an item wraps the sequence number, as a watch that is set again after a reconnect does not tell of
// that.
func await(ctx context.Context, watch <-chan zk.Event) error {
	if err := ctx.Err(); err != nil {
		return err // also if there is an event: see awaitAny
	}
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	select {
	case <-watch:
		return nil
	case <-again.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// createRoot creates the root that Offer and Take found missing.
func (q *DistributedQueue) createRoot() error {
	_, err := q.zookeeper.Create(q.dir, []byte{}, zk.FlagPersistent, q.acl)
	// BUG: DQ1 somebody else has done the work, and it counts as a failure
	if errors.Is(err, zk.ErrNodeExists) && !q.bugs.Has("DQ1") {
		return nil
	}
	return err
}

// Offer inserts data into the queue. It returns true if data was successfully added.
func (q *DistributedQueue) Offer(data []byte) (bool, error) {
	name := q.dir + "/" + prefix
	if !q.bugs.Has("DQ5") { // BUG: DQ5 a name without identity means another item when the root was made anew
		name += recipes.NewGUID(q.zookeeper) + "-"
	}
	for {
		_, err := q.zookeeper.Create(name, data, zk.FlagSequence, q.acl)
		if err == nil {
			return true, nil
		}
		// BUG: DQ3 the item may have been added: to offer it again may add it twice, not to may lose it
		if connectionLoss(err) && !q.bugs.Has("DQ3") {
			return q.added(name, data, err)
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return false, err
		}
		if err := q.createRoot(); err != nil {
			return false, err
		}
	}
}

// added tells after a lost reply whether the item was added. If it is not there, another client may have taken it
// already.
func (q *DistributedQueue) added(name string, data []byte, lost error) (bool, error) {
	ordered, _, err := q.orderedChildren(false)
	found := slices.ContainsFunc(ordered, func(s standing) bool { return strings.HasPrefix(q.dir+"/"+s.name, name) })
	if err == nil && found && !q.bugs.Has("DQ5") {
		return true, nil
	}
	return false, &recipes.UnknownOutcomeError{Op: "offer", Path: name, Data: data, Err: lost}
}
