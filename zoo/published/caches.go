package published

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
)

// Cache is a value in a znode, as one who is told of its changes sees it. After PathChildrenCache of Apache Curator
// (V1, V2), the watchers of sunng87/slacker-cluster (V3), and SharedValue of Curator
// (V6). It is set as it should be.
type Cache struct {
	*cluster.Cache
	client recipes.Conn
	path   string
	bugs   Bugs

	told    *zk.Stat        // of what was told last
	counted int32           // its version, -1 if an event has said since that it is gone
	watch   <-chan zk.Event // nil: the value is to be read

	mu     sync.Mutex
	latest []byte        // that was read last, if that is by several goroutines
	news   chan struct{} // has room for one; nil before the first Next
}

// NewCache returns a cache; nothing is sent before it is used.
func NewCache(conn recipes.Conn, path string, bugs Bugs) *Cache {
	return &Cache{
		Cache: cluster.NewCache(conn, path), client: conn, path: path, bugs: bugs, told: &zk.Stat{Version: -1}, counted: -1,
	}
}

// Next waits for a value that was not told.
func (c *Cache) Next(ctx context.Context) ([]byte, error) {
	if c.bugs.Has("V5") {
		return c.nextOfSeveral(ctx)
	}
	for {
		if c.watch != nil {
			event, err := awaitAny(ctx, c.watch)
			if err == nil && event.Type == zk.EventNotWatching && c.bugs.Has("V3") {
				_, err = awaitAny(ctx, nil) // BUG: V3 the watches of a session that has ended are not set again
			}
			if err != nil {
				return nil, err
			}
			if event.Type == zk.EventNodeDeleted || event.Type == zk.EventNodeCreated {
				c.counted = -1
			}
			c.watch = nil
		}
		value, stat, err := c.read(ctx)
		if err != nil {
			return nil, err
		}
		if stat != nil && c.newer(stat) {
			c.told, c.counted = stat, stat.Version
			return value, nil
		}
	}
}

// newer reports whether what was read is to be told.
func (c *Cache) newer(stat *zk.Stat) bool {
	switch {
	case c.bugs.Has("V1"):
		return stat.Version != c.told.Version // BUG: V1 one that was made anew has the same
	case c.bugs.Has("V6"): // BUG: V6 after the wrap no version is greater
		return stat.Czxid > c.told.Czxid || stat.Czxid == c.told.Czxid && stat.Version > c.told.Version
	case c.bugs.Has("V7"): // BUG: V7 no event has said so if it came back before the client did
		return stat.Version != c.counted
	case c.bugs.Has("V2"):
		return stat.Mzxid >= c.told.Mzxid // BUG: V2 a look need not find anything new
	}
	return stat.Mzxid > c.told.Mzxid
}

// read reads the value, nil if it is missing, and watches it.
func (c *Cache) read(ctx context.Context) (value []byte, stat *zk.Stat, err error) {
	for {
		c.watch = nil
		err = retry(ctx, func() (err error) { value, stat, c.watch, err = c.client.GetW(c.path); return err })
		if !errors.Is(err, zk.ErrNoNode) {
			return value, stat, err
		}
		exists := false
		err = retry(ctx, func() (err error) { exists, _, c.watch, err = c.client.ExistsW(c.path); return err })
		if err != nil || !exists {
			return nil, nil, err
		}
	}
}

// nextOfSeveral is Next of a cache that is filled by several goroutines: one follows the value, and each call has one
// more read it at once.
func (c *Cache) nextOfSeveral(ctx context.Context) ([]byte, error) {
	if c.news == nil {
		c.news = make(chan struct{}, 1)
		go c.follow()
	}
	go func() {
		var value []byte
		err := retry(context.Background(), func() (err error) { value, _, err = c.client.Get(c.path); return err })
		if err == nil {
			c.fill(value)
		}
	}()
	select {
	case <-c.news:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.latest, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Cache) follow() {
	for {
		value, stat, err := c.read(context.Background())
		if err != nil {
			return
		}
		if stat != nil {
			c.fill(value)
		}
		if event := <-c.watch; event.Err == zk.ErrClosing {
			return
		}
	}
}

// fill takes what a goroutine has read.
func (c *Cache) fill(value []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if string(value) == string(c.latest) {
		return
	}
	c.latest = value // BUG: V5 it may have been read before what is there
	select {
	case c.news <- struct{}{}:
	default:
	}
}
