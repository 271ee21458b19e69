package published

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// writeLock is a protocol to implement an exclusive write lock or to elect a leader. You invoke
// Lock to start the process of grabbing the lock; you may get the lock then or it may be some time
// later. You give a callback so that you are invoked when you get the lock; otherwise you can ask
// if you have the lock by calling IsOwner.
//
// After org.apache.zookeeper.recipes.lock.WriteLock, Apache ZooKeeper 3.4.6, as republished.
type writeLock struct {
	*protocolSupport
	dir     string
	monitor *monitor // what synchronized methods hold

	idName  znodeName
	guid    string // of the znode that is wanted; "" if none is. Not in the original, see W3
	session int64  // in which the guid was made

	acquired func() // the callback lockAcquired

	refs    sync.Mutex // makes the references below as atomic as Java's
	id      string     // "" is null
	ownerID string     // "" is null

	writeLockSteps
}

// writeLockSteps are the steps of a WriteLock in which it had bugs.
type writeLockSteps struct {
	naming
	obtain       func() (owner bool, err error)
	unlockTries  int
	watcherTries int
	idle         func() bool            // Unlock has nothing to do
	forget       func()                 // the name that was unlocked
	giveUp       func()                 // after an error of Lock
	hears        func(zk.Event) bool    // whether the predecessor's watcher goes on by an event
	gaveUp       func(guid string) bool // whether the watcher is of a znode that is not wanted any more
	ownPrefix    func() string          // of names
	renewed      func() bool            // whether the guid is of an earlier session
	catchUp      func() error           // before the own znode is looked for
	idOf         func(name string) string
	missing      func(names []string) bool // whether the own znode is
	sort         func(set []znodeName) ([]znodeName, error)
	confirm      func() (there bool, err error) // that the first znode is there, and one's own
	settled      bool                           // whether it is well that the first is not the owner
	watch        func(path string) (<-chan zk.Event, error)
}

func newWriteLock(zookeeper recipes.Conn, dir string, acquired func(), bugs Bugs) *writeLock {
	w := &writeLock{
		protocolSupport: newProtocolSupport(zookeeper), dir: dir, monitor: newMonitor(), acquired: acquired,
	}
	w.writeLockSteps = writeLockSteps{
		naming: naming{splitAtSign, bySequence}, obtain: w.obtainSurely,
		unlockTries: retryCount, watcherTries: retryCount,
		idle:      func() bool { return w.GetID() == "" },
		forget:    func() { w.guid = "" },
		giveUp:    w.removeOwn,
		hears:     func(event zk.Event) bool { return event.Type != zk.EventSession },
		gaveUp:    func(guid string) bool { return w.guid != guid },
		ownPrefix: func() string { return "x-" + w.guid + "-" },
		renewed:   func() bool { return w.session != zookeeper.SessionID() },
		catchUp:   func() error { _, err := zookeeper.Sync(dir); return err },
		idOf:      func(name string) string { return dir + "/" + name },
		missing: func(names []string) bool {
			return !slices.Contains(names, strings.TrimPrefix(w.GetID(), dir+"/"))
		},
		sort: w.byTransaction, confirm: w.isOwn, watch: w.watchByGet,
	}
	mistaken(w, bugs.Has, writeLockMistakes)
	return mistaken(w, bugs.Later, writeLockLaterMistakes)
}

var writeLockMistakes = []mistake[writeLock]{
	// BUG: W0 others have removed the directory
	{"W0", func(w *writeLock) { w.obtain = w.obtainOnce }},
	{"W1", func(w *writeLock) {
		// BUG: W1 also when it is gone already: nobody will wake us, the list must be read again
		w.watch = func(path string) (watch <-chan zk.Event, err error) {
			_, _, watch, err = w.zookeeper.ExistsW(path)
			return watch, err
		}
	}},
	{"W2", func(w *writeLock) {
		w.compare = bySession
		w.ownPrefix = func() string { return fmt.Sprintf("x-%d-%s-", w.session, w.guid) } // as in the original
	}},
	{"W3", func(w *writeLock) {
		// BUG: W3 any WriteLock of this session has that prefix
		w.ownPrefix = func() string { return fmt.Sprintf("x-%d-", w.zookeeper.SessionID()) }
	}},
	// BUG: W4 who has given up meanwhile queues again
	{"W4", func(w *writeLock) { w.gaveUp = func(string) bool { return false } }},
	// BUG: W5, W9 a delete that has failed is forgotten, and the znode can never be deleted
	{"W5", func(w *writeLock) { w.unlockTries = 1 }},
	// BUG: W6 each change registers one more watcher
	{"W6", func(w *writeLock) { w.hears = func(zk.Event) bool { return true } }},
	// BUG: W7 nobody looks whether the znode is still there, and one's own
	{"W7", func(w *writeLock) { w.confirm = func() (bool, error) { return true, nil } }},
	// BUG: W8, W9 no sync before: the server may be behind
	{"W8", func(w *writeLock) { w.catchUp = func() error { return nil } }},
	// BUG: W9 the name is looked for again after it was to be deleted
	{"W9", func(w *writeLock) { w.forget = func() {} }},
	// BUG: W10 after close nothing is deleted
	{"W10", func(w *writeLock) { w.idle = func() bool { return w.closed.Load() || w.GetID() == "" } }},
	// BUG: W11 the znode stays in the queue, and nobody watches
	{"W11", func(w *writeLock) { w.giveUp = func() {} }},
	// BUG: W12 an error is only logged, and nobody watches any more
	{"W12", func(w *writeLock) { w.watcherTries = 1 }},
	{"W13", func(w *writeLock) {
		// BUG: W13 only if there is nobody else, not whenever the own znode is missing
		w.missing = func(names []string) bool { return len(names) == 0 }
		w.settled = true // BUG: W13 the own znode is missing: no watch and no new znode
	}},
	{"W14", func(w *writeLock) {
		w.split = splitAtHyphen
		w.sort = asNumbered
	}},
	{"W15", func(w *writeLock) {
		prefix, renewed := w.ownPrefix, w.renewed
		w.ownPrefix = func() string {
			if w.session == 0 {
				return "x-0-" // BUG: W15 not connected yet: one prefix for all
			}
			return prefix()
		}
		w.renewed = func() bool { return w.session != 0 && renewed() }
	}},
}

