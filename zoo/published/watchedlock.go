package published

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// WatchedLock is a lock as one writes it with no more than kazoo's client: a line of znodes, each of which has a
// watch function on the one before, which waits for its deletion. Kazoo's documentation says of such watches that
// they are not kept over a loss of the connection (kazoo#151).
type WatchedLock struct{ contender }

// NewWatchedLock returns a lock; nothing is sent before it is used.
func NewWatchedLock(client recipes.Conn, dir string, bugs Bugs) *WatchedLock {
	return &WatchedLock{newContender(client, dir, "node-", "-", bugs)}
}

// Lock waits until the lock is held.
func (l *WatchedLock) Lock(ctx context.Context) error { return l.orWithdraw(l.lock(ctx)) }

func (l *WatchedLock) lock(ctx context.Context) error {
	return l.waitTurnBy(ctx, rightBefore, func(name string) (bool, error) {
		event, _, err := l.hearOf(ctx, name)
		if event.Type == zk.EventSession && err == nil && l.bugs.Has("X1") { // BUG: X1 the watch ends with that
			<-ctx.Done()
			err = ctx.Err()
		}
		return false, err
	})
}
