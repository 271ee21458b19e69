package workload

import (
	"fmt"
	"strconv"

	"github.com/zktorture/zktorture/sim"
)

// resource is what the lock guards: it accepts a write unless it has seen a larger token.
type resource struct {
	largest int64
	writes  []write
	room    [6]write // memory of writes, as long as that suffices
}

type write struct {
	hold     *hold
	accepted bool
}

func (r *resource) write(h *hold) string {
	accepted := h.token >= r.largest
	r.largest = max(r.largest, h.token)
	if r.writes == nil {
		r.writes = r.room[:0]
	}
	r.writes = append(r.writes, write{h, accepted})
	if !accepted {
		return fmt.Sprintf("refused: token %d is older than %d", h.token, r.largest)
	}
	return "accepted with token " + strconv.FormatInt(h.token, 10)
}

// refused is how many stale writes came in vain.
func (r *resource) refused() (n int) {
	for _, w := range r.writes {
		if !w.accepted {
			n++
		}
	}
	return n
}

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
			return broken("zombie-write", []*sim.Op{a.op, b.op},
				"the resource accepts a write of %s, whose hold was over at %s (%s), "+
					"although it has accepted one of %s, who holds the lock from %s on",
				Who(a.op), v.Moment(a.end), a.reason(), Who(b.op), v.Moment(b.start))
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
