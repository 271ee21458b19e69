package workload_test

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// VendorLock is go-zookeeper's own lock, as a workload calls locks.
type VendorLock struct{ lock *zk.Lock }

func (v VendorLock) Lock(context.Context) error   { return v.lock.Lock() }
func (v VendorLock) Unlock(context.Context) error { return v.lock.Unlock() }

// Code with a concrete *zk.Conn is tortured as it is. This lock keeps believing in a znode that has gone with its
// session, and fails when it is unlocked.
func ExampleOf() {
	w := workload.Of(workload.Lock, func(c *zk.Conn, path string) workload.Locker {
		return VendorLock{zk.NewLock(c, path, zk.WorldACL(zk.PermAll))}
	})
	torture := func(faults world.Faults) {
		result, err := sim.Run(context.Background(), w, sim.Config{Episodes: 40, Faults: faults, NoFaultsAtAll: true})
		fmt.Println(faults, result.Verdict, err)
	}
	torture(world.NoFaults)
	torture(world.Expiry)
	// Output:
	// none ok <nil>
	// expiry violation <nil>
}
