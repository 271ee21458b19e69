package sim

import (
	"github.com/zktorture/zktorture/sim/internal/draw"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
)

// Fork returns the source of the i-th continuation of a replayed counterexample from a step on.
func Fork(r *replay.Replayed, step, i int) world.Source {
	return draw.Fork(r.Record.Choices[:r.Record.Marks[step]], r.Hash, uint64(step)<<32|uint64(i))
}
