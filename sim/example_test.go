package sim_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// smallLock queues with an ephemeral sequential znode, and whoever is first has the lock. It does
// not deal with lost replies: then it may leave its znode behind.
type smallLock struct {
	conn recipes.Conn
	path string
	own  string
}

var errGone = errors.New("the znode is gone: the session has expired")

func (l *smallLock) Lock(ctx context.Context) (err error) {
	if _, err := l.conn.Create(l.path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
		return err
	}
	l.own, err = l.conn.Create(l.path+"/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	for err == nil {
		var before string
		if before, err = l.predecessor(); err == nil && before == "" {
			return nil
		}
		if err == nil {
			err = l.await(ctx, before)
		}
	}
	if ctx.Err() != nil {
		l.Unlock(ctx)
	}
	return err
}

// predecessor returns the znode right before the own one, "" if that is the first.
func (l *smallLock) predecessor() (string, error) {
	names, _, err := l.conn.Children(l.path)
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) })
	switch i := slices.Index(names, l.own[len(l.path)+1:]); {
	case err != nil:
		return "", err
	case i < 0:
		return "", errGone
	case i == 0:
		return "", nil
	default:
		return l.path + "/" + names[i-1], nil
	}
}

// await waits for the deletion of a znode. If it is gone already there is nothing to wait for; GetW
// then leaves no watch behind, as ExistsW would.
func (l *smallLock) await(ctx context.Context, path string) error {
	_, _, deleted, err := l.conn.GetW(path)
	if err == zk.ErrNoNode {
		return nil
	} else if err != nil {
		return err
	}
	select {
	case <-deleted:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (l *smallLock) Unlock(context.Context) error {
	if err := l.conn.Delete(l.own, -1); err != zk.ErrNoNode {
		return err
	}
	return nil
}

// A lock of one's own in a test: the workload says what is done with it and what must hold, the
// option says what it is promised to survive.
func ExampleCheck() {
	_ = func(t *testing.T) { // func TestSmallLock(t *testing.T)
		sim.Check(t, workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return &smallLock{conn: c, path: path}
		}), sim.WithFaults("expiry,pause,time,cancel"))
	}
}
