package linearizability

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func init() {
	enter(contender{model: PriorityQueue(), fresh: func() sequential { return new(seriesPriorities) },
		wild: wildPriority, own: drawRankedHeads, ops: 10})
}

// prioritized returns value v of the given priority.
func prioritized(priority, v int64) Value { return Str(fmt.Sprintf("%d:%d", priority, v)) }

// seriesPriorities runs the operations of a priority queue one at a time. How many priorities there are is
// drawn once.
type seriesPriorities struct {
	seriesQueue
	priorities int64
}

func (q *seriesPriorities) run(r *rand.Rand, client int) (Operation, bool) {
	if q.priorities == 0 {
		q.priorities = 1 + r.Int64N(4)
	}
	op, done := q.seriesQueue.run(r, client)
	if op.Op == "offer" {
		op.Arg = prioritized(r.Int64N(q.priorities), q.offered)
		q.values[len(q.values)-1] = op.Arg
		slices.SortStableFunc(q.values, comparePriorities)
	}
	return op, done
}

func (q *seriesPriorities) ghost(r *rand.Rand) Operation {
	op := q.seriesQueue.ghost(r)
	if op.Op == "offer" {
		op.Arg = prioritized(r.Int64N(3), q.offered)
	}
	return op
}

// rankValues gives the values of a queue priorities.
func rankValues(op Operation) Operation {
	for _, v := range []*Value{&op.Arg, &op.Result} {
		if v.IsInt() {
			*v = prioritized(v.Int()/2, v.Int())
		}
	}
	return op
}

func wildPriority(r *rand.Rand) Operation { return rankValues(wildQueue(r)) }

func drawRankedHeads(r *rand.Rand) History {
	h := drawHeads(r)
	for i := range h {
		h[i] = rankValues(h[i])
	}
	return h
}

// busyPriorities is a legal history by clients that are nearly always busy.
func busyPriorities(seed uint64, n, clients int, unknown, peeks float64) History {
	r := rand.New(rand.NewPCG(seed, 0))
	c := contender{model: PriorityQueue(), wild: wildPriority, fresh: func() sequential {
		return &seriesPriorities{seriesQueue: seriesQueue{drawn: true, backlog: 50, peeks: peeks}, priorities: 5}
	}}
	h := c.drawLegal(r, shape{ops: n, clients: clients, pace: 2, spread: 3 * int64(clients), unknown: unknown / 1.5})
	return byReturn(h)
}

// TestLongPriorities judges what no search could, right and wrong.
func TestLongPriorities(t *testing.T) {
	for _, c := range []struct{ unknown, peeks float64 }{{0, 0}, {0.05, 0}, {0, 0.2}, {0.05, 0.2}} {
		h := busyPriorities(1, 20_000, 16, c.unknown, c.peeks)
		if v := Check(PriorityQueue(), h, Options{})[0]; v.Outcome != Ok || v.Checker != "monitor" {
			t.Errorf("%+v: %v", c, v)
		}
		if v := Check(PriorityQueue(), overtake(h), Options{})[0]; v.Outcome != Violation || len(v.Operations) > 12 {
			t.Errorf("%+v: of %d operations: %.400s", c, len(v.Operations), v)
		}
	}
}

func BenchmarkPriorities(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		h := busyPriorities(1, n, 16, 0.01, 0.1)
		m := PriorityQueue()
		benchmarkJudging(b, fmt.Sprintf("monitor/%d", n), func() Status { return Status(m.monitor(m.steps(h)).Outcome) }, Ok)
	}
}

func comparePriorities(a, b Value) int {
	x, _ := priorityOf(a)
	y, _ := priorityOf(b)
	return cmp.Compare(x, y)
}
