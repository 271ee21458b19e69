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

// LockListener is called when a lock is acquired and released. After org.apache.zookeeper.recipes.lock.LockListener,
// Apache ZooKeeper 3.4.6.
type LockListener interface {
	LockAcquired()
	LockReleased()
}

// WriteLock is a protocol to implement an exclusive write lock or to elect a leader. You invoke Lock to start the
// process of grabbing the lock; you may get the lock then or it may be some time later. You can give a listener so
// that you are invoked when you get the lock; otherwise you can ask if you have the lock by calling IsOwner.
//
// After org.apache.zookeeper.recipes.lock.WriteLock, Apache ZooKeeper 3.4.6, as republished.
type WriteLock struct {
	*ProtocolSupport
	dir  string
	data []byte
	bugs Bugs

	monitor *monitor // what synchronized methods hold

	idName      ZNodeName
	lastChildID string
	guid        string // of the znode that is wanted; "" if none is. Not in the original, see W3
	session     int64  // in which the guid was made

	callback LockListener

	refs    sync.Mutex // makes the references below as atomic as Java's
	id      string     // "" is null
	ownerID string     // "" is null
}

// NewWriteLock returns a lock. acl nil lets everybody do everything; callback may be nil.
func NewWriteLock(zookeeper recipes.Conn, dir string, acl []zk.ACL, callback LockListener, bugs Bugs) *WriteLock {
	w := &WriteLock{
		ProtocolSupport: NewProtocolSupport(zookeeper), dir: dir, data: []byte{0x12, 0x34}, bugs: bugs,
		monitor: newMonitor(), callback: callback,
	}
	if acl != nil {
		w.acl = acl
	}
	return w
}

// Unlock removes the lock or associated znode if you no longer require the lock. This also removes your request in
// the queue for locking in case you do not already hold the lock.
func (w *WriteLock) Unlock() error {
	defer w.monitor.enter()()
	if w.closed.Load() && w.bugs.Has("W10") || w.GetID() == "" { // BUG: W10 after close nothing is deleted
		return nil
	}
	// We don't need to retry this operation in the case of failure as ZooKeeper will remove ephemeral files and we
	// don't want to hang when closing if we cannot reconnect.
	remove := func() (bool, error) { return true, w.zookeeper.Delete(w.GetID(), -1) }
	attempt := remove
	if !w.bugs.Has("W5") { // BUG: W5, W9 a delete that has failed is forgotten, and the znode can never be deleted
		attempt = func() (bool, error) { return w.repeat(retryCount, remove) }
	}
	path := w.GetID()
	_, err := attempt()
	w.released()
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return fmt.Errorf("delete %s: %w", path, err)
}

// released is the finally block of Unlock.
func (w *WriteLock) released() {
	if w.callback != nil {
		w.callback.LockReleased() // BUG: W16 also for a mere waiter
	}
	w.setID("")
	if !w.bugs.Has("W9") { // BUG: W9 the name is looked for again after it was to be deleted
		w.guid = ""
	}
}

// lockWatcher is called on the watch of the predecessor of the znode with that guid. Java's client calls it for each
// change of the connection, too, and leaves it registered.
func (w *WriteLock) lockWatcher(watch <-chan zk.Event, guid string) {
	for event := range watch {
		if errors.Is(event.Err, zk.ErrClosing) {
			return // Java's client tells nobody
		}
		if event.Type == zk.EventSession && !w.bugs.Has("W6") { // BUG: W6 each change registers one more watcher
			continue
		}
		w.process(guid)
	}
}

// process is the rest of lockWatcher.
func (w *WriteLock) process(guid string) {
	defer w.monitor.enter()()
	// Let's either become the leader or watch the new/updated node.
	if !w.bugs.Has("W4") && w.guid != guid { // BUG: W4 who has given up meanwhile queues again
		return
	}
	times := retryCount
	if w.bugs.Has("W12") { // BUG: W12 an error is only logged, and nobody watches any more
		times = 1
	}
	w.repeat(times, w.lock)
}

