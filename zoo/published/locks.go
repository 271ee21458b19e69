package published

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// Locks is the class of that name in notes on ZooKeeper, in the manner of the tutorial's SyncPrimitive: a contender
// waits on a monitor that the default watcher notifies. The original's lock is /lock and every object opens a session
// of its own, which the class keeps in a static field with the monitor; here the lock is where the caller says, and a
// process has one session.
//
// As printed it fails at once. Its bugs show one after the other as they are fixed: LK1, LK7, LK5, LK2, LK3, LK4, LK6.
type Locks struct {
	zk    recipes.Conn
	root  string
	class *LocksClass
	mutex *condition // nil is null
	name  string     // of the host
	place contender
	bugs  Bugs
	owner
}

// LocksClass has the static fields of [Locks], of which a process has one set.
type LocksClass struct{ mutex atomic.Pointer[condition] }

// The exceptions that Java has and Go has not.
var (
	ErrNullPointer         = errors.New("null pointer")
	ErrIllegalMonitorState = errors.New("illegal monitor state")
)

// localhost is the canonical name of a host that has no other.
const localhost = "localhost"

// NewLocks returns a lock and creates its root. Errors are only printed.
func NewLocks(ctx context.Context, client recipes.Conn, root string, class *LocksClass, bugs Bugs) *Locks {
	l := &Locks{zk: client, root: root, class: class, bugs: bugs}
	l.place = newContender(client, root, localhost+"-", "-", bugs)
	l.place.anonymous = bugs.Has("LK5") // as the offsets are for names without a guid
	if err := l.createRoot(ctx); err != nil {
		return l // BUG: LK7 before mutex and name are set
	}
	l.mutex = newCondition()
	if l.bugs.Has("LK6") {
		l.class.mutex.Store(l.mutex) // BUG: LK6 a static field: who waits does so on the monitor of an earlier object
	}
	l.name = localhost
	return l
}

