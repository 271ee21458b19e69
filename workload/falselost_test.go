package workload_test

import (
	"context"
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// liar is a lock that releases nothing and says that there was nothing to release.
type liar struct{ workload.Locker }

func (liar) Unlock(context.Context) error { return recipes.ErrLost }

func TestReleasesThatLie(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return liar{newSilent(c, path)} })
	wantBroken(t, w, world.NoFaults, "false-lost", "is told by step")
}
