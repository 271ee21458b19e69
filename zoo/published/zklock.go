package published

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// ZkLock is an exclusive lock on ephemeral sequential znodes that says of itself that it is reentrant. After the
// class ZkLock of an article on ZooKeeper locks for Java, which has been republished many times. (The original has a
// session of its own, which unlock closes; here users share one.)
//
// Lock and TryLock are the caller as well: in one place the article waits with while(true), in another it takes no
// notice of the answer. Fixed, the class has what the original lacks: a guid in each name (ZL11), a look at whose
// znode is first, a watch on it (ZL14) and a count (ZL13).
type ZkLock struct {
	zooKeeper recipes.Conn
	root      string // a persistent znode
	place     contender
	bugs      Bugs

	pre   string // the znode before the own one
	holds int

	refs sync.Mutex
	lost chan struct{} // of the hold
}

// NewZkLock returns a lock and creates its root.
func NewZkLock(zooKeeper recipes.Conn, root string, bugs Bugs) *ZkLock {
	z := &ZkLock{zooKeeper: zooKeeper, root: root, place: newContender(zooKeeper, root, "", "-", bugs), bugs: bugs}
	// BUG: ZL11 a create whose reply was lost is repeated, and what it made stays in front
	z.place.anonymous = bugs.Has("ZL11")
	if exists, _, err := zooKeeper.Exists(root); err == nil && !exists {
		// BUG: ZL16 errors are only printed, here and above
		zooKeeper.Create(root, []byte("0"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	}
	return z
}

// createNode makes the own znode.
func (z *ZkLock) createNode(ctx context.Context) error {
	if z.bugs.Has("ZL16") { // BUG: ZL16 nobody makes the root if it is missing now
		exists := false
		err := retry(ctx, func() (err error) { exists, _, err = z.zooKeeper.Exists(z.root); return err })
		if err == nil && !exists {
			err = zk.ErrNoNode
		}
		if err != nil {
			return err
		}
	}
	if !z.bugs.Has("ZL9") { // BUG: ZL9 any error makes the answer false
		return z.place.enlist(ctx)
	}
	z.place.identify()
	path, acl := z.root+"/"+z.place.stem(), zk.WorldACL(zk.PermAll)
	path, err := z.zooKeeper.Create(path, []byte("0"), zk.FlagEphemeralSequential, acl)
	if err == nil {
		z.place.path = path
	}
	return err
}

// children lists the znodes, the oldest first, and says where the own one is.
func (z *ZkLock) children(ctx context.Context) (list []string, own int, err error) {
	if z.bugs.Has("ZL15") {
		return z.place.lineByText(ctx) // BUG: ZL15 as texts: "-2147483648" comes before "2147483647"
	}
	return z.place.line(ctx)
}

// errIndexOutOfBounds is java.lang.IndexOutOfBoundsException.
var errIndexOutOfBounds = errors.New("index out of bounds")

// tryLock creates an ephemeral sequential znode, once, and holds the lock if it is the smallest. Its error is what
// the original prints when it returns false.
func (z *ZkLock) tryLock(ctx context.Context) (bool, error) {
	for {
		if z.place.path == "" {
			if err := z.createNode(ctx); err != nil {
				return false, err
			}
		}
		list, own, err := z.children(ctx)
		if err != nil {
			return false, err
		}
		switch {
		case own > 0: // find the one before
			z.pre = z.root + "/" + list[own-1]
			return false, nil
		case own < 0 && z.bugs.Has("ZL12"): // BUG: ZL12 the own znode is missing, and nobody makes another
			return false, errIndexOutOfBounds
		case own == 0:
			if owner, err := z.first(ctx); owner || err != nil {
				return owner, err
			}
		}
		z.place.path = ""
	}
}

// first begins a hold, unless the znode is that of a session which has been replaced.
func (z *ZkLock) first(ctx context.Context) (owner bool, err error) {
	watch, owner, err := z.place.confirm(ctx)
	if !owner || err != nil {
		return false, err
	}
	lost := make(chan struct{})
	z.refs.Lock()
	z.lost = lost
	z.refs.Unlock()
	if !z.bugs.Has("ZL14") { // BUG: ZL14 nobody tells the owner that its session has expired
		go func() {
			<-watch
			close(lost)
		}()
	}
	return true, nil
}

// lock waits until the znode before the own one is gone, and then tries again.
func (z *ZkLock) lock(ctx context.Context) (bool, error) {
	for {
		if owner, err := z.tryLock(ctx); owner || err != nil {
			return owner, err
		}
		// The original asks with exists, which leaves a watch also where there is nothing.
		var watch <-chan zk.Event
		err := retry(ctx, func() (err error) { _, _, watch, err = z.zooKeeper.GetW(z.pre); return err })
		if errors.Is(err, zk.ErrNoNode) {
			continue // it is gone: try again
		}
		if err != nil {
			return false, err
		}
		notified := make(chan struct{})
		go z.process(watch, notified)
		threadSwitch()
		if ctx.Err() == nil { // else it counts first: see awaitAny
			select {
			case <-notified: // pre.wait()
				continue
			case <-ctx.Done():
			}
		}
		return false, ctx.Err()
	}
}

// process is called with the event of the watch.
func (z *ZkLock) process(watch <-chan zk.Event, notified chan struct{}) {
	event := <-watch
	if event.Type == zk.EventNotWatching && z.bugs.Has("ZL14") { // BUG: ZL14 nor the one who waits
		return
	}
	if !z.bugs.Has("ZL7") { // BUG: ZL7 who does not wait yet is not notified, and then waits for ever
		close(notified)
		return
	}
	select {
	case notified <- struct{}{}: // pre.notify()
	default:
	}
}

// threadSwitch stands between two statements between which Java may let another thread run, where that matters. Here
// goroutines take turns only where one waits.
func threadSwitch() { time.Sleep(threadSlice) }

// threadSlice is the time in which a few other goroutines may come and go.
const threadSlice = 4 * time.Microsecond

// Lock calls lock until it answers true, or ctx ends.
func (z *ZkLock) Lock(ctx context.Context) error {
	if z.reenter() {
		return nil
	}
	for {
		ans, _ := z.lock(ctx)
		switch {
		case ans:
			z.holds = 1
			return nil
		case ctx.Err() == nil && (z.bugs.Has("ZL9") || z.bugs.Has("ZL16")): // BUG: ZL9, ZL16 nobody looks at the answer
			return nil
		}
		if err := pause(ctx); err != nil {
			return errors.Join(err, z.place.withdraw())
		}
	}
}

// TryLock calls tryLock once.
func (z *ZkLock) TryLock(ctx context.Context) (bool, error) {
	if z.reenter() {
		return true, nil
	}
	ans, err := z.tryLock(ctx)
	switch {
	case ans:
		z.holds = 1
	case !z.bugs.Has("ZL8"): // BUG: ZL8 the znode stays in the queue, and nobody uses it when its turn comes
		err = errors.Join(err, z.place.withdraw())
	}
	return ans, err
}

// reenter counts one hold more if there is one.
func (z *ZkLock) reenter() bool {
	if z.holds == 0 || z.bugs.Has("ZL13") { // BUG: ZL13 who holds the lock gets it again, but nobody counts
		return false
	}
	z.holds++
	return true
}

// Unlock releases the lock.
func (z *ZkLock) Unlock(context.Context) error {
	if z.holds > 1 {
		z.holds--
		return nil
	}
	z.holds = 0
	if z.bugs.Has("ZL10") { // BUG: ZL10 if the delete fails that is printed, and the session goes on
		if err := z.zooKeeper.Delete(z.place.path, -1); err != nil {
			return nil
		}
	}
	return z.place.withdraw()
}

// Holds returns how often the lock is held.
func (z *ZkLock) Holds() int { return z.holds }

// Lost returns a channel that is closed when the hold is lost.
func (z *ZkLock) Lost() <-chan struct{} {
	z.refs.Lock()
	defer z.refs.Unlock()
	return z.lost
}
