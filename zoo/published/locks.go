package published

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// locks is the class of that name in notes on ZooKeeper, in the manner of the tutorial's
// SyncPrimitive: a contender waits on a monitor that the default watcher notifies. The original's
// lock is /lock and every object opens a session of its own, which the class keeps in a static
// field with the monitor; here the lock is where the caller says, and a process has one session.
//
// As printed it fails at once. Its bugs show one after the other as they are fixed: LK1, LK7, LK5,
// LK2, LK3, LK4, LK6.
type locks struct {
	zk    recipes.Conn
	root  string
	class *LocksClass
	mutex *condition // nil is null
	name  string     // of the host
	place contender
	owner

	// The steps in which it had bugs.
	rootFlags int32
	makeRoot  func(ctx context.Context, create func() error) error
	monitor   func() *condition // the mutex, as it is now
	create    func(ctx context.Context) error
	failed    func(err error) error // of getLock
	ask       func(ctx context.Context, request func() error) error
	isEmpty   func(err error) bool // by an error of the list
	children  func(ctx context.Context) (names []string, err error)
	listed    func(ctx context.Context, names []string) (list []standing, own *standing, err error)
	less      func(a, b int64) bool
	look      func(child standing) (exists bool, watch <-chan zk.Event, err error)
	keep      func(h *hold, watch <-chan zk.Event)
}

// LocksClass has the static fields of the class Locks, of which a process has one set.
type LocksClass struct{ mutex atomic.Pointer[condition] }

// The exceptions that Java has and Go has not.
var (
	errNullPointer         = errors.New("null pointer")
	errIllegalMonitorState = errors.New("illegal monitor state")
)

// localhost is the canonical name of a host that has no other.
const localhost = "localhost"

// newLocks returns a lock and creates its root. Errors are only printed.
func newLocks(ctx context.Context, client recipes.Conn, root string, class *LocksClass, bugs Bugs) *locks {
	l := &locks{
		zk: client, root: root, class: class, place: newContender(client, root, localhost+"-", "-"),
		rootFlags: zk.FlagPersistent, makeRoot: retryUntilThere, ask: retry,
		isEmpty: func(err error) bool { return errors.Is(err, zk.ErrNoNode) },
		less:    func(a, b int64) bool { return a < b },
	}
	l.monitor = func() *condition { return l.mutex }
	l.keep = func(h *hold, watch <-chan zk.Event) { go h.keep(watch) }
	l.create, l.failed = l.place.enlist, l.place.orWithdraw
	l.children, l.listed, l.look = l.childrenWatched, l.inLine, l.lookAt
	mistaken(l, bugs.Has, locksMistakes)
	if err := l.createRoot(ctx); err != nil {
		return l // BUG: LK7 before mutex and name are set
	}
	l.mutex = newCondition()
	l.class.mutex.Store(l.mutex)
	l.name = localhost
	return l
}

var locksMistakes = []mistake[locks]{
	// BUG: LK1 ephemeral znodes have no children
	{"LK1", func(l *locks) { l.rootFlags = zk.FlagEphemeral }},
	// BUG: LK2 the largest: the newest contender owns the lock
	{"LK2", func(l *locks) { l.less = func(a, b int64) bool { return a > b } }},
	{"LK3", func(l *locks) {
		l.children = func(ctx context.Context) (names []string, err error) {
			// BUG: LK3 no watch: there will be no event to wait for
			err = l.ask(ctx, func() (err error) { names, _, err = l.zk.Children(l.root); return err })
			return names, err
		}
	}},
	{"LK4", func(l *locks) {
		l.look = func(child standing) (exists bool, watch <-chan zk.Event, err error) {
			// BUG: LK4 one's own host, and a number without its zeros: nothing is ever there
			exists, _, watch, err = l.zk.ExistsW(l.root + "/" + l.name + "-" + strconv.FormatInt(child.number, 10))
			return exists, watch, err
		}
	}},
	{"LK5", func(l *locks) {
		l.place.anonymous = true // as the offsets are for names without a guid
		l.listed = l.cut
	}},
	// BUG: LK6 a static field: who waits does so on the monitor of an earlier object
	{"LK6", func(l *locks) { l.monitor = l.class.mutex.Load }},
	// BUG: LK7 the root is there already: not for the first object only
	{"LK7", func(l *locks) { l.makeRoot = once }},
	{"LK8", func(l *locks) {
		l.ask = once
		l.isEmpty = func(error) bool { return false }
		l.create = l.createOnce
		l.failed = func(err error) error { return err } // BUG: LK8 the znode stays, and the next call queues behind it
	}},
	// BUG: LK12 nobody tells the owner that its session has expired
	{"LK12", func(l *locks) { l.keep = func(*hold, <-chan zk.Event) {} }},
}

