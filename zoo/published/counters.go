package published

import (
	"context"
	"errors"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// number is a shared number in the data of one znode, as a client has read it: with the version of
// the data, and the transaction that set it.
type number struct {
	value   int64
	version int32
	zxid    int64
}

// readNumber reads a number, 0 if there is no data. It returns zk.ErrNoNode if the znode is missing,
// unless makeIt says that it is to be made.
func readNumber(ctx context.Context, client recipes.Conn, path string, makeIt bool) (n number, err error) {
	var data []byte
	var stat *zk.Stat
	err = retry(ctx, func() error {
		if makeIt {
			if err := ensurePath(client, path); err != nil {
				return err
			}
		}
		data, stat, err = client.Get(path)
		return err
	})
	if err != nil {
		return number{}, err
	}
	n.version, n.zxid = stat.Version, stat.Mzxid
	if len(data) > 0 {
		n.value, err = strconv.ParseInt(string(data), 10, 64)
	}
	return n, err
}

func written(value int64) []byte { return []byte(strconv.FormatInt(value, 10)) }

// addUntilDone tries to change a number until it is done; try returns the sum.
func addUntilDone(ctx context.Context, try func() (sum int64, done bool, err error)) (int64, error) {
	for {
		sum, done, err := try()
		if done || err != nil {
			return sum, err
		}
		if err := pause(ctx); err != nil {
			return 0, err
		}
	}
}

// KazooCounter is a shared number in the data of one znode. After kazoo.recipe.counter.Counter,
// kazoo 2.8 (python-zk/kazoo, kazoo/recipe/counter.py).
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
	n, err := readNumber(ctx, c.client, c.path, true)
	return n.value, err
}

// Add adds to the number and returns the sum.
func (c *KazooCounter) Add(ctx context.Context, delta int64) (int64, error) {
	return addUntilDone(ctx, func() (int64, bool, error) { // client.retry(self._inner_change, value)
		sum, err := c.innerChange(ctx, delta)
		switch {
		case errors.Is(err, zk.ErrBadVersion): // raise ForceRetryError()
			return 0, false, nil
		case connectionLoss(err) && c.bugs.Has("C1"): // BUG: C1 the set that is repeated may have happened
			return 0, false, nil
		case connectionLoss(err):
			return 0, true, &recipes.UnknownOutcomeError{Op: "add", Path: c.path, Err: err}
		}
		return sum, true, err
	})
}

func (c *KazooCounter) innerChange(ctx context.Context, delta int64) (int64, error) {
	n, err := readNumber(ctx, c.client, c.path, true)
	if err != nil {
		return 0, err
	}
	_, err = c.client.Set(c.path, written(n.value+delta), n.version)
	return n.value + delta, err
}

// CuratorSharedCount is a shared number in the data of one znode, of which each client keeps what it
// has seen last. After org.apache.curator.framework.recipes.shared.SharedCount and SharedValue,
// Apache Curator 5.5, whose trySetCount is repeated until it succeeds. (Since 5.7 transactions are
// compared, not versions.)
type CuratorSharedCount struct {
	client  recipes.Conn
	path    string
	bugs    Bugs
	current number
}

// uninitialized is the version of a value that has not been read yet.
const uninitialized = -1

// NewCuratorSharedCount returns a counter; nothing is sent before it is used.
func NewCuratorSharedCount(client recipes.Conn, path string, bugs Bugs) *CuratorSharedCount {
	return &CuratorSharedCount{client, path, bugs, number{version: uninitialized}}
}

// Get returns the number.
func (c *CuratorSharedCount) Get(ctx context.Context) (int64, error) {
	if err := catchUpByWrite(ctx, c.client, c.path); err != nil {
		return 0, err
	}
	err := c.readValue(ctx)
	return c.current.value, err
}

// Add adds to the number and returns the sum.
func (c *CuratorSharedCount) Add(ctx context.Context, delta int64) (int64, error) {
	if err := c.readValue(ctx); err != nil {
		return 0, err
	}
	return addUntilDone(ctx, func() (int64, bool, error) {
		sum := c.current.value + delta
		done, err := c.trySetValue(ctx, sum)
		return sum, done, err
	})
}

// trySetValue changes the number unless somebody has changed it since it was read.
func (c *CuratorSharedCount) trySetValue(ctx context.Context, value int64) (done bool, err error) {
	var stat *zk.Stat
	lost, err := retryNoting(ctx, func() (err error) {
		stat, err = c.client.Set(c.path, written(value), c.current.version)
		return err
	})
	switch {
	case err == nil:
		c.updateValue(number{value, stat.Version, stat.Mzxid})
		return true, nil
	case errors.Is(err, zk.ErrBadVersion) && (lost == nil || c.bugs.Has("C4")):
		return false, c.readValue(ctx) // BUG: C4 the one who has changed it may have been the lost try
	case lost != nil:
		return false, &recipes.UnknownOutcomeError{Op: "add", Path: c.path, Data: written(value), Err: err}
	}
	return false, err
}

// updateValue keeps what was read or set, unless it is older than what is known.
func (c *CuratorSharedCount) updateValue(n number) {
	older := n.zxid <= c.current.zxid
	if c.bugs.Has("C3") {
		// BUG: C3 after 2147483647 comes -2147483648: no value is taken up any more, and the version of none matches any
		older = n.version <= c.current.version
	}
	if !older {
		c.current = n
	}
}

// readValue reads the number, and makes the znode if it is missing.
func (c *CuratorSharedCount) readValue(ctx context.Context) error {
	n, err := readNumber(ctx, c.client, c.path, true)
	if err == nil {
		c.updateValue(n)
	}
	return err
}
