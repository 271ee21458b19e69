package workload

import (
	"testing"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim"
)

func TestSoleRemover(t *testing.T) {
	change := func(op fakezk.Op, path, data string, by int64) sim.Change {
		return sim.Change{Change: fakezk.Change{Op: op, Path: path, Data: []byte(data)}, By: by}
	}
	create, remove := change(fakezk.OpCreate, "/q/1", "header v1a1", 1), change(fakezk.OpDelete, "/q/1", "", 7)
	for name, c := range map[string]struct {
		changes []sim.Change
		want    int64
	}{
		"removed":       {[]sim.Change{create, remove}, 7},
		"still there":   {[]sim.Change{create}, 0},
		"never there":   {[]sim.Change{remove}, 0},
		"by nobody":     {[]sim.Change{create, change(fakezk.OpDelete, "/q/1", "", 0)}, 0},
		"offered twice": {[]sim.Change{create, change(fakezk.OpCreate, "/q/2", "v1a1", 1), remove}, 0},
		"moved":         {[]sim.Change{create, remove, change(fakezk.OpCreate, "/done/1", "v1a1", 7)}, 0},
		"written over":  {[]sim.Change{create, change(fakezk.OpSetData, "/q/1", "claimed", 7), remove}, 0},
		"the name used anew": {[]sim.Change{create, remove,
			change(fakezk.OpCreate, "/q/1", "v2a1", 2), change(fakezk.OpDelete, "/q/1", "", 9)}, 7},
	} {
		if got := soleRemover(c.changes, []byte("v1a1")); got != c.want {
			t.Errorf("%s: operation %d, want %d", name, got, c.want)
		}
	}
}
