package foreign

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// goZookeeper is go-zookeeper's zk.Lock. A Lock that waits cannot be interrupted.
type goZookeeper struct{ lock *zk.Lock }

func newGoZookeeper(c *zk.Conn, path string) any {
	return goZookeeper{zk.NewLock(c, path, zk.WorldACL(zk.PermAll))}
}

func (l goZookeeper) Lock(context.Context) error   { return l.lock.Lock() }
func (l goZookeeper) Unlock(context.Context) error { return l.lock.Unlock() }
