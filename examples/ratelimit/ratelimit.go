// Package ratelimit grants at most some number of permits in any window of time, over all clients, by the servers'
// clock. The package is an example of a user's own recipe, and ratelimit_test.go of its test.
package ratelimit

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// Limiter grants at most most permits in any window. A grant is a persistent znode: it counts even after its client
// is gone.
type Limiter struct {
	conn     recipes.Conn
	path     string
	most     int
	window   time.Duration
	careless bool
}

// New returns a limiter whose grants are below path.
func New(c recipes.Conn, path string, most int, window time.Duration) *Limiter {
	return &Limiter{conn: c, path: path, most: most, window: window}
}

// NewCareless returns a limiter that counts only before it grants. What it reads may be stale, and other clients
// grant concurrently.
func NewCareless(c recipes.Conn, path string, most int, window time.Duration) *Limiter {
	l := New(c, path, most, window)
	l.careless = true
	return l
}

// Allow grants a permit or refuses it, and returns the time, in milliseconds of the servers' clock. If it fails
// nothing was granted.
func (l *Limiter) Allow() (granted bool, at int64, err error) {
	if l.careless {
		if before, err := l.before(&zk.Stat{Czxid: 1<<63 - 1, Ctime: 0}); err != nil || before >= l.most {
			return false, 0, err
		}
	}
	own, err := l.add()
	if err != nil {
		return false, 0, err
	}
	there, stat, err := l.conn.Exists(own)
	if err != nil || !there {
		return false, 0, err // no client removes a new grant
	}
	if l.careless {
		return true, stat.Ctime, nil
	}
	before, err := l.before(stat)
	if err == nil && before < l.most {
		granted, err = l.inTime(own, stat)
		return granted, stat.Ctime, err
	}
	if gone := l.conn.Delete(own, -1); err == nil && !errors.Is(gone, zk.ErrNoNode) {
		err = gone
	}
	return false, stat.Ctime, err
}

// inTime reports whether less than a window has passed since own was created. A slower client may miss grants that
// others have removed since, its own among them.
func (l *Limiter) inTime(own string, made *zk.Stat) (bool, error) {
	now, err := l.conn.Set(own, nil, 0)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil && now.Mtime-made.Ctime < l.window.Milliseconds(), err
}

// add creates a znode for a grant, and its parent if that is missing.
func (l *Limiter) add() (own string, err error) {
	own, acl := l.path+"/grant-"+recipes.NewGUID(l.conn), zk.WorldACL(zk.PermAll)
	for {
		_, err = l.conn.Create(own, nil, 0, acl)
		if !errors.Is(err, zk.ErrNoNode) {
			return own, err
		}
		if _, err := l.conn.Create(l.path, nil, 0, acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return "", err
		}
	}
}

// before counts the grants older than own by less than a window, and removes those older by two. The server has
// applied own's creation, so it has all earlier grants.
func (l *Limiter) before(own *zk.Stat) (n int, err error) {
	names, _, err := l.conn.Children(l.path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return 0, err
	}
	for _, name := range names {
		there, stat, err := l.conn.Exists(l.path + "/" + name)
		switch {
		case err != nil:
			return 0, err
		case !there || stat.Czxid >= own.Czxid:
		case stat.Ctime > own.Ctime-l.window.Milliseconds():
			n++
		case stat.Ctime <= own.Ctime-2*l.window.Milliseconds():
			if err := l.conn.Delete(l.path+"/"+name, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return 0, err
			}
		}
	}
	return n, nil
}
