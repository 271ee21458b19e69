package published

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// CuratorLock is an exclusive lock, without the count of the mutex that is built on it. After
// org.apache.curator.framework.recipes.locks.LockInternals and StandardLockInternalsDriver, and the protection of
// CreateBuilderImpl, Apache Curator 5.4; with L16 before 4b166a09, with L19 before a4ee4b58 (2012).
//
// That the first znode is one's own, and not that of a session which has been replaced, is looked at here only, since
// in Java a client has one session. So is the watch on it: the original leaves the connection's states to the user,
// who takes LOST for the end of the session.
type CuratorLock struct {
	client   recipes.Conn
	basePath string
	ourPath  contender
	expires  time.Duration

	refs  sync.Mutex
	token int64
	lost  chan struct{} // of the hold

	// The steps in which it had bugs.
	uncreated func(err error) error           // what to do by an error of the create
	catchUp   func() error                    // before a lost create is looked for
	leave     func(ctx context.Context) error // after a failed wait
	tokenOf   func(stat *zk.Stat) int64
	unlock    func() error
}

// curatorRetries is what the retry policy of the client allows, at once, as RetryOneTime does.
const curatorRetries = 1

// NewCuratorLock returns a lock; nothing is sent before it is used. The client takes its connection for LOST when it
// has been SUSPENDED for the time expires, which Curator's users set as a share of the session timeout
// (simulatedSessionExpirationPercent).
func NewCuratorLock(client recipes.Conn, path string, expires time.Duration, bugs Bugs) *CuratorLock {
	c := &CuratorLock{
		client: client, basePath: path, ourPath: newContender(client, path, "_c_", "-lock-"), expires: expires,
		lost: make(chan struct{}), tokenOf: func(stat *zk.Stat) int64 { return stat.Czxid },
	}
	c.uncreated, c.unlock = c.ourPath.orWithdraw, c.ourPath.withdraw
	c.catchUp = func() error { _, err := client.Sync(path); return err }
	c.leave = func(context.Context) error { return c.ourPath.withdraw() }
	return mistaken(c, bugs.Has, curatorLockMistakes)
}

var curatorLockMistakes = []mistake[CuratorLock]{
	// BUG: L16 the create may have been carried out, and nobody looks for the znode
	{"L16", func(c *CuratorLock) { c.uncreated = func(err error) error { return err } }},
	{"L19", func(c *CuratorLock) {
		c.leave = func(ctx context.Context) error {
			if ctx.Err() == nil { // BUG: L19 only who is interrupted deletes the znode
				return nil
			}
			return c.ourPath.withdraw()
		}
	}},
	// BUG: L20 no sync before: the server that answers may not have seen the create
	{"L20", func(c *CuratorLock) { c.catchUp = func() error { return nil } }},
	// BUG: L22 nothing by which the resource could tell an old holder from a new one
	{"L22", func(c *CuratorLock) { c.tokenOf = func(*zk.Stat) int64 { return 0 } }},
	{"X6", func(c *CuratorLock) {
		c.unlock = func() error {
			if closed(c.Lost()) { // BUG: X6 LOST is a timer of the client: the session may live, and the znode with it
				return nil
			}
			return c.ourPath.withdraw()
		}
	}},
}

// retryLoop sends a request, and again when the connection was lost, as often as the policy allows.
func (c *CuratorLock) retryLoop(request func(first bool) error) error {
	err := request(true)
	for retries := 0; connectionLoss(err) && retries < curatorRetries; retries++ {
		err = request(false)
	}
	return err
}

// Lock waits until the lock is held (acquire).
func (c *CuratorLock) Lock(ctx context.Context) error {
	_, err := c.attemptLock(ctx, true)
	return err
}

// TryLock does not wait (acquire with no time).
func (c *CuratorLock) TryLock(ctx context.Context) (bool, error) { return c.attemptLock(ctx, false) }

func (c *CuratorLock) attemptLock(ctx context.Context, wait bool) (hasTheLock bool, err error) {
	for ctx.Err() == nil {
		if err := c.createsTheLock(); err != nil {
			return false, err
		}
		hasTheLock, err = c.internalLockLoop(ctx, wait)
		if !errors.Is(err, zk.ErrNoNode) {
			return hasTheLock, err
		}
		// The znode is missing. This can happen when the session expires, so just try it all again, in the original
		// if the retry policy allows it.
	}
	return false, ctx.Err()
}

