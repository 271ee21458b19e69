package published

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// WatchLock is an exclusive lock on one ephemeral znode with a fixed name: its creator holds the lock, the others
// watch it. After the lines of code in a Java article on ZooKeeper locks, which has been republished many times; its
// tryLock is not printed there.
//
// Fixed, it has what the original lacks: a guid as the znode's data (ZL4), and beside the znode another that is
// empty and named by the guid, the holder's proof, made and deleted with it (ZL5).
type WatchLock struct {
	conn     recipes.Conn
	dir      string
	monitors *Monitors
	guid     string

	// The steps in which it had bugs.
	owns    func(data []byte, stat *zk.Stat) bool // whether the znode that is there is the own one
	heeds   func(event zk.Event) bool             // whether an event of the watch is one to be told of
	await   func(ctx context.Context, m *javaMonitor, come func() bool) error
	granted func(cause zk.EventType) bool // whether a waiter that is woken believes that it is the owner
	delete  func() error                  // the znode
}

// NewWatchLock returns a lock on the znode "lock" in a directory. monitors are those of the process.
func NewWatchLock(monitors *Monitors, conn recipes.Conn, dir string, bugs Bugs) *WatchLock {
	l := &WatchLock{conn: conn, dir: dir, monitors: new(Monitors)}
	if bugs.Has("ZL6") {
		l.monitors = monitors // BUG: ZL6 the monitor is the path: all locks of the process have the same
	}
	l.owns = func(data []byte, stat *zk.Stat) bool {
		return string(data) == l.guid && stat.EphemeralOwner == conn.SessionID()
	}
	l.heeds = func(event zk.Event) bool { return event.Type != zk.EventSession }
	l.await = func(ctx context.Context, m *javaMonitor, come func() bool) error { return m.wait(ctx, come) }
	l.granted = func(zk.EventType) bool { return false }
	l.delete = l.deleteOwn
	return mistaken(l, bugs.Has, watchLockMistakes)
}

var watchLockMistakes = []mistake[WatchLock]{
	{"ZL1", func(l *WatchLock) {
		l.await = func(ctx context.Context, m *javaMonitor, come func() bool) error {
			m.mu.Lock()
			if err := m.sleep(ctx); err != nil { // BUG: ZL1 the event may have come already: then the wait has no end
				return err
			}
			return m.wait(ctx, come)
		}
	}},
	{"ZL3", func(l *WatchLock) {
		l.heeds = func(zk.Event) bool { return true } // BUG: ZL3 a broken connection is no release
		// BUG: ZL3 and whatever has happened, as if the znode were gone
		l.granted = func(cause zk.EventType) bool { return cause == zk.EventSession }
	}},
	// BUG: ZL2 all that waited are woken, and each believes that it is the owner
	{"ZL2", func(l *WatchLock) { l.granted = func(zk.EventType) bool { return true } }},
	// BUG: ZL4 it may be one's own, by a create whose reply was lost
	{"ZL4", func(l *WatchLock) { l.owns = func([]byte, *zk.Stat) bool { return false } }},
	{"ZL17", func(l *WatchLock) {
		session := l.conn.SessionID() // BUG: ZL17 it may end, and the object goes on in another
		l.owns = func(data []byte, stat *zk.Stat) bool {
			return string(data) == l.guid && stat.EphemeralOwner == cmp.Or(session, l.conn.SessionID())
		}
	}},
	{"ZL5", func(l *WatchLock) {
		l.delete = func() error {
			err := l.conn.Delete(l.path(), -1) // BUG: ZL5 whoever has made it: after an expiry that is the successor
			if connectionLoss(err) {
				err = l.deleteOwn()
			}
			return err
		}
	}},
}

func (l *WatchLock) path() string  { return l.dir + "/lock" }
func (l *WatchLock) proof() string { return l.dir + "/lock-" + l.guid }

// create makes the znode, and the proof with it.
func (l *WatchLock) create() error {
	acl := zk.WorldACL(zk.PermAll)
	_, err := l.conn.Multi(
		&zk.CreateRequest{Path: l.path(), Data: []byte(l.guid), Acl: acl, Flags: zk.FlagEphemeral},
		&zk.CreateRequest{Path: l.proof(), Acl: acl, Flags: zk.FlagEphemeral})
	return err
}

