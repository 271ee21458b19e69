// Package mylock has a lock over ZooKeeper.
package mylock

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// Lock is an ephemeral znode. The client that created it holds the lock.
type Lock struct {
	conn recipes.Conn
	path string
}

// New returns a lock on the znode at path.
func New(conn recipes.Conn, path string) *Lock { return &Lock{conn, path} }

// Lock waits until the lock is held.
func (l *Lock) Lock(ctx context.Context) error {
	for {
		_, err := l.conn.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
		exists, _, gone, err := l.conn.ExistsW(l.path)
		if err != nil {
			return err
		}
		if !exists {
			continue
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Unlock releases the lock.
func (l *Lock) Unlock(context.Context) error {
	err := l.conn.Delete(l.path, -1)
	if errors.Is(err, zk.ErrNoNode) {
		return nil // an earlier delete was carried out, and its reply was lost
	}
	return err
}
