package mylock

import (
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

func TestLock(t *testing.T) {
	sim.Check(t, workload.Lock(func(c recipes.Conn, path string) workload.Locker { return New(c, path) }))
}