// tryLock makes the znode if there is none, else it watches the one that there is.
func (l *WatchLock) tryLock(ctx context.Context) (owner bool, watch <-chan zk.Event, err error) {
	for {
		switch err := retry(ctx, l.create); {
		case err == nil:
			return true, nil, nil
		case errors.Is(err, zk.ErrNoNode):
			if err := surePath(ctx, l.conn, l.dir); err != nil {
				return false, nil, err
			}
			continue
		case !errors.Is(err, zk.ErrNodeExists):
			return false, nil, err
		}
		var data []byte
		var stat *zk.Stat
		err := retry(ctx, func() (err error) { data, stat, watch, err = l.conn.GetW(l.path()); return err })
		switch {
		case errors.Is(err, zk.ErrNoNode):
		case err != nil:
			return false, nil, err
		default:
			return l.owns(data, stat), watch, nil
		}
	}
}

// Lock waits until the lock is held.
func (l *WatchLock) Lock(ctx context.Context) error {
	l.guid = recipes.NewGUID(l.conn)
	for {
		owner, watch, err := l.tryLock(ctx)
		if owner {
			return nil
		}
		var cause zk.EventType
		if err == nil {
			cause, err = l.wait(ctx, watch)
		}
		switch {
		case err != nil:
			return errors.Join(err, l.release())
		case l.granted(cause):
			return nil
		}
	}
}

// wait waits for an event of the watch, and returns which it was.
func (l *WatchLock) wait(ctx context.Context, watch <-chan zk.Event) (cause zk.EventType, err error) {
	monitor := l.monitors.Of(l.path())
	come := false
	go func() {
		for event := range watch {
			monitor.mu.Lock()
			if !come && l.heeds(event) {
				come, cause = true, event.Type
				monitor.notify()
			}
			monitor.mu.Unlock()
		}
	}()
	threadSwitch()
	if err := l.await(ctx, monitor, func() bool { return come }); err != nil {
		return 0, err
	}
	return cause, nil
}

// TryLock takes the lock if nobody holds it.
func (l *WatchLock) TryLock(ctx context.Context) (bool, error) {
	l.guid = recipes.NewGUID(l.conn)
	owner, _, err := l.tryLock(ctx)
	if err != nil {
		err = errors.Join(err, l.release())
	}
	return owner, err
}

// Unlock releases the lock.
func (l *WatchLock) Unlock(context.Context) error { return l.release() }

// release deletes the znode.
func (l *WatchLock) release() error {
	err := l.delete()
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// deleteOwn deletes the znode with its proof. Without the proof the session is gone, and the znode
// is another's.
func (l *WatchLock) deleteOwn() error {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawMax)
	defer cancel()
	return retry(ctx, func() error { return deleteBoth(l.conn, l.proof(), l.path()) })
}

// Monitors are the monitors of the texts of a Java process, of which equal literals are one object.
type Monitors struct {
	mu  sync.Mutex
	all map[string]*javaMonitor
}

// Of returns the monitor of a text.
func (m *Monitors) Of(text string) *javaMonitor {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string]*javaMonitor{}
	}
	if m.all[text] == nil {
		m.all[text] = new(javaMonitor)
	}
	return m.all[text]
}

// javaMonitor has wait and notify. mu is what synchronized holds.
type javaMonitor struct {
	mu      sync.Mutex
	waiting []chan struct{}
}

// wait waits until the condition is true, and looks again each time that it is notified.
func (m *javaMonitor) wait(ctx context.Context, condition func() bool) error {
	for {
		m.mu.Lock()
		if condition() {
			m.mu.Unlock()
			return nil
		}
		if err := m.sleep(ctx); err != nil {
			return err
		}
	}
}

// sleep waits to be notified; mu is held until it does.
func (m *javaMonitor) sleep(ctx context.Context) error {
	turn := make(chan struct{})
	m.waiting = append(m.waiting, turn)
	m.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		m.waiting = slices.DeleteFunc(m.waiting, func(c chan struct{}) bool { return c == turn })
		return ctx.Err()
	}
}

// notify wakes one of those that wait, mu being held. Which is Java's choice: here the last to come.
func (m *javaMonitor) notify() {
	if last := len(m.waiting) - 1; last >= 0 {
		close(m.waiting[last])
		m.waiting = m.waiting[:last]
	}
}
