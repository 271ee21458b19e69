package foreign

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/openconfig/gnmi-gateway/gateway/locking"
)

// gnmi is the lock by which the gateways of a cluster share the targets among them.
type gnmi struct{ lock locking.DistributedLocker }

func newGNMI(c *zk.Conn, path string) any {
	return gnmi{locking.NewZookeeperNonBlockingLock(c, path, "member", zk.WorldACL(zk.PermAll))}
}

// TryLock may return true with an error: "If the lock is already acquired return true and a deadlock error."
func (l gnmi) TryLock(context.Context) (bool, error) { return l.lock.Try() }

// Lock tries once a second whatever the error, as the gateway does (gateway/connections/state.go).
func (l gnmi) Lock(ctx context.Context) error {
	for {
		if got, _ := l.lock.Try(); got {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l gnmi) Unlock(context.Context) error { return lost(l.lock.Unlock(), zk.ErrNotLocked) }

func (l gnmi) IsOwner() bool { return l.lock.LockAcquired() }
