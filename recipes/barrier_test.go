package recipes_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func TestBarrier(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, other := connect(t, servers), connect(t, servers)
		gate, same := recipes.NewBarrier(c, "/deep/down/gate"), recipes.NewBarrier(other, "/deep/down/gate")
		must(t, gate.Wait(t.Context())) // open as long as nobody has shut it
		must(t, gate.Open(t.Context()))
		must(t, same.Shut(t.Context()))
		must(t, same.Shut(t.Context()))
		waiting := begin(t, gate.Wait)
		waiting.waits(t)
		servers.Expire(c.Conn)
		waiting.waits(t)
		given := begin(t, gate.Wait)
		given.cancel()
		given.returns(t, context.Canceled)
		must(t, same.Open(t.Context()))
		waiting.returns(t, nil)
		shut := begin(t, func(ctx context.Context) error { must(t, gate.Shut(ctx)); return gate.Wait(ctx) })
		shut.waits(t)
		c.Close()
		shut.returns(t, recipes.ErrClosed)
	})
}

// Whatever is lost, an Open opens once: not again after somebody has shut the barrier.
func TestBarrierOpensOnce(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		gate, other := newSetter(t, servers), recipes.NewBarrier(connect(t, servers), "/gate")
		b := recipes.NewBarrier(gate, "/gate")
		must(t, other.Shut(t.Context()))
		gate.lost = func() { must(t, other.Shut(t.Context())) }
		must(t, b.Open(t.Context()))
		waiting := begin(t, other.Wait)
		waiting.waits(t)
	})
}

// setter loses the reply to its first Set, and does something before the next request.
type setter struct {
	*faulty
	lost func()
}

func newSetter(t *testing.T, servers *goclient.Local) *setter {
	return &setter{faulty: connect(t, servers)}
}

func (s *setter) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	stat, err := s.faulty.Set(path, data, version)
	if s.lost != nil {
		s.lost()
		s.lost, stat, err = nil, nil, zk.ErrConnectionClosed
	}
	return stat, err
}

func TestBarrierUnknownOutcome(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, letGo := connect(t, servers), make(chan struct{})
		c.plan("create", hang(letGo))
		shutting := begin(t, recipes.NewBarrier(c, "/gate").Shut)
		shutting.cancel()
		shutting.returns(t, recipes.ErrUnknownOutcome)
		close(letGo)
		synctest.Wait()
		waiting := begin(t, recipes.NewBarrier(connect(t, servers), "/gate").Wait)
		waiting.waits(t)
	})
}
