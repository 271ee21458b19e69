package workload

import (
	"testing"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/world"
)

func TestSoleRemover(t *testing.T) {
	change := func(op wire.Op, path, data string, by int64) world.Change {
		return world.Change{Change: fakezk.Change{Op: op, Path: path, Data: []byte(data)}, By: by}
	}
	create, remove := change(wire.OpCreate, "/q/1", "header v1a1", 1), change(wire.OpDelete, "/q/1", "", 7)
	for name, c := range map[string]struct {
		changes []world.Change
		want    int64
	}{
		"removed":       {[]world.Change{create, remove}, 7},
		"still there":   {[]world.Change{create}, 0},
		"never there":   {[]world.Change{remove}, 0},
		"by nobody":     {[]world.Change{create, change(wire.OpDelete, "/q/1", "", 0)}, 0},
		"offered twice": {[]world.Change{create, change(wire.OpCreate, "/q/2", "v1a1", 1), remove}, 0},
		"moved":         {[]world.Change{create, remove, change(wire.OpCreate, "/done/1", "v1a1", 7)}, 0},
		"written over":  {[]world.Change{create, change(wire.OpSetData, "/q/1", "claimed", 7), remove}, 0},
		"the name used anew": {[]world.Change{create, remove,
			change(wire.OpCreate, "/q/1", "v2a1", 2), change(wire.OpDelete, "/q/1", "", 9)}, 7},
	} {
		if got := soleRemover(c.changes, []byte("v1a1")); got != c.want {
			t.Errorf("%s: operation %d, want %d", name, got, c.want)
		}
	}
}