// ownWatcher is called on the watch of the own znode, which is first.
func (w *WriteLock) ownWatcher(watch <-chan zk.Event, id string) {
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
func (w *WriteLock) prefix() string {
	if w.guid == "" {
		w.identify()
	}
	if w.bugs.Has("W15") && w.session == 0 { // BUG: W15 not connected yet: one prefix for all
		return "x-0-"
	}
	if w.bugs.Has("W3") { // BUG: W3 any WriteLock of this session has that prefix
		return fmt.Sprintf("x-%d-", w.zookeeper.SessionID())
	}
	if w.bugs.Has("W2") {
		return fmt.Sprintf("x-%d-%s-", w.session, w.guid) // so that the session comes first, as in the original
	}
	return "x-" + w.guid + "-"
}

func (w *WriteLock) identify() {
	w.guid, w.session = recipes.NewGUID(w.zookeeper), w.zookeeper.SessionID()
}

// findPrefixInChildren finds out if we have been created earlier; if not it creates our node, in a new session under
// a new guid.
func (w *WriteLock) findPrefixInChildren() error {
	prefix := w.prefix()
	if !w.bugs.Has("W8") { // BUG: W8, W9 no sync before: the server may be behind
		if _, err := w.zookeeper.Sync(w.dir); err != nil {
			return err
		}
	}
	names, _, err := w.zookeeper.Children(w.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			w.setID(w.dir + "/" + name)
			if w.bugs.Later("L1") { // BUG: L1 the bare name, which is no path
				w.setID(name)
			}
			return nil
		}
	}
	if w.session != w.zookeeper.SessionID() && !(w.bugs.Has("W15") && w.session == 0) {
		w.identify()
	}
	id, err := w.zookeeper.Create(w.dir+"/"+w.prefix(), w.data, zk.FlagEphemeralSequential, w.acl)
	if err == nil {
		w.setID(id)
	}
	return err
}

// execute is the command that is run and retried for actually obtaining the lock. It begins again where its view of
// the queue has been overtaken.
func (w *WriteLock) execute() (bool, error) {
	for {
		if w.GetID() == "" {
			// Let's try to look up the current ID if we failed in the middle of creating the znode.
			if err := w.findPrefixInChildren(); err != nil {
				return false, err
			}
			w.idName = NewZNodeName(w.GetID(), w.bugs)
		}
		names, _, err := w.zookeeper.Children(w.dir)
		if err != nil {
			return false, err
		}
		missing := !slices.Contains(names, strings.TrimPrefix(w.GetID(), w.dir+"/"))
		if w.bugs.Has("W13") { // BUG: W13 only if there is nobody else, not whenever the own znode is missing
			missing = len(names) == 0
		}
		if missing {
			// No children when we've just created one! Let's force the recreation of the id.
			w.setID("")
			w.guid = ""
			continue
		}
		sorted, err := w.sorted(names)
		if err != nil {
			return false, err
		}
		if done, owner, err := w.judge(sorted); done {
			return owner, err
		}
	}
}

