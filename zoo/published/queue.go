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

// errNoSuchElement is java.util.NoSuchElementException: the queue has no item.
var errNoSuchElement = errors.New("no such element")

const prefix = "qn-"

const lookAgain = 30 * time.Second

// distributedQueue is a protocol to implement a distributed queue. After
// org.apache.zookeeper.recipes.queue.DistributedQueue, Apache ZooKeeper 3.4.6, as republished with
// a constructor that creates the root. (The original's smallestChildName, peek and poll are left
// out: nothing calls them.)
type distributedQueue struct {
	dir       string
	zookeeper recipes.Conn
	acl       []zk.ACL

	// The steps in which it had bugs.
	firstACL  []zk.ACL                 // of a root that the constructor creates
	newName   func() string            // of an item, without its number
	idIn      func(name string) string // behind the prefix
	listed    func(watched bool) (names []string, watch <-chan zk.Event, current bool, err error)
	sort      func(items []standing) (ordered []standing, vanished bool, err error)
	perform   func(ctx context.Context, request func() error) error // in Take
	rootThere func(err error) error                                 // by the error of its creation
	deleted   func(op, path string, data []byte, err error) error   // by the error of the delete
	offered   func(name string, data []byte, err error) (bool, error)
}

// newDistributedQueue returns a queue and creates its root. acl nil lets everybody do everything.
func newDistributedQueue(zookeeper recipes.Conn, dir string, acl []zk.ACL, bugs Bugs) *distributedQueue {
	q := &distributedQueue{dir: dir, zookeeper: zookeeper, acl: zk.WorldACL(zk.PermAll), perform: retry}
	if acl != nil {
		q.acl = acl
	}
	q.firstACL = q.acl
	q.newName = func() string { return prefix + recipes.NewGUID(zookeeper) + "-" }
	q.idIn = func(name string) string { _, id, _ := strings.Cut(name, "-"); return id }
	q.listed, q.sort = q.current, q.byTransaction
	q.rootThere = func(err error) error {
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return err
	}
	q.deleted, q.offered = unknown, q.added
	mistaken(q, bugs.Has, distributedQueueMistakes)
	if bugs.Has("DQ9") {
		q.firstACL = acl // BUG: DQ9 the parameter, not the field: nil is an invalid ACL
	}
	// Add root dir first if not exists. Errors are only logged.
	if exists, _, err := zookeeper.Exists(dir); err == nil && !exists {
		zookeeper.Create(dir, []byte{}, zk.FlagPersistent, q.firstACL)
	}
	return q
}

var distributedQueueMistakes = []mistake[distributedQueue]{
	// BUG: DQ1 somebody else has done the work, and it counts as a failure
	{"DQ1", func(q *distributedQueue) { q.rootThere = func(err error) error { return err } }},
	// BUG: DQ2 it may have been carried out, and the data is thrown away
	{"DQ2", func(q *distributedQueue) { q.deleted = func(_, _ string, _ []byte, err error) error { return err } }},
	// BUG: DQ3 the item may have been added: to offer it again may add it twice, not to may lose it
	{"DQ3", func(q *distributedQueue) {
		q.offered = func(_ string, _ []byte, err error) (bool, error) { return false, err }
	}},
	{"DQ5", func(q *distributedQueue) {
		// BUG: DQ5 a name without identity means another item when the root was made anew
		q.newName = func() string { return prefix }
		q.idIn = func(name string) string { return name }
	}},
	{"DQ6", func(q *distributedQueue) {
		// BUG: DQ6 after the wrap the newest has the smallest id
		q.sort = func(items []standing) ([]standing, bool, error) { return items, false, nil }
	}},
	{"DQ7", func(q *distributedQueue) {
		// BUG: DQ7 no sync before: the server may be behind
		q.listed = func(watched bool) (names []string, watch <-chan zk.Event, current bool, err error) {
			names, watch, err = q.children(watched)
			return names, watch, true, err
		}
	}},
	// BUG: DQ8 a disconnect opens the latch, and the list is asked for without a connection: a call that waits throws
	{"DQ8", func(q *distributedQueue) { q.perform = once }},
}

