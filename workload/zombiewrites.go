package workload

import (
	"fmt"

	"github.com/zktorture/zktorture/sim"
)

// zombieWrites finds a write that was accepted from a hold that had ended before another began, of
// which a write had been accepted already.
func (r *resource) zombieWrites(v *View, holds []interval) []sim.Violation {
	of := map[*hold]interval{}
	for _, iv := range holds {
		of[iv.op.Data.(*hold)] = iv
	}
	for i, late := range r.writes {
		for _, early := range r.writes[:i] {
			a, b := of[late.hold], of[early.hold]
			if !late.accepted || !early.accepted || a.op == nil || b.op == nil || a.end >= b.start {
				continue
			}
			return []sim.Violation{{Property: "zombie-write", Ops: []*sim.Op{a.op, b.op}, Message: fmt.Sprintf(
				"the resource accepts a write of %s, whose hold was over at %s (%s), although it has accepted one of %s, who holds the lock from %s on",
				Who(a.op), v.Moment(a.end), a.reason(), Who(b.op), v.Moment(b.start))}}
		}
	}
	return nil
}

func (iv interval) reason() string {
	if iv.cut != "" {
		return iv.cut
	}
	return "it was released"
}
