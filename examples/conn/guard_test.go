package conn

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

func TestGuard(t *testing.T) {
	sim.Check(t, workload.Of(workload.Lock, func(c *zk.Conn, path string) workload.Locker { return NewGuard(c, path) }),
		sim.WithFaults("none"), sim.WithEpisodes(100))
}

func TestService(t *testing.T) {
	sim.Check(t, workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		return NewService(s.Addresses, path, s.Option)
	}), sim.WithFaults("none"), sim.WithEpisodes(100))
}
