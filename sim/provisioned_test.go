package sim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// rooted is a lock that needs a znode which somebody has made for it.
type rooted struct {
	workload.Locker
	conn recipes.Conn
	root string
}

var errUprooted = errors.New("the root is not there")

func (r rooted) Lock(ctx context.Context) error {
	if there, _, err := r.conn.Exists(r.root); err == nil && !there {
		return errUprooted
	}
	return r.Locker.Lock(ctx)
}

// A tree that was made long ago is at every server, and nobody reaps it; else it is reaped.
func TestProvisionedTrees(t *testing.T) {
	testkit.ManyWorlds(t)
	root := func(path string) string { return path + "-root" }
	for _, faults := range []world.Faults{world.Lag, world.Reap} {
		for _, provisioned := range []bool{true, false} {
			want := sim.VerdictOK
			if faults == world.Reap && !provisioned {
				want = sim.VerdictViolation
			}
			options := []workload.Option{workload.SetUp(func(c recipes.Conn, path string) error {
				_, err := c.Create(root(path), nil, 0, zk.WorldACL(zk.PermAll))
				if err == nil {
					_, err = c.Create(root(path)+"/child", nil, 0, zk.WorldACL(zk.PermAll))
				}
				return errors.Join(err, c.Delete(root(path)+"/child", -1))
			})}
			if provisioned {
				options = append(options, workload.Provisioned())
			}
			w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
				return rooted{recipes.NewLock(c, path), c, root(path)}
			}, options...)
			if r := run(t, w, sim.Config{Episodes: 200, Seed: 1, Faults: faults, NoShrink: true}); r.Verdict != want {
				t.Errorf("%v, provisioned: %v: %s %s %v", faults, provisioned, r.Verdict, r.Reason, r.Violations)
			}
		}
	}
}