// sorted puts the names in order. After the wrap of the sequence number that is the order of the transactions which
// created the znodes.
func (w *WriteLock) sorted(names []string) ([]ZNodeName, error) {
	set := sortedSet(w.dir, names, w.bugs)
	// BUG: W14, L2 numbers after the wrap go first, misread or not
	if w.bugs.Has("W14") || w.bugs.Later("L2") || !slices.ContainsFunc(set, ZNodeName.wrapped) {
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
	slices.SortFunc(alive, func(a, b ZNodeName) int { return cmp.Compare(a.czxid, b.czxid) })
	return alive, nil
}

// judge is the part of execute that follows the sorting. done is false if the list must be read again.
func (w *WriteLock) judge(sortedNames []ZNodeName) (done, owner bool, err error) {
	if len(sortedNames) == 0 {
		return false, false, nil
	}
	w.setOwnerID(sortedNames[0].name)
	lessThanMe := headSet(sortedNames, w.idName)
	if len(lessThanMe) > 0 {
		w.lastChildID = lessThanMe[len(lessThanMe)-1].name
		return w.await(w.lastChildID)
	}
	if !w.bugs.Has("W7") { // BUG: W7 nobody looks whether the znode is still there, and one's own
		_, stat, watch, err := w.zookeeper.GetW(w.GetID())
		if errors.Is(err, zk.ErrNoNode) || err == nil && stat.EphemeralOwner != w.zookeeper.SessionID() {
			w.setOwnerID("")
			w.setID("")
			w.guid = ""
			return false, false, nil
		}
		if err != nil {
			w.setOwnerID("")
			return true, false, err
		}
		go w.ownWatcher(watch, w.GetID())
	}
	if !w.IsOwner() {
		return w.bugs.Has("W13"), false, nil // BUG: W13 the own znode is missing: no watch and no new znode
	}
	if w.callback != nil {
		w.callback.LockAcquired()
	}
	return true, true, nil
}

// await sets the watch on the predecessor.
func (w *WriteLock) await(predecessor string) (done, owner bool, err error) {
	var watch <-chan zk.Event
	if w.bugs.Has("W1") { // BUG: W1 also when it is gone already: nobody will wake us, the list must be read again
		_, _, watch, err = w.zookeeper.ExistsW(predecessor)
	} else {
		_, _, watch, err = w.zookeeper.GetW(predecessor)
	}
	if errors.Is(err, zk.ErrNoNode) {
		return false, false, nil
	}
	if err == nil {
		go w.lockWatcher(watch, w.guid)
	}
	return true, false, err
}

// Lock attempts to acquire the exclusive write lock, returning whether or not it was acquired. Note that the
// exclusive lock may be acquired some time later after this method has been invoked due to the current lock owner
// going away.
func (w *WriteLock) Lock() (bool, error) {
	defer w.monitor.enter()()
	owner, err := w.lock()
	if err != nil && !w.bugs.Has("W11") { // BUG: W11 the znode stays in the queue, and nobody watches
		w.giveUp()
	}
	return owner, err
}

// giveUp removes a znode that the caller of Lock was not told of.
func (w *WriteLock) giveUp() {
	w.repeat(retryCount, func() (bool, error) { return true, w.removeOwn() })
	w.setID("")
	w.guid = ""
}

func (w *WriteLock) removeOwn() error {
	if _, err := w.zookeeper.Sync(w.dir); err != nil {
		return err
	}
	names, _, err := w.zookeeper.Children(w.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if w.guid != "" && strings.HasPrefix(name, w.prefix()) {
			return w.zookeeper.Delete(w.dir+"/"+name, -1)
		}
	}
	return nil
}

func (w *WriteLock) lock() (bool, error) {
	if w.closed.Load() {
		return false, nil
	}
	for {
		w.ensurePathExists(w.dir)
		owner, err := w.retryOperation(w.execute)
		if w.bugs.Has("W0") || !errors.Is(err, zk.ErrNoNode) { // BUG: W0 others have removed the directory
			return owner, err
		}
	}
}

// GetDir returns the parent directory used for locks.
func (w *WriteLock) GetDir() string { return w.dir }

// IsOwner returns true if this node is the owner of the lock (or the leader).
func (w *WriteLock) IsOwner() bool {
	w.refs.Lock()
	defer w.refs.Unlock()
	return w.id != "" && w.ownerID != "" && w.id == w.ownerID // BUG: W7 neither is cleared when the session expires
}

// GetID returns the path of this lock's znode, "" if there is none.
func (w *WriteLock) GetID() string {
	w.refs.Lock()
	defer w.refs.Unlock()
	return w.id
}

func (w *WriteLock) setID(id string) {
	w.refs.Lock()
	defer w.refs.Unlock()
	w.id = id
}

func (w *WriteLock) setOwnerID(id string) {
	w.refs.Lock()
	defer w.refs.Unlock()
	w.ownerID = id
}
