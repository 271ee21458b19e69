// Package mylock has a lock over ZooKeeper.
package mylock

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// Lock is a queue of ephemeral znodes below dir. The one that was created first holds the lock.
type Lock struct {
	conn recipes.Conn
	dir  string
	name string // of the own znode
}

// New returns a lock on dir.
func New(conn recipes.Conn, dir string) *Lock { return &Lock{conn: conn, dir: dir} }

// Lock waits until the lock is held.
func (l *Lock) Lock(ctx context.Context) error {
	if err := l.enqueue(); err != nil {
		return err
	}
	for {
		queue, err := l.list()
		if err != nil {
			return err
		}
		i := slices.Index(queue, l.name)
		if i == 0 {
			return nil
		}
		if err := l.await(ctx, queue[i-1]); err != nil {
			return err
		}
	}
}

// list returns the queue, in the order of its names.
func (l *Lock) list() ([]string, error) {
	names, _, err := l.conn.Children(l.dir)
	if err != nil {
		return nil, ignore(err, zk.ErrNoNode)
	}
	slices.Sort(names)
	return names, nil
}

// enqueue creates the own znode, and dir if that is missing.
func (l *Lock) enqueue() error {
	path, err := l.conn.CreateProtectedEphemeralSequential(l.dir+"/n-", nil, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNoNode) {
		_, err = l.conn.Create(l.dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if ignore(err, zk.ErrNodeExists) == nil {
			return l.enqueue()
		}
	}
	l.name = strings.TrimPrefix(path, l.dir+"/")
	return err
}

// await waits until a znode is gone.
func (l *Lock) await(ctx context.Context, name string) error {
	_, _, gone, err := l.conn.GetW(l.dir + "/" + name)
	if err != nil {
		return ignore(err, zk.ErrNoNode)
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock releases the lock.
func (l *Lock) Unlock(context.Context) error {
	return ignore(l.conn.Delete(l.dir+"/"+l.name, -1), zk.ErrNoNode)
}

func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
