package published

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// LockListener is called when a lock is acquired and released. After
// org.apache.zookeeper.recipes.lock.LockListener, Apache ZooKeeper 3.4.6.
type LockListener interface {
	LockAcquired()
	LockReleased()
}

// WriteLock is a protocol to implement an exclusive write lock or to elect a leader. You invoke
// Lock to start the process of grabbing the lock; you may get the lock then or it may be some time
// later. You can register a listener so that you are invoked when you get the lock; otherwise you
// can ask if you have the lock by calling IsOwner.
//
// After org.apache.zookeeper.recipes.lock.WriteLock, Apache ZooKeeper 3.4.6, as republished.
type WriteLock struct {
	*ProtocolSupport
	dir  string
	data []byte

	monitor monitor // what synchronized methods hold

	idName      ZNodeName
	lastChildID string

	refs     sync.Mutex // makes the references below as atomic as Java's
	id       string     // "" is null
	ownerID  string     // "" is null
	callback LockListener
}

// NewWriteLock returns a lock. acl nil lets everybody do everything; callback may be nil.
func NewWriteLock(zookeeper recipes.Conn, dir string, acl []zk.ACL, callback LockListener) *WriteLock {
	w := &WriteLock{
		ProtocolSupport: NewProtocolSupport(zookeeper), dir: dir, data: []byte{0x12, 0x34},
		monitor: newMonitor(), callback: callback,
	}
	if acl != nil {
		w.SetACL(acl)
	}
	return w
}

// GetLockListener returns the current listener.
func (w *WriteLock) GetLockListener() LockListener {
	w.refs.Lock()
	defer w.refs.Unlock()
	return w.callback
}

// SetLockListener registers a different listener.
func (w *WriteLock) SetLockListener(callback LockListener) {
	w.refs.Lock()
	defer w.refs.Unlock()
	w.callback = callback
}

// Unlock removes the lock or associated znode if you no longer require the lock. This also removes
// your request in the queue for locking in case you do not already hold the lock.
func (w *WriteLock) Unlock() error {
	defer w.monitor.enter()()
	if w.isClosed() || w.GetID() == "" {
		return nil
	}
	// We don't need to retry this operation in the case of failure as ZooKeeper will remove
	// ephemeral files and we don't want to hang when closing if we cannot reconnect.
	defer w.released()
	err := w.zookeeper.Delete(w.GetID(), -1)
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return fmt.Errorf("delete %s: %w", w.GetID(), err)
}

// released is the finally block of Unlock.
func (w *WriteLock) released() {
	if callback := w.GetLockListener(); callback != nil {
		callback.LockReleased() // BUG: W5 also when the delete has failed; W16 also for a mere waiter
	}
	w.setID("") // BUG: W5 nobody can delete the znode any more; W4 a watch on the predecessor stays armed
}

// lockWatcher is called on the watch of my predecessor.
func (w *WriteLock) lockWatcher(watch <-chan zk.Event) {
	event := <-watch
	if errors.Is(event.Err, zk.ErrClosing) {
		return // Java's client tells nobody
	}
	// Let's either become the leader or watch the new/updated node.
	w.Lock() // BUG: W12 an error is only logged; BUG: W4 also after Unlock; BUG: W6 session events too, in Java
}

// findPrefixInChildren finds out if we have been created earlier; if not it creates our node.
func (w *WriteLock) findPrefixInChildren(prefix string) error {
	names, _, err := w.zookeeper.Children(w.dir) // BUG: W8, W9 no sync before: the server may be behind
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) { // BUG: W3 any WriteLock of this session has that prefix
			w.setID(w.dir + "/" + name)
			return nil
		}
	}
	id, err := w.zookeeper.Create(w.dir+"/"+prefix, w.data, zk.FlagEphemeralSequential, w.ACL())
	if err == nil {
		w.setID(id)
	}
	return err
}

// execute is the command that is run and retried for actually obtaining the lock.
func (w *WriteLock) execute() (bool, error) {
	for {
		if w.GetID() == "" {
			prefix := fmt.Sprintf("x-%d-", w.zookeeper.SessionID()) // BUG: W15 0 before the first connection
			// Let's try to look up the current ID if we failed in the middle of creating the znode.
			if err := w.findPrefixInChildren(prefix); err != nil {
				return false, err
			}
			w.idName = NewZNodeName(w.GetID())
		}
		names, _, err := w.zookeeper.Children(w.dir)
		if err != nil {
			return false, err
		}
		if len(names) == 0 {
			// No children when we've just created one! Let's force the recreation of the id.
			w.setID("") // BUG: W13 only if there is nobody else, not whenever the own znode is missing
			continue
		}
		return w.judge(sortedSet(w.dir, names))
	}
}

// judge is the part of execute that follows the sorting.
func (w *WriteLock) judge(sortedNames []ZNodeName) (bool, error) {
	w.setOwnerID(sortedNames[0].Name())
	lessThanMe := headSet(sortedNames, w.idName)
	if len(lessThanMe) > 0 {
		w.lastChildID = lessThanMe[len(lessThanMe)-1].Name()
		_, _, watch, err := w.zookeeper.ExistsW(w.lastChildID)
		if err != nil {
			return false, err
		}
		go w.lockWatcher(watch)
		return false, nil // BUG: W1 also when it is gone already: nobody will wake us, the list must be read again
	}
	if w.IsOwner() {
		if callback := w.GetLockListener(); callback != nil {
			callback.LockAcquired()
		}
		return true, nil
	}
	return false, nil // BUG: W13 the own znode is missing: no watch and no new znode
}

// Lock attempts to acquire the exclusive write lock, returning whether or not it was acquired.
// Note that the exclusive lock may be acquired some time later after this method has been invoked
// due to the current lock owner going away.
func (w *WriteLock) Lock() (bool, error) {
	defer w.monitor.enter()() // BUG: W16 no owner and no count: a second caller is told that it holds the lock
	if w.isClosed() {
		return false, nil
	}
	w.ensurePathExists(w.dir)
	return w.retryOperation(w.execute)
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

// monitor is held across calls to ZooKeeper. It is a channel because goroutines that wait for a
// sync.Mutex do not count as blocked in a simulation (testing/synctest).
type monitor chan struct{}

func newMonitor() monitor { return make(monitor, 1) }

// enter returns the function that leaves.
func (m monitor) enter() func() {
	m <- struct{}{}
	return func() { <-m }
}