func (l *Locks) createRoot(ctx context.Context) error {
	flags := int32(zk.FlagPersistent)
	if l.bugs.Has("LK1") {
		flags = zk.FlagEphemeral // BUG: LK1 ephemeral znodes have no children
	}
	create := func() error { _, err := l.zk.Create(l.root, []byte{}, flags, zk.WorldACL(zk.PermAll)); return err }
	if l.bugs.Has("LK7") {
		return create() // BUG: LK7 the root is there already: not for the first object only
	}
	err := retry(ctx, create)
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// monitor is the mutex, as it is now.
func (l *Locks) monitor() *condition {
	if l.bugs.Has("LK6") {
		return l.class.mutex.Load()
	}
	return l.mutex
}

// process is the default watcher, called on one watch.
func (l *Locks) process(watch <-chan zk.Event) {
	if event := <-watch; errors.Is(event.Err, zk.ErrClosing) {
		return // Java's client tells nobody
	}
	mutex := l.monitor()
	defer mutex.enter()()
	mutex.notify()
}

// minSeq is the smallest entry.
func (l *Locks) minSeq(list []standing) standing {
	least := list[0]
	for _, s := range list[1:] {
		smaller := s.number < least.number
		if l.bugs.Has("LK2") {
			smaller = least.number < s.number // BUG: LK2 the largest: the newest contender owns the lock
		}
		if smaller {
			least = s
		}
	}
	return least
}

// GetLock waits until the lock is held.
func (l *Locks) GetLock(ctx context.Context) error {
	err := l.getLock(ctx)
	if l.bugs.Has("LK8") { // BUG: LK8 the znode stays, and the next call queues behind it
		return err
	}
	return l.place.orWithdraw(err)
}

func (l *Locks) getLock(ctx context.Context) error {
	if err := l.create(ctx); err != nil {
		return err
	}
	for {
		done, err := l.look(ctx)
		if done || err != nil {
			return err
		}
	}
}

func (l *Locks) create(ctx context.Context) (err error) {
	if !l.bugs.Has("LK8") {
		return l.place.enlist(ctx)
	}
	l.place.identify()
	path := l.root + "/" + l.place.stem()
	l.place.path, err = l.zk.Create(path, []byte{}, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	return err
}

// look is the body of the original's endless loop.
func (l *Locks) look(ctx context.Context) (done bool, err error) {
	mutex := l.monitor()
	if mutex == nil {
		return false, ErrNullPointer
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
func (l *Locks) list(ctx context.Context) (list []standing, own *standing, err error) {
	names, err := l.children(ctx)
	if errors.Is(err, zk.ErrNoNode) && !l.bugs.Has("LK8") {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if l.bugs.Has("LK5") {
		return l.cut(names)
	}
	list, err = l.place.order(ctx, names)
	for i, s := range list {
		if l.root+"/"+s.name == l.place.path {
			own = &list[i]
		}
	}
	return list, own, err
}

// children lists the root, and leaves a watch for children that come or go.
func (l *Locks) children(ctx context.Context) (names []string, err error) {
	if l.bugs.Has("LK3") { // BUG: LK3 no watch: there will be no event to wait for
		err = l.ask(ctx, func() (err error) { names, _, err = l.zk.Children(l.root); return err })
		return names, err
	}
	var watch <-chan zk.Event
	err = l.ask(ctx, func() (err error) { names, _, watch, err = l.zk.ChildrenW(l.root); return err })
	if err == nil {
		go l.process(watch)
	}
	return names, err
}

// cut takes the numbers from where they are if the host's name is of the right length. The path is taken for one in
// /lock.
func (l *Locks) cut(names []string) (list []standing, own *standing, err error) {
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
func (l *Locks) own(ctx context.Context) (bool, error) {
	watch, held, err := l.place.first(ctx, 0)
	if !held || err != nil {
		return false, err
	}
	h := l.begin()
	if !l.bugs.Has("LK12") { // BUG: LK12 nobody tells the owner that its session has expired
		go h.keep(watch)
	}
	return true, nil
}

// await waits until the smallest child may be gone.
func (l *Locks) await(ctx context.Context, mutex *condition, least standing) error {
	for {
		// At first for a child that comes or goes, then for the end of this one.
		if err := l.wait(ctx, mutex); err != nil {
			return err
		}
		exists, err := l.exists(ctx, least)
		if !exists || err != nil {
			return err
		}
	}
}

// wait is mutex.wait() for the caller in whose hands that mutex is.
func (l *Locks) wait(ctx context.Context, mutex *condition) error {
	if l.monitor() != mutex {
		return ErrIllegalMonitorState
	}
	return mutex.wait(ctx)
}

// exists looks for a child, and leaves a watch.
func (l *Locks) exists(ctx context.Context, child standing) (exists bool, err error) {
	var watch <-chan zk.Event
	err = l.ask(ctx, func() (err error) {
		if l.bugs.Has("LK4") { // BUG: LK4 one's own host, and a number without its zeros: nothing is ever there
			exists, _, watch, err = l.zk.ExistsW(l.root + "/" + l.name + "-" + strconv.FormatInt(child.number, 10))
			return err
		}
		_, _, watch, err = l.zk.GetW(l.root + "/" + child.name)
		exists = err == nil
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	if err == nil {
		go l.process(watch)
	}
	return exists, err
}

// ask sends a request.
func (l *Locks) ask(ctx context.Context, request func() error) error {
	if l.bugs.Has("LK8") {
		return request()
	}
	return retry(ctx, request)
}

// ReleaseLock deletes the znode.
func (l *Locks) ReleaseLock() error {
	err := l.place.withdraw()
	if err == nil {
		l.hold.Store(nil)
	}
	return err
}

// LocksUser gives the class the methods of other locks of this project, and uses it as its main does: with a new
// object for each turn.
type LocksUser struct {
	client recipes.Conn
	root   string
	class  *LocksClass
	bugs   Bugs
	locks  *Locks
}

// NewLocksUser returns a user of a process with those static fields.
func NewLocksUser(class *LocksClass, client recipes.Conn, root string, bugs Bugs) *LocksUser {
	return &LocksUser{client: client, root: root, class: class, bugs: bugs}
}

// Lock makes an object and waits until it holds the lock.
func (u *LocksUser) Lock(ctx context.Context) error {
	u.locks = NewLocks(ctx, u.client, u.root, u.class, u.bugs)
	return u.locks.GetLock(ctx)
}

// Unlock releases the lock.
func (u *LocksUser) Unlock(context.Context) error { return u.locks.ReleaseLock() }

// IsOwner tells whether the object of the last turn believes to hold the lock.
func (u *LocksUser) IsOwner() bool { return u.locks != nil && u.locks.IsOwner() }