// createsTheLock makes the own znode, with protection.
func (c *CuratorLock) createsTheLock() error {
	c.ourPath.identify()
	err := c.retryLoop(func(first bool) error {
		if !first {
			if found, err := c.findProtectedNode(); found || err != nil {
				return err
			}
			if c.ourPath.session != c.client.SessionID() {
				c.ourPath.identify()
			}
		}
		return c.create()
	})
	return c.uncreated(err)
}

func (c *CuratorLock) create() error {
	// creatingParentContainersIfNeeded
	path, err := createUnder(c.client, c.basePath, c.ourPath.stem(), zk.FlagEphemeralSequential)
	if err == nil {
		c.ourPath.path = path
	}
	return err
}

// findProtectedNode looks for what a create has made whose reply was lost.
func (c *CuratorLock) findProtectedNode() (bool, error) {
	if err := c.catchUp(); err != nil {
		return false, err
	}
	names, _, err := c.client.Children(c.basePath)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return false, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, c.ourPath.stem()) {
			c.ourPath.path = c.basePath + "/" + name
			return true, nil
		}
	}
	return false, nil
}

// internalLockLoop waits until the own znode is the first. If it fails it deletes it.
func (c *CuratorLock) internalLockLoop(ctx context.Context, wait bool) (haveTheLock bool, err error) {
	for err == nil {
		var pathToWatch string
		haveTheLock, pathToWatch, err = c.getsTheLock(ctx)
		switch {
		case haveTheLock:
			return true, nil
		case err != nil:
		case !wait:
			return false, c.ourPath.withdraw()
		default:
			err = c.watch(ctx, c.basePath+"/"+pathToWatch)
		}
	}
	return false, errors.Join(err, c.leave(ctx))
}

// getsTheLock reports whether the own znode is the first, else which is right before it. It returns zk.ErrNoNode if it
// is missing.
func (c *CuratorLock) getsTheLock(ctx context.Context) (getsTheLock bool, pathToWatch string, err error) {
	var children []string
	err = c.retryLoop(func(bool) (err error) { children, _, err = c.client.Children(c.basePath); return err })
	if err != nil {
		return false, "", err
	}
	sorted, err := c.ourPath.order(ctx, children)
	if err != nil {
		return false, "", err
	}
	for i, child := range sorted {
		switch {
		case c.basePath+"/"+child.name != c.ourPath.path:
		case i > 0:
			return false, sorted[i-1].name, nil
		default:
			err := c.hold()
			return err == nil, "", err
		}
	}
	return false, "", zk.ErrNoNode
}

