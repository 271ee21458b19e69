package published

import (
	"context"
	"errors"
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
	bugs     Bugs

	refs  sync.Mutex
	token int64
	lost  chan struct{} // of the hold
}

// curatorRetries is what the retry policy of the client allows, at once, as RetryOneTime does.
const curatorRetries = 1

// NewCuratorLock returns a lock; nothing is sent before it is used. The client takes its connection for LOST when it
// has been SUSPENDED for the time expires, which Curator's users set as a share of the session timeout
// (simulatedSessionExpirationPercent).
func NewCuratorLock(client recipes.Conn, path string, expires time.Duration, bugs Bugs) *CuratorLock {
	return &CuratorLock{
		client: client, basePath: path, ourPath: newContender(client, path, "_c_", "-lock-", bugs), expires: expires,
		bugs: bugs, lost: make(chan struct{}),
	}
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
	if c.bugs.Has("L16") { // BUG: L16 the create may have been carried out, and nobody looks for the znode
		return err
	}
	return c.ourPath.orWithdraw(err)
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
	if !c.bugs.Has("L20") { // BUG: L20 no sync before: the server that answers may not have seen the create
		if _, err := c.client.Sync(c.basePath); err != nil {
			return false, err
		}
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
	if ctx.Err() != nil || !c.bugs.Has("L19") { // BUG: L19 only who is interrupted deletes the znode
		err = errors.Join(err, c.ourPath.withdraw())
	}
	return false, err
}

// getsTheLock tells whether the own znode is the first, else which is right before it. It returns zk.ErrNoNode if it
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
	c.token, c.lost = stat.Czxid, lost
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
	if c.bugs.Has("X6") { // BUG: X6 LOST is a timer of the client: the session may live, and the znode with it
		select {
		case <-c.Lost():
			return nil
		default:
		}
	}
	return c.ourPath.withdraw()
}

// Lost returns a channel that is closed when the hold is lost.
func (c *CuratorLock) Lost() <-chan struct{} {
	c.refs.Lock()
	defer c.refs.Unlock()
	return c.lost
}

// Token returns the transaction that created the znode of the hold.
func (c *CuratorLock) Token() int64 {
	if c.bugs.Has("L22") { // BUG: L22 nothing by which the resource could tell an old holder from a new one
		return 0
	}
	c.refs.Lock()
	defer c.refs.Unlock()
	return c.token
}
