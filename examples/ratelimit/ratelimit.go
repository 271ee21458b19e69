// Package ratelimit grants at most some number of permits in any window of time, over all clients, by the servers'
// clock. It is an example of a recipe of one's own, and ratelimit_test.go of how such a recipe is tested.
package ratelimit

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// Limiter grants at most most permits in any window. A grant is a znode, which is not ephemeral: what was granted
// counts, also when who had it is no more.
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

// NewCareless returns one that looks before it grants, and not after: what it sees may be old, and others look, too.
func NewCareless(c recipes.Conn, path string, most int, window time.Duration) *Limiter {
	l := New(c, path, most, window)
	l.careless = true
	return l
}

// Allow grants a permit, or not, and says when, in milliseconds of the servers' clock. If it fails nothing was granted.
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
		return false, 0, err // nobody removes it while it is new
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

// inTime tells whether less than a window has passed since own was made. Who was slower may have missed what others
// have removed since, own among it.
func (l *Limiter) inTime(own string, made *zk.Stat) (bool, error) {
	now, err := l.conn.Set(own, nil, 0)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil && now.Mtime-made.Ctime < l.window.Milliseconds(), err
}

// add makes a znode of its own, and its parent if that is missing.
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

// before counts the grants that are older than own, but not by a whole window. Those that are older by two it removes.
// It has seen own being made, so its server has all that were made before.
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
