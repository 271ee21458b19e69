package published

import (
	"context"
	"errors"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// KazooCounter is a shared number in the data of one znode. After kazoo.recipe.counter.Counter, kazoo 2.8
// (python-zk/kazoo, kazoo/recipe/counter.py).
type KazooCounter struct {
	client recipes.Conn
	path   string
	bugs   Bugs
}

// NewKazooCounter returns a counter; nothing is sent before it is used.
func NewKazooCounter(client recipes.Conn, path string, bugs Bugs) *KazooCounter {
	return &KazooCounter{client, path, bugs}
}

// Get returns the number.
func (c *KazooCounter) Get(ctx context.Context) (int64, error) {
	if !c.bugs.Has("C9") { // BUG: C9 the server that answers may lag: it has to catch up first
		see := catchUpByWrite
		if c.bugs.Has("X5") { // BUG: X5 a leader that has been deposed and has not noticed answers a sync, and no write
			see = catchUp
		}
		if err := see(ctx, c.client, c.path); err != nil {
			return 0, err
		}
	}
	value, _, err := c.value(ctx)
	return value, err
}

// Add adds to the number and returns the sum.
func (c *KazooCounter) Add(ctx context.Context, delta int64) (int64, error) {
	for { // client.retry(self._inner_change, value)
		sum, err := c.innerChange(ctx, delta)
		switch {
		case errors.Is(err, zk.ErrBadVersion): // raise ForceRetryError()
		case connectionLoss(err) && c.bugs.Has("C1"): // BUG: C1 the set that is repeated may have happened
		case connectionLoss(err):
			return 0, &recipes.UnknownOutcomeError{Op: "add", Path: c.path, Err: err}
		default:
			return sum, err
		}
		if err := pause(ctx); err != nil {
			return 0, err
		}
	}
}

func (c *KazooCounter) innerChange(ctx context.Context, delta int64) (int64, error) {
	value, version, err := c.value(ctx)
	if err != nil {
		return 0, err
	}
	sum := value + delta
	_, err = c.client.Set(c.path, []byte(strconv.FormatInt(sum, 10)), version)
	return sum, err
}

// value reads the number and its version, and makes the znode if it is missing.
func (c *KazooCounter) value(ctx context.Context) (value int64, version int32, err error) {
	var data []byte
	var stat *zk.Stat
	err = retry(ctx, func() error {
		if err := ensurePath(c.client, c.path); err != nil {
			return err
		}
		data, stat, err = c.client.Get(c.path)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	if len(data) > 0 {
		value, err = strconv.ParseInt(string(data), 10, 64)
	}
	return value, stat.Version, err
}
