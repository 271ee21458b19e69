package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
)

// Cache is a value in a znode, as one who is told of its changes sees it. After PathChildrenCache of Apache Curator
// (V1, V2), the watchers of sunng87/slacker-cluster (V3) and those of librato/watchconf (V4). It is set as it should be.
type Cache struct {
	*cluster.Cache
	client recipes.Conn
	path   string
	bugs   Bugs

	told  *zk.Stat        // of what was told last
	watch <-chan zk.Event // nil: the value is to be read
}

// NewCache returns a cache; nothing is sent before it is used.
func NewCache(conn recipes.Conn, path string, bugs Bugs) *Cache {
	return &Cache{
		Cache: cluster.NewCache(conn, path), client: conn, path: path, bugs: bugs, told: &zk.Stat{Version: -1},
	}
}

// Next waits for a value that was not told.
func (c *Cache) Next(ctx context.Context) ([]byte, error) {
	for {
		if c.watch != nil {
			event, err := awaitAny(ctx, c.watch)
			if err == nil && event.Type == zk.EventNotWatching && c.bugs.Has("V3") {
				_, err = awaitAny(ctx, nil) // BUG: V3 the watches of a session that has ended are not set again
			}
			if err != nil {
				return nil, err
			}
			c.watch = nil
		}
		value, stat, err := c.read(ctx)
		if err != nil {
			return nil, err
		}
		if stat != nil && c.newer(stat) {
			c.told = stat
			return value, nil
		}
	}
}

// newer reports whether what was read is to be told.
func (c *Cache) newer(stat *zk.Stat) bool {
	switch {
	case c.bugs.Has("V1"):
		return stat.Version != c.told.Version // BUG: V1 one that was made anew has the same
	case c.bugs.Has("V2"):
		return stat.Mzxid >= c.told.Mzxid // BUG: V2 a look need not find anything new
	}
	return stat.Mzxid > c.told.Mzxid
}

// read reads the value, nil if it is missing, and watches it.
func (c *Cache) read(ctx context.Context) (value []byte, stat *zk.Stat, err error) {
	apart := c.bugs.Has("V4")
	for {
		c.watch = nil
		err = retry(ctx, func() (err error) {
			if apart {
				value, stat, err = c.client.Get(c.path)
			} else {
				value, stat, c.watch, err = c.client.GetW(c.path)
			}
			return err
		})
		missing := errors.Is(err, zk.ErrNoNode)
		if !missing && (err != nil || !apart) {
			return value, stat, err
		}
		exists := false // BUG: V4 what changes in between is not told
		err = retry(ctx, func() (err error) { exists, _, c.watch, err = c.client.ExistsW(c.path); return err })
		switch {
		case err != nil || missing && !exists:
			return nil, nil, err
		case !missing:
			return value, stat, nil
		}
	}
}