// retryUntilThere repeats a create, also if somebody else was faster.
func retryUntilThere(ctx context.Context, create func() error) error {
	err := retry(ctx, create)
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

func (l *locks) createRoot(ctx context.Context) error {
	return l.makeRoot(ctx, func() error {
		_, err := l.zk.Create(l.root, []byte{}, l.rootFlags, zk.WorldACL(zk.PermAll))
		return err
	})
}

// process is the default watcher, called on one watch.
func (l *locks) process(watch <-chan zk.Event) {
	if event := <-watch; errors.Is(event.Err, zk.ErrClosing) {
		return // Java's client tells nobody
	}
	mutex := l.monitor()
	defer mutex.enter()()
	mutex.notify()
}

// minSeq is the smallest entry.
func (l *locks) minSeq(list []standing) standing {
	least := list[0]
	for _, s := range list[1:] {
		if l.less(s.number, least.number) {
			least = s
		}
	}
	return least
}

// getLock waits until the lock is held.
func (l *locks) getLock(ctx context.Context) error {
	err := l.create(ctx)
	for done := false; err == nil && !done; {
		done, err = l.turn(ctx)
	}
	return l.failed(err)
}

// createOnce creates a znode and does not look for one that a lost reply has left.
func (l *locks) createOnce(context.Context) (err error) {
	l.place.identify()
	path := l.root + "/" + l.place.stem()
	l.place.path, err = l.zk.Create(path, []byte{}, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	return err
}

// turn is the body of the original's endless loop.
func (l *locks) turn(ctx context.Context) (done bool, err error) {
	mutex := l.monitor()
	if mutex == nil {
		return false, errNullPointer
	}
	defer mutex.enter()()
	list, own, err := l.list(ctx)
	if err != nil {
		return false, err
	}
	if own == nil {
		return false, l.place.enlist(ctx)
	}
	least := l.minSeq(list)
	if least.number == own.number {
		return l.own(ctx)
	}
	return false, l.await(ctx, mutex, least)
}

// list returns the children and the own one, nil if it is gone.
func (l *locks) list(ctx context.Context) (list []standing, own *standing, err error) {
	names, err := l.children(ctx)
	switch {
	case err == nil:
		return l.listed(ctx, names)
	case l.isEmpty(err):
		return nil, nil, nil
	}
	return nil, nil, err
}

// inLine takes the children in the order of a line.
func (l *locks) inLine(ctx context.Context, names []string) (list []standing, own *standing, err error) {
	list, err = l.place.order(ctx, names)
	for i, s := range list {
		if l.root+"/"+s.name == l.place.path {
			own = &list[i]
		}
	}
	return list, own, err
}

// childrenWatched lists the root, and leaves a watch for children that come or go.
func (l *locks) childrenWatched(ctx context.Context) (names []string, err error) {
	var watch <-chan zk.Event
	err = l.ask(ctx, func() (err error) { names, _, watch, err = l.zk.ChildrenW(l.root); return err })
	if err == nil {
		go l.process(watch)
	}
	return names, err
}

// cut takes the numbers from where they are if the host's name is of the right length. The path is
// taken for one in /lock.
func (l *locks) cut(_ context.Context, names []string) (list []standing, own *standing, err error) {
	for _, name := range names {
		n, err := substring14(name) // BUG: LK5 the same offset in a name and in a path
		if err != nil {
			return nil, nil, err
		}
		list = append(list, standing{name: name, number: n})
	}
	n, err := substring14("/lock" + l.place.path[len(l.root):])
	return list, &standing{number: n}, err
}

// substring14 is Integer.parseInt(s.substring(14)).
func substring14(s string) (int64, error) {
	if len(s) < 14 {
		return 0, strconv.ErrRange
	}
	return strconv.ParseInt(s[14:], 10, 32)
}

// own finds out whether being first means to hold the lock.
func (l *locks) own(ctx context.Context) (bool, error) {
	watch, held, err := l.place.first(ctx, 0)
	if !held || err != nil {
		return false, err
	}
	l.keep(l.begin(), watch)
	return true, nil
}

// await waits until the smallest child may be gone.
func (l *locks) await(ctx context.Context, mutex *condition, least standing) error {
	for {
		// At first for a child that comes or goes, then for the end of this one.
		if l.monitor() != mutex { // mutex.wait() is for the caller in whose hands mutex is
			return errIllegalMonitorState
		}
		if err := mutex.wait(ctx); err != nil {
			return err
		}
		exists, err := l.exists(ctx, least)
		if !exists || err != nil {
			return err
		}
	}
}

// exists looks for a child, and leaves a watch.
func (l *locks) exists(ctx context.Context, child standing) (exists bool, err error) {
	var watch <-chan zk.Event
	err = l.ask(ctx, func() (err error) { exists, watch, err = l.look(child); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	if err == nil {
		go l.process(watch)
	}
	return exists, err
}

func (l *locks) lookAt(child standing) (exists bool, watch <-chan zk.Event, err error) {
	_, _, watch, err = l.zk.GetW(l.root + "/" + child.name)
	return err == nil, watch, err
}

// LocksUser gives the class Locks the methods of other locks of this project, and uses it as its
// main does: with a new object for each turn.
type LocksUser struct {
	client recipes.Conn
	root   string
	class  *LocksClass
	bugs   Bugs
	locks  *locks
}

// NewLocksUser returns a user of a process with those static fields.
func NewLocksUser(class *LocksClass, client recipes.Conn, root string, bugs Bugs) *LocksUser {
	return &LocksUser{client: client, root: root, class: class, bugs: bugs}
}

// Lock makes an object and waits until it holds the lock.
func (u *LocksUser) Lock(ctx context.Context) error {
	u.locks = newLocks(ctx, u.client, u.root, u.class, u.bugs)
	return u.locks.getLock(ctx)
}

// Unlock releases the lock: it deletes the znode.
func (u *LocksUser) Unlock(context.Context) error {
	err := u.locks.place.withdraw()
	if err == nil {
		u.locks.hold.Store(nil)
	}
	return err
}

// IsOwner reports whether the object of the last turn believes to hold the lock.
func (u *LocksUser) IsOwner() bool { return u.locks != nil && u.locks.IsOwner() }
