package workload

import (
	"testing"

	"github.com/zktorture/zktorture/sim/world"
)

// A write counts as a zombie's only if the resource has accepted one of a hold that began after its
// own was over.
func TestZombieWrites(t *testing.T) {
	const ended, began = 100, 200
	for _, test := range []struct {
		name           string
		early, late    int64 // tokens
		zombieIsSecond bool
		want           int
	}{
		{"in order", 0, 0, false, 0},
		{"without tokens", 0, 0, true, 1},
		{"with tokens", 1, 2, true, 0},
	} {
		v := (&scene{}).view()
		of := func(token, start, end int64) Hold {
			op := &world.Op{Name: "acquire", Return: start, Data: &Held{token: token}}
			return Hold{Op: op, Token: token, From: start, To: end, Cut: "its session ended"}
		}
		early, late := of(test.early, 1, ended), of(test.late, began, never)
		order := []Hold{early, late, early}
		if !test.zombieIsSecond {
			order = []Hold{early, early, late}
		}
		var r resource
		for _, iv := range order {
			r.write(iv.Op.Data.(*Held))
		}
		found := r.zombieWrites(v, []Hold{early, late})
		if len(found) != test.want {
			t.Errorf("%s: %v", test.name, found)
		}
	}
}
