package foreign

import (
	"context"

	"github.com/bytewayio/byteway/cypress"
	"github.com/go-zookeeper/zk"
)

// byteway is cypress.ZkLock2. Its constructor makes the directory, so it is called when that is first needed. Its
// Unlock returns no error.
type byteway struct {
	conn *zk.Conn
	path string
	lock *cypress.ZkLock2
	hold cypress.LockContext
}

func newByteway(c *zk.Conn, path string) any { return &byteway{conn: c, path: path} }

func (l *byteway) Lock(ctx context.Context) (err error) {
	if l.lock == nil {
		if l.lock, err = cypress.NewZkLock2(l.conn, l.path); err != nil {
			return err
		}
	}
	l.hold, err = l.lock.Lock(ctx)
	return err
}

func (l *byteway) Unlock(context.Context) error {
	l.lock.Unlock(l.hold)
	return nil
}
