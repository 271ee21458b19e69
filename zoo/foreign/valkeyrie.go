package foreign

import (
	"context"

	"github.com/go-zookeeper/zk"
	"github.com/kvtools/valkeyrie/store"
	"github.com/kvtools/zookeeper"
)

// valkeyrie is a lock of valkeyrie's store for ZooKeeper. The context of its Lock is that of the hold; to wait cannot
// be interrupted.
type valkeyrie struct {
	locker store.Locker
	lost   <-chan struct{}
	done   context.CancelFunc
}

func newValkeyrie(c *zk.Conn, path string) any { return valkeyrieLock(valkeyrieStore(c), path) }

func dialValkeyrie(servers []string, path string) any {
	return valkeyrieLock(made(zookeeper.New(context.Background(), servers, nil)), path)
}

func valkeyrieLock(s store.Store, path string) any {
	return &valkeyrie{locker: made(s.NewLock(context.Background(), path, &store.LockOptions{Value: []byte("owner")}))}
}

// valkeyrieStore is what zookeeper.New makes.
func valkeyrieStore(c *zk.Conn) *zookeeper.Store {
	s := &zookeeper.Store{}
	connected(s, "client", c)
	return s
}

func (l *valkeyrie) Lock(context.Context) (err error) {
	hold, done := context.WithCancel(context.Background())
	l.done = done
	l.lost, err = l.locker.Lock(hold)
	if err != nil {
		done()
	}
	return err
}

func (l *valkeyrie) Unlock(ctx context.Context) error {
	l.done()
	return lost(l.locker.Unlock(ctx), zk.ErrNotLocked, zk.ErrNoNode)
}

func (l *valkeyrie) Lost() <-chan struct{} { return l.lost }
