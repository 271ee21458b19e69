package cluster

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
	"github.com/zktorture/zktorture/recipes"
)

// Cache is a value in a znode, as one process is told of it: a configuration, the address of a leader.
//
// # Promises
//
// Next returns a value that was the znode's after the one that it has returned before, and each change of it once. It may
// pass over values that were replaced meanwhile, but not over the last one, whatever became of watches and sessions. A
// znode that is missing has no value: Next waits for the next one.
//
// # Cost
//
// Next is one request if it need not wait, and one more after each event. A Cache has one watch, which a Next that gives
// up leaves to the next one. It has no goroutine.
//
// # Errors
//
// The context's error when it ended; a request that hangs is not cut short. [recipes.ErrClosed]: the connection was closed
// while Next waited; [recipes.ErrNoAnswer]: Next has read in vain for long. Set and Unset do not repeat a request that was
// lost: [recipes.ErrUnknownOutcome] says that it may have been carried out.
//
// # Wrong versions that tempt
//
//   - A read, and then a watch: what changes in between is not told.
//   - The version as the order: one that was deleted and made again begins anew.
//   - To tell whatever was read: what woke it may be the end of a session, and no change.
//   - To wait for the event of a change only: the watch of a session that has expired gets another one, its last.
//
// A Cache is for one goroutine.
type Cache struct {
	conn     recipes.Conn
	settings call.Settings
	path     string

	told  int64           // the transaction that wrote what Next has returned last
	watch <-chan zk.Event // that was set with the last read; nil: it has fired
}

// NewCache returns the cache of the znode at a path, whose parent exists. Of the options [recipes.WithACL] and
// [recipes.WithRetry] make a difference.
func NewCache(conn recipes.Conn, path string, opts ...recipes.Option) *Cache {
	return &Cache{conn: conn, settings: call.SettingsOf(opts...), path: path}
}

// Set replaces the value.
func (c *Cache) Set(ctx context.Context, value []byte) error {
	return c.change(ctx, "set", func() error {
		_, err := c.conn.Set(c.path, value, -1)
		if errors.Is(err, zk.ErrNoNode) {
			_, err = c.conn.Create(c.path, value, zk.FlagPersistent, c.settings.ACL)
		}
		return err
	})
}

// Unset removes the value.
func (c *Cache) Unset(ctx context.Context) error {
	return c.change(ctx, "unset", func() error {
		if err := c.conn.Delete(c.path, -1); !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		return nil
	})
}

// change sends a request until it is answered or may have been carried out. The znode exists when somebody else has
// made it meanwhile.
func (c *Cache) change(ctx context.Context, op string, request func() error) error {
	pace := c.retries()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := request()
		switch fate := call.FateOf(err); {
		case errors.Is(err, zk.ErrNodeExists):
		case fate == call.Answered:
			return err
		case fate == call.Unsent:
			if err := pace.Wait(ctx, err); err != nil {
				return err
			}
		default:
			return &recipes.UnknownOutcomeError{Op: op, Path: c.path, Err: err}
		}
	}
}

func (c *Cache) retries() *call.Retries { return &call.Retries{Conn: c.conn, Policy: c.settings.Retry} }

// Next waits for a value that is newer than the last one that it has returned.
func (c *Cache) Next(ctx context.Context) ([]byte, error) {
	pace := c.retries()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.watch != nil {
			if err := c.changed(ctx); err != nil {
				return nil, err
			}
		}
		value, written, err := c.read()
		switch {
		case err == nil && written > c.told:
			c.told = written
			return value, nil
		case call.FateOf(err) != call.Answered:
			if err := pace.Wait(ctx, err); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		default:
			pace = c.retries()
		}
	}
}

// read reads the value, with the transaction that wrote it, 0 if there is none, and watches it.
func (c *Cache) read() (value []byte, written int64, err error) {
	for {
		value, stat, watch, err := c.conn.GetW(c.path)
		if err == nil {
			c.watch = watch
			return value, stat.Mzxid, nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return nil, 0, err
		}
		exists, _, watch, err := c.conn.ExistsW(c.path)
		if err != nil {
			return nil, 0, err
		}
		if !exists {
			c.watch = watch
			return nil, 0, nil
		}
	}
}

// changed waits until the watch fires: then the value may be another one, or the session is.
func (c *Cache) changed(ctx context.Context) error {
	var event zk.Event
	select {
	case event = <-c.watch:
	default:
		select {
		case event = <-c.watch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.watch = nil
	if errors.Is(event.Err, zk.ErrClosing) {
		return recipes.ErrClosed
	}
	return nil
}