// orderedChildren returns the children, ordered by id, and a watch on them if asked for. (The
// original's TreeMap would keep one of several items of one id; there is only one, as long as names
// are nothing but ids.)
func (q *distributedQueue) orderedChildren(watched bool) ([]standing, <-chan zk.Event, error) {
	for {
		names, watch, current, err := q.listed(watched)
		if errors.Is(err, zk.ErrNoNode) && !current {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		ordered, vanished, err := q.order(names)
		if err != nil {
			return nil, nil, err
		}
		if current && !(vanished && len(ordered) == 0) {
			return ordered, watch, nil
		}
	}
}

// current lists the children after a sync. The list is current if the session has not been replaced
// meanwhile.
func (q *distributedQueue) current(watched bool) (names []string, watch <-chan zk.Event, current bool, err error) {
	session := q.zookeeper.SessionID()
	if _, err := q.zookeeper.Sync(q.dir); err != nil {
		return nil, nil, true, err
	}
	names, watch, err = q.children(watched)
	return names, watch, session != 0 && session == q.zookeeper.SessionID(), err
}

// order sorts names by their ids. vanished tells that some were gone when they were asked for more.
func (q *distributedQueue) order(names []string) (ordered []standing, vanished bool, err error) {
	for _, name := range names {
		suffix, ok := strings.CutPrefix(name, prefix)
		if id, err := strconv.ParseInt(q.idIn(suffix), 10, 64); ok && err == nil {
			ordered = append(ordered, standing{number: id, name: name})
		}
	}
	ordered, vanished, err = q.sort(ordered)
	slices.SortFunc(ordered, standing.compare)
	return ordered, vanished, err
}

// byTransaction gives items, after the wrap, the transactions that created them for ids, and leaves
// out what is gone.
func (q *distributedQueue) byTransaction(items []standing) (alive []standing, vanished bool, err error) {
	if !slices.ContainsFunc(items, standing.wrapped) {
		return items, false, nil
	}
	for _, i := range items {
		exists, stat, err := q.zookeeper.Exists(q.dir + "/" + i.name)
		if err != nil {
			return nil, true, err
		}
		if exists {
			alive = append(alive, standing{number: stat.Czxid, name: i.name})
		}
	}
	return alive, len(alive) < len(items), nil
}

func (q *distributedQueue) children(watched bool) ([]string, <-chan zk.Event, error) {
	if watched {
		names, _, watch, err := q.zookeeper.ChildrenW(q.dir)
		return names, watch, err
	}
	names, _, err := q.zookeeper.Children(q.dir)
	return names, nil, err
}

// Element returns the head of the queue without modifying the queue, or errNoSuchElement.
func (q *distributedQueue) Element() ([]byte, error) {
	return q.tryHeads(func(ordered []standing) ([]byte, error) {
		for _, head := range ordered {
			data, _, err := q.zookeeper.Get(q.dir + "/" + head.name)
			if !errors.Is(err, zk.ErrNoNode) {
				return data, err
			}
			// Another client removed the node first, try next.
		}
		return nil, zk.ErrNoNode
	})
}

// Remove attempts to remove the head of the queue and return it, or errNoSuchElement.
func (q *distributedQueue) Remove() ([]byte, error) {
	return q.tryHeads(func(ordered []standing) ([]byte, error) {
		return q.removeFirst(context.Background(), "poll", ordered, once)
	})
}

// tryHeads tries something with the nodes in sequence order. Since other clients are removing nodes
// concurrently, all might be gone by then: then it asks for the children again.
func (q *distributedQueue) tryHeads(do func(ordered []standing) ([]byte, error)) ([]byte, error) {
	for {
		ordered, _, err := q.orderedChildren(false)
		if errors.Is(err, zk.ErrNoNode) || err == nil && len(ordered) == 0 {
			return nil, errNoSuchElement
		}
		if err != nil {
			return nil, err
		}
		if data, err := do(ordered); !errors.Is(err, zk.ErrNoNode) {
			return data, err
		}
	}
}

// removeFirst is the inner loop of Remove and Take. It returns zk.ErrNoNode if all are gone.
func (q *distributedQueue) removeFirst(ctx context.Context, op string, ordered []standing,
	perform func(ctx context.Context, request func() error) error) ([]byte, error) {
	for _, head := range ordered {
		path := q.dir + "/" + head.name
		var data []byte
		err := perform(ctx, func() (err error) { data, _, err = q.zookeeper.Get(path); return err })
		if err == nil {
			err = q.deleted(op, path, data, q.zookeeper.Delete(path, -1))
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

// unknown says of a delete whose reply was lost that its outcome is unknown, and what it was about.
func unknown(op, path string, data []byte, err error) error {
	if connectionLoss(err) {
		return &recipes.UnknownOutcomeError{Op: op, Path: path, Data: data, Err: err}
	}
	return err
}

// Take removes the head of the queue and returns it, blocks until it succeeds. The end of ctx
// interrupts it where it waits for an item, and nowhere else.
func (q *distributedQueue) Take(ctx context.Context) ([]byte, error) {
	for {
		ordered, watch, err := q.awaitable(ctx)
		if err != nil {
			return nil, err
		}
		if len(ordered) == 0 {
			if err := await(ctx, watch); err != nil {
				return nil, err
			}
			continue
		}
		if data, err := q.removeFirst(ctx, "take", ordered, q.perform); !errors.Is(err, zk.ErrNoNode) {
			return data, err
		}
	}
}

// awaitable returns the children, ordered by id, and a watch on them, and creates a missing root.
func (q *distributedQueue) awaitable(ctx context.Context) (ordered []standing, watch <-chan zk.Event, err error) {
	for {
		err := q.perform(ctx, func() (err error) { ordered, watch, err = q.orderedChildren(true); return err })
		if !errors.Is(err, zk.ErrNoNode) {
			return ordered, watch, err
		}
		if err := q.perform(ctx, q.createRoot); err != nil {
			return nil, nil, err
		}
	}
}

// await is the latch of the original's LatchChildWatcher. The original does not look again by
// itself; it has to where the creation of an item wraps the sequence number, as a watch that is set
// again after a reconnect does not tell of that.
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
func (q *distributedQueue) createRoot() error {
	_, err := q.zookeeper.Create(q.dir, []byte{}, zk.FlagPersistent, q.acl)
	return q.rootThere(err)
}

// Offer inserts data into the queue. It returns true if data was successfully added.
func (q *distributedQueue) Offer(data []byte) (bool, error) {
	name := q.dir + "/" + q.newName()
	for {
		_, err := q.zookeeper.Create(name, data, zk.FlagSequence, q.acl)
		if err == nil {
			return true, nil
		}
		if connectionLoss(err) {
			return q.offered(name, data, err)
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return false, err
		}
		if err := q.createRoot(); err != nil {
			return false, err
		}
	}
}

// added tells after a lost reply whether the item was added. If it is not there, or its name has no
// identity (DQ5), another client may have taken it already.
func (q *distributedQueue) added(name string, data []byte, lost error) (bool, error) {
	ordered, _, err := q.orderedChildren(false)
	found := slices.ContainsFunc(ordered, func(s standing) bool { return strings.HasPrefix(q.dir+"/"+s.name, name) })
	if err == nil && found && !strings.HasSuffix(name, "/"+prefix) {
		return true, nil
	}
	return false, &recipes.UnknownOutcomeError{Op: "offer", Path: name, Data: data, Err: lost}
}