var writeLockLaterMistakes = []mistake[writeLock]{
	// BUG: L1 the bare name, which is no path
	{"L1", func(w *writeLock) { w.idOf = func(name string) string { return name } }},
	// BUG: L2 numbers after the wrap go first
	{"L2", func(w *writeLock) { w.sort = asNumbered }},
}

// Unlock removes the lock or associated znode if you no longer require the lock. This also removes
// your request in the queue for locking in case you do not already hold the lock.
func (w *writeLock) Unlock() error {
	defer w.monitor.enter()()
	if w.idle() {
		return nil
	}
	path := w.GetID()
	// The original does not retry this operation in the case of failure, as ZooKeeper will remove
	// ephemeral files.
	_, err := w.repeat(w.unlockTries, func() (bool, error) { return true, w.zookeeper.Delete(w.GetID(), -1) })
	w.setID("")
	w.forget()
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return fmt.Errorf("delete %s: %w", path, err)
}

// lockWatcher is called on the watch of the predecessor of the znode with that guid. Java's client
// calls it for each change of the connection, too, and leaves it registered.
func (w *writeLock) lockWatcher(watch <-chan zk.Event, guid string) {
	for event := range watch {
		if errors.Is(event.Err, zk.ErrClosing) {
			return // Java's client tells nobody
		}
		if w.hears(event) {
			w.process(guid)
		}
	}
}

// process is the rest of lockWatcher: let's either become the leader or watch the new/updated node.
func (w *writeLock) process(guid string) {
	defer w.monitor.enter()()
	if !w.gaveUp(guid) {
		w.repeat(w.watcherTries, w.lock)
	}
}

// ownWatcher is called on the watch of the own znode, which is first.
func (w *writeLock) ownWatcher(watch <-chan zk.Event, id string) {
	for event := range watch {
		if event.Type != zk.EventSession {
			break
		}
	}
	w.refs.Lock()
	defer w.refs.Unlock()
	if w.ownerID == id {
		w.ownerID = ""
	}
}

// prefix is how the name of the own znode begins.
func (w *writeLock) prefix() string {
	if w.guid == "" {
		w.identify()
	}
	return w.ownPrefix()
}

func (w *writeLock) identify() {
	w.guid, w.session = recipes.NewGUID(w.zookeeper), w.zookeeper.SessionID()
}

// findPrefixInChildren finds out if we have been created earlier; if not it creates our node, in a
// new session under a new guid.
func (w *writeLock) findPrefixInChildren() error {
	prefix := w.prefix()
	if err := w.catchUp(); err != nil {
		return err
	}
	names, _, err := w.zookeeper.Children(w.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			w.setID(w.idOf(name))
			return nil
		}
	}
	if w.renewed() {
		w.identify()
	}
	data := []byte{0x12, 0x34}
	id, err := w.zookeeper.Create(w.dir+"/"+w.prefix(), data, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err == nil {
		w.setID(id)
	}
	return err
}

// execute is the command that is run and retried for actually obtaining the lock. It begins again
// where its view of the queue has been overtaken.
func (w *writeLock) execute() (bool, error) {
	for {
		if w.GetID() == "" {
			// Let's try to look up the current ID if we failed in the middle of creating the znode.
			if err := w.findPrefixInChildren(); err != nil {
				return false, err
			}
			w.idName = w.split(w.GetID())
		}
		names, _, err := w.zookeeper.Children(w.dir)
		if err != nil {
			return false, err
		}
		if w.missing(names) {
			// No children when we've just created one! Let's force the recreation of the id.
			w.recreate()
			continue
		}
		sorted, err := w.sort(w.sortedSet(w.dir, names))
		if err != nil {
			return false, err
		}
		if done, owner, err := w.judge(sorted); done {
			return owner, err
		}
	}
}

