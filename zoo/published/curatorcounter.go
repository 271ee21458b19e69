package published

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// CuratorCounter is a shared number in the data of one znode. After
// org.apache.curator.framework.recipes.atomic.DistributedAtomicLong and DistributedAtomicValue, Apache Curator 5.4
// (optimistic mode).
type CuratorCounter struct {
	client recipes.Conn
	path   string
	bugs   Bugs
}

// NewCuratorCounter returns a counter; nothing is sent before it is used.
func NewCuratorCounter(client recipes.Conn, path string, bugs Bugs) *CuratorCounter {
	return &CuratorCounter{client, path, bugs}
}

// Get returns the number.
func (c *CuratorCounter) Get(ctx context.Context) (int64, error) {
	if err := catchUp(ctx, c.client, c.path); err != nil {
		return 0, err
	}
	value, _, _, err := c.current(ctx)
	return value, err
}

// Add adds to the number and returns the sum.
func (c *CuratorCounter) Add(ctx context.Context, delta int64) (int64, error) {
	for { // tryOptimistic: tryOnce until it succeeds
		value, version, missing, err := c.current(ctx)
		if err != nil {
			return 0, err
		}
		sum := value + delta
		done, err := c.tryOnce(ctx, []byte(strconv.FormatInt(sum, 10)), version, missing)
		if done || err != nil {
			return sum, err
		}
		if err := pause(ctx); err != nil {
			return 0, err
		}
	}
}

// current reads the number and its version.
func (c *CuratorCounter) current(ctx context.Context) (value int64, version int32, missing bool, err error) {
	var data []byte
	var stat *zk.Stat
	err = retry(ctx, func() error { data, stat, err = c.client.Get(c.path); return err })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return 0, 0, true, nil
	case err != nil:
		return 0, 0, false, err
	}
	if len(data) > 0 {
		value, err = strconv.ParseInt(string(data), 10, 64)
	}
	return value, stat.Version, false, err
}

// tryOnce makes one conditional change; done is false if another client was faster. The client repeats a request
// whose connection was lost by itself (RetryLoop).
func (c *CuratorCounter) tryOnce(ctx context.Context, data []byte, version int32, missing bool) (done bool, err error) {
	lost, err := retryNoting(ctx, func() (err error) { // lost: perhaps only the reply
		if missing {
			return c.create(data)
		}
		_, err = c.client.Set(c.path, data, version)
		return err
	})
	met := errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists)
	switch {
	case err == nil:
		return true, nil
	case met && (lost == nil || c.bugs.Has("C2")): // BUG: C2 the one who was faster may have been the lost try
		return false, nil
	case lost != nil:
		return false, &recipes.UnknownOutcomeError{Op: "add", Path: c.path, Data: data, Err: err}
	}
	return false, err
}

// create makes the znode with the first number in it, and those above it.
func (c *CuratorCounter) create(data []byte) error {
	if i := strings.LastIndexByte(c.path, '/'); i > 0 {
		if err := ensurePath(c.client, c.path[:i]); err != nil {
			return err
		}
	}
	_, err := c.client.Create(c.path, data, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	return err
}