// watch waits for a znode to go.
func (c *CuratorLock) watch(ctx context.Context, path string) error {
	// Use getData instead of exists to avoid leaving unneeded watchers.
	var watcher <-chan zk.Event
	err := c.retryLoop(func(bool) (err error) { _, _, watcher, err = c.client.GetW(path); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil // it has been deleted: try to acquire again
	}
	if err == nil {
		_, err = c.ourPath.hear(ctx, watcher)
	}
	return err
}

// hold begins a hold. It returns zk.ErrNoNode if the znode is not that of this session.
func (c *CuratorLock) hold() error {
	var stat *zk.Stat
	var watcher <-chan zk.Event
	err := c.retryLoop(func(bool) (err error) { _, stat, watcher, err = c.client.GetW(c.ourPath.path); return err })
	if err == nil && !c.ourPath.owned(stat) {
		err = zk.ErrNoNode
	}
	if err != nil {
		return err
	}
	lost := make(chan struct{})
	c.refs.Lock()
	defer c.refs.Unlock()
	c.token, c.lost = c.tokenOf(stat), lost
	go c.connectionStates(watcher, lost)
	return nil
}

// connectionStates closes lost when the own znode is gone, or when the connection has been suspended for so long that
// its session is taken to have expired.
func (c *CuratorLock) connectionStates(watcher <-chan zk.Event, lost chan struct{}) {
	defer close(lost)
	var timer <-chan time.Time
	for {
		select {
		case <-timer: // LOST
			return
		case event := <-watcher:
			switch {
			case event.Type != zk.EventSession || event.State == zk.StateExpired:
				return
			case event.State == zk.StateDisconnected: // SUSPENDED
				timer = time.After(c.expires)
			default: // RECONNECTED
				timer = nil
			}
		}
	}
}

// Unlock releases the lock.
func (c *CuratorLock) Unlock(context.Context) error {
	return c.unlock()
}

// Lost returns a channel that is closed when the hold is lost.
func (c *CuratorLock) Lost() <-chan struct{} {
	c.refs.Lock()
	defer c.refs.Unlock()
	return c.lost
}

// Token returns the transaction that created the znode of the hold.
func (c *CuratorLock) Token() int64 {
	c.refs.Lock()
	defer c.refs.Unlock()
	return c.token
}

// CuratorSemaphore is a counting semaphore. After org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2,
// Apache Curator 2: with S4 before 8dc0283e (2016), with S5 before CURATOR-315 was fixed. The holder of the lock,
// one at a time, adds a lease and waits until there are not too many.
type CuratorSemaphore struct {
	client    recipes.Conn
	path      string
	maxLeases int
	bugs      Bugs

	leases []contender // of this acquisition
}

// The directories of a CuratorSemaphore.
const (
	lockParent  = "/locks"
	leaseParent = "/leases"
)

// NewCuratorSemaphore returns a semaphore; nothing is sent before it is used.
func NewCuratorSemaphore(client recipes.Conn, path string, maxLeases int, bugs Bugs) *CuratorSemaphore {
	return &CuratorSemaphore{client: client, path: path, maxLeases: maxLeases, bugs: bugs}
}

// errMissingNode is RETRY_DUE_TO_MISSING_NODE.
var errMissingNode = errors.New("sequential path not found")

// Acquire waits until a lease is held.
func (s *CuratorSemaphore) Acquire(ctx context.Context) error {
	s.leases = nil
	for {
		err := s.acquire1Lease(ctx)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, errMissingNode):
			return errors.Join(err, s.returnAll())
		case !s.bugs.Has("S5"): // BUG: S5 the lease that is missing stays the one that will be returned
			s.leases = nil
		}
	}
}

// acquire1Lease acquires a lease, and makes sure that it is still there when the lock is released.
func (s *CuratorSemaphore) acquire1Lease(ctx context.Context) error {
	lock := newContender(s.client, s.path+lockParent, "_c_", "-lock-")
	err := lockAround(ctx, &lock, func() error { return s.internalAcquire1Lease(ctx, lock.path) })
	if err != nil {
		return err
	}
	held, err := s.leases[len(s.leases)-1].keeps(ctx)
	if err == nil && !held {
		err = errMissingNode
	}
	return err
}

func (s *CuratorSemaphore) internalAcquire1Lease(ctx context.Context, lock string) error {
	leasesPath := s.path + leaseParent
	if err := surePath(ctx, s.client, leasesPath); err != nil {
		return err
	}
	lease := newContender(s.client, leasesPath, "_c_", "-lease-")
	err := lease.enlistUnder(ctx, lock)
	if errors.Is(err, zk.ErrNoNode) {
		return errMissingNode
	}
	s.leases = append(s.leases, lease)
	for err == nil {
		var children []string
		var watcher <-chan zk.Event
		children, _, watcher, err = s.client.ChildrenW(leasesPath)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return errMissingNode
		case err != nil && s.bugs.Has("S4"): // BUG: S4 the lease is there, and nobody knows of it any more
			s.leases = s.leases[:len(s.leases)-1]
		case err != nil:
		case !slices.Contains(children, lease.path[len(leasesPath)+1:]):
			return errMissingNode // the session has expired
		case len(children) <= s.maxLeases:
			return nil
		default:
			_, err = lease.hear(ctx, watcher)
		}
	}
	return err
}

func (s *CuratorSemaphore) returnAll() (err error) {
	for i := range s.leases {
		err = errors.Join(err, s.leases[i].withdraw())
	}
	return err
}

// Release returns the lease: of those that were made, the first.
func (s *CuratorSemaphore) Release(context.Context) error { return s.leases[0].withdraw() }