// recreate has the next look make a znode.
func (w *writeLock) recreate() {
	w.setID("")
	w.guid = ""
}

// asNumbered leaves names in the order of their numbers.
func asNumbered(set []znodeName) ([]znodeName, error) { return set, nil }

// byTransaction puts names, after the wrap of the sequence number, in the order of the transactions
// that created the znodes.
func (w *writeLock) byTransaction(set []znodeName) ([]znodeName, error) {
	if !slices.ContainsFunc(set, znodeName.wrapped) {
		return set, nil
	}
	alive := set[:0]
	for _, z := range set {
		exists, stat, err := w.zookeeper.Exists(z.name)
		if err != nil {
			return nil, err
		}
		if exists {
			z.czxid = stat.Czxid
			alive = append(alive, z)
		}
	}
	slices.SortFunc(alive, func(a, b znodeName) int { return cmp.Compare(a.czxid, b.czxid) })
	return alive, nil
}

// judge is the part of execute that follows the sorting. done is false if the list must be read
// again.
func (w *writeLock) judge(sortedNames []znodeName) (done, owner bool, err error) {
	if len(sortedNames) == 0 {
		return false, false, nil
	}
	w.setOwnerID(sortedNames[0].name)
	lessThanMe := w.headSet(sortedNames, w.idName)
	if len(lessThanMe) > 0 {
		return w.await(lessThanMe[len(lessThanMe)-1].name)
	}
	if there, err := w.confirm(); !there {
		w.setOwnerID("")
		return err != nil, false, err
	}
	if !w.IsOwner() {
		return w.settled, false, nil
	}
	w.acquired()
	return true, true, nil
}

// isOwn reports whether the first znode is there, and one's own; else it has another made.
func (w *writeLock) isOwn() (bool, error) {
	_, stat, watch, err := w.zookeeper.GetW(w.GetID())
	if errors.Is(err, zk.ErrNoNode) || err == nil && stat.EphemeralOwner != w.zookeeper.SessionID() {
		w.recreate()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	go w.ownWatcher(watch, w.GetID())
	return true, nil
}

// await sets the watch on the predecessor.
func (w *writeLock) await(predecessor string) (done, owner bool, err error) {
	watch, err := w.watch(predecessor)
	if errors.Is(err, zk.ErrNoNode) {
		return false, false, nil
	}
	if err == nil {
		go w.lockWatcher(watch, w.guid)
	}
	return true, false, err
}

func (w *writeLock) watchByGet(path string) (watch <-chan zk.Event, err error) {
	_, _, watch, err = w.zookeeper.GetW(path)
	return watch, err
}

// Lock attempts to acquire the exclusive write lock, returning whether or not it was acquired. Note
// that the exclusive lock may be acquired some time later after this method has been invoked due to
// the current lock owner going away.
func (w *writeLock) Lock() (bool, error) {
	defer w.monitor.enter()()
	owner, err := w.lock()
	if err != nil {
		w.giveUp()
	}
	return owner, err
}

// removeOwn removes a znode that the caller of Lock was not told of.
func (w *writeLock) removeOwn() {
	w.repeat(retryCount, func() (bool, error) {
		if _, err := w.zookeeper.Sync(w.dir); err != nil {
			return true, err
		}
		names, _, err := w.zookeeper.Children(w.dir)
		if err != nil {
			return true, err
		}
		for _, name := range names {
			if w.guid != "" && strings.HasPrefix(name, w.prefix()) {
				return true, w.zookeeper.Delete(w.dir+"/"+name, -1)
			}
		}
		return true, nil
	})
	w.recreate()
}

func (w *writeLock) lock() (bool, error) {
	if w.closed.Load() {
		return false, nil
	}
	return w.obtain()
}

func (w *writeLock) obtainOnce() (bool, error) {
	w.ensurePathExists(w.dir)
	return w.retryOperation(w.execute)
}

// obtainSurely makes a directory anew that others remove.
func (w *writeLock) obtainSurely() (owner bool, err error) {
	for err = zk.ErrNoNode; errors.Is(err, zk.ErrNoNode); {
		owner, err = w.obtainOnce()
	}
	return owner, err
}

// IsOwner returns true if this node is the owner of the lock (or the leader).
func (w *writeLock) IsOwner() bool {
	w.refs.Lock()
	defer w.refs.Unlock()
	return w.id != "" && w.ownerID != "" && w.id == w.ownerID // BUG: W7 neither is cleared when the session expires
}

// GetID returns the path of this lock's znode, "" if there is none.
func (w *writeLock) GetID() string {
	w.refs.Lock()
	defer w.refs.Unlock()
	return w.id
}

func (w *writeLock) setID(id string) {
	w.refs.Lock()
	defer w.refs.Unlock()
	w.id = id
}

func (w *writeLock) setOwnerID(id string) {
	w.refs.Lock()
	defer w.refs.Unlock()
	w.ownerID = id
}
