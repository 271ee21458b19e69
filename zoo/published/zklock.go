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
	pre       string // the znode before the own one
	holds     int

	refs sync.Mutex
	lost chan struct{} // of the hold

	// The steps in which it had bugs.
	hasRoot    func(ctx context.Context) error // before a znode is made
	createNode func(ctx context.Context) error
	vanished   func() error                                    // the own znode is missing
	keep       func(watch <-chan zk.Event, lost chan struct{}) // closes lost
	heeds      func(event zk.Event) bool                       // whether who waits is notified
	notify     func(notified chan struct{})
	ignored    bool         // whether Lock takes whatever answer for a hold
	leave      func() error // after TryLock in vain
	counts     bool         // how often it is held
	release    func() error
}

// NewZkLock returns a lock and creates its root.
func NewZkLock(zooKeeper recipes.Conn, root string, bugs Bugs) *ZkLock {
	z := &ZkLock{zooKeeper: zooKeeper, root: root, place: newContender(zooKeeper, root, "", "-")}
	z.hasRoot = func(context.Context) error { return nil }
	z.createNode, z.leave, z.release = z.place.enlist, z.place.withdraw, z.place.withdraw
	z.vanished = func() error { return nil }
	z.keep = func(watch <-chan zk.Event, lost chan struct{}) { go func() { <-watch; close(lost) }() }
	z.heeds, z.counts = func(zk.Event) bool { return true }, true
	z.notify = func(notified chan struct{}) { close(notified) }
	mistaken(z, bugs.Has, zkLockMistakes)
	if exists, _, err := zooKeeper.Exists(root); err == nil && !exists {
		// BUG: ZL16 errors are only printed, here and above
		zooKeeper.Create(root, []byte("0"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	}
	return z
}

var zkLockMistakes = []mistake[ZkLock]{
	{"ZL7", func(z *ZkLock) {
		z.notify = func(notified chan struct{}) {
			select {
			case notified <- struct{}{}: // pre.notify()
			default: // BUG: ZL7 who does not wait yet is not notified, and then waits for ever
			}
		}
	}},
	// BUG: ZL8 the znode stays in the queue, and nobody uses it when its turn comes
	{"ZL8", func(z *ZkLock) { z.leave = func() error { return nil } }},
	{"ZL9", func(z *ZkLock) {
		z.createNode = z.createOnce
		z.ignored = true // BUG: ZL9, ZL16 nobody looks at the answer
	}},
	{"ZL10", func(z *ZkLock) {
		z.release = func() error { // BUG: ZL10 if the delete fails that is printed, and the session goes on
			if z.zooKeeper.Delete(z.place.path, -1) != nil {
				return nil
			}
			return z.place.withdraw()
		}
	}},
	// BUG: ZL11 a create whose reply was lost is repeated, and what it made stays in front
	{"ZL11", func(z *ZkLock) { z.place.anonymous = true }},
	// BUG: ZL12 the own znode is missing, and nobody makes another
	{"ZL12", func(z *ZkLock) { z.vanished = func() error { return errIndexOutOfBounds } }},
	// BUG: ZL13 who holds the lock gets it again, but nobody counts
	{"ZL13", func(z *ZkLock) { z.counts = false }},
	{"ZL14", func(z *ZkLock) {
		z.keep = func(<-chan zk.Event, chan struct{}) {} // BUG: ZL14 nobody tells the owner that its session has expired
		// BUG: ZL14 nor the one who waits
		z.heeds = func(event zk.Event) bool { return event.Type != zk.EventNotWatching }
	}},
	// BUG: ZL15 as texts: "-2147483648" comes before "2147483647"
	{"ZL15", func(z *ZkLock) { z.place.lineUp = (*contender).byText }},
	{"ZL16", func(z *ZkLock) {
		z.hasRoot = z.rootThere
		z.ignored = true
	}},
}

// createOnce makes the own znode.
func (z *ZkLock) createOnce(context.Context) error {
	z.place.identify()
	path, acl := z.root+"/"+z.place.stem(), zk.WorldACL(zk.PermAll)
	path, err := z.zooKeeper.Create(path, []byte("0"), zk.FlagEphemeralSequential, acl)
	if err == nil { // BUG: ZL9 any error makes the answer false
		z.place.path = path
	}
	return err
}

// rootThere is an error if the root is missing.
func (z *ZkLock) rootThere(ctx context.Context) error {
	stat, err := statOf(ctx, z.zooKeeper, z.root)
	if err == nil && stat == nil { // BUG: ZL16 nobody makes it
		err = zk.ErrNoNode
	}
	return err
}

// errIndexOutOfBounds is java.lang.IndexOutOfBoundsException.
var errIndexOutOfBounds = errors.New("index out of bounds")

// tryLock creates an ephemeral sequential znode, once, and holds the lock if it is the smallest. Its error is what
// the original prints when it returns false.
func (z *ZkLock) tryLock(ctx context.Context) (bool, error) {
	for {
		if z.place.path == "" {
			err := z.hasRoot(ctx)
			if err == nil {
				err = z.createNode(ctx)
			}
			if err != nil {
				return false, err
			}
		}
		list, own, err := z.place.line(ctx)
		if err != nil {
			return false, err
		}
		switch {
		case own > 0: // find the one before
			z.pre = z.root + "/" + list[own-1]
			return false, nil
		case own < 0:
			if err := z.vanished(); err != nil {
				return false, err
			}
		default:
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
	z.keep(watch, lost)
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
	if z.heeds(<-watch) {
		z.notify(notified)
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
		case ctx.Err() == nil && z.ignored:
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
	if ans {
		z.holds = 1
		return true, err
	}
	return false, errors.Join(err, z.leave())
}

// reenter counts one hold more if there is one.
func (z *ZkLock) reenter() bool {
	if z.holds == 0 || !z.counts {
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
	return z.release()
}

// Holds returns how often the lock is held.
func (z *ZkLock) Holds() int { return z.holds }

// Lost returns a channel that is closed when the hold is lost.
func (z *ZkLock) Lost() <-chan struct{} {
	z.refs.Lock()
	defer z.refs.Unlock()
	return z.lost
}
