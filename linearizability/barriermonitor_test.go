package linearizability

import (
	"math/rand/v2"
	"testing"
	"time"
)

func init() {
	enter(contender{model: Barrier(), fresh: func() sequential { return new(seriesBarrier) }, wild: wildBarrier, ops: 10})
}

// seriesBarrier runs the operations of a barrier one at a time.
type seriesBarrier struct{ shut bool }

func (g *seriesBarrier) run(r *rand.Rand, _ int) (Operation, bool) {
	op := wildBarrier(r)
	if op.Op != "wait" {
		g.shut = op.Op == "shut"
	}
	return op, op.Op != "wait" || !g.shut
}

func wildBarrier(r *rand.Rand) Operation {
	return Operation{Op: []string{"shut", "shut", "open", "wait", "wait"}[r.IntN(5)]}
}

// TestBarrierOfManyAtOnce judges what no search could: all at once, legal and with one wait too early.
func TestBarrierOfManyAtOnce(t *testing.T) {
	const n = 30_000
	var h History
	for i := range n {
		h = append(h,
			Operation{Client: 3 * i, Op: "shut", Call: 0, Return: 10},
			Operation{Client: 3*i + 1, Op: "open", Call: int64(20 + i), Return: int64(20 + i), Outcome: Unknown},
			Operation{Client: 3*i + 2, Op: "wait", Call: int64(20 + i), Return: int64(30 + i)})
	}
	began := time.Now()
	if v := Check(Barrier(), h, Options{})[0]; v.Outcome != Ok || v.Checker != "monitor" {
		t.Error(v)
	}
	h = append(h, Operation{Client: 3 * n, Op: "wait", Call: 11, Return: 19})
	if v := Check(Barrier(), h, Options{})[0]; v.Property != "early-wait" || len(v.Operations) != 2 {
		t.Errorf("%.300s", v.String())
	}
	t.Log(time.Since(began))
}
