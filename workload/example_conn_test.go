package workload_test

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// MyConn is what MyLock needs of a connection, which a *zk.Conn has. Of zktorture it knows nothing.
type MyConn interface {
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
}

// MyLock is held by the client that made the znode.
type MyLock struct {
	conn MyConn
	path string
}

func New(c MyConn, path string) *MyLock { return &MyLock{c, path} }

func (l *MyLock) Lock(ctx context.Context) error {
	for {
		_, err := l.conn.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err != zk.ErrNodeExists {
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

func (l *MyLock) Unlock(context.Context) error { return l.conn.Delete(l.path, -1) }

// A recipe over an interface of its own, with some methods of *zk.Conn, is tortured as it is.
func ExampleLock_ownInterface() {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return New(c, path) })
	torture := func(faults world.Faults) {
		result, err := sim.Run(context.Background(), w, sim.Config{Episodes: 300, Faults: faults, NoFaultsAtAll: true})
		fmt.Println(faults, result.Verdict, err)
	}
	torture(world.NoFaults)
	torture(world.Expiry)
	// Output:
	// none ok <nil>
	// expiry violation <nil>
}
