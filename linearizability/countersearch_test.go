package linearizability

import (
	"math/rand/v2"
	"testing"
	"time"
)

// busyCounter is a legal history of additions of what package workload adds.
func busyCounter(seed uint64, n, clients int, unknown float64) History {
	r := rand.New(rand.NewPCG(seed, 0))
	c := contender{model: Counter(), wild: wildCount, fresh: func() sequential {
		return &seriesCounter{deltas: []int64{1, 1, 10, -3}, told: 4}
	}}
	h := c.drawLegal(r, shape{ops: n, clients: clients, pace: 2, spread: 3 * int64(clients), unknown: unknown / 1.5})
	h.sort()
	return h
}

// TestCounterShapes judges what no order by numbers decides: something is taken away, or what nobody was told
// is of several amounts.
func TestCounterShapes(t *testing.T) {
	lostOf := func(n int, amount func(i int) int64, get int64) (h History) {
		for i := range n {
			h = append(h, Operation{Client: i, Op: "add", Arg: Int(amount(i)), Outcome: Unknown, Call: 1,
				Return: Forever})
		}
		return append(h, Operation{Client: n, Op: "get", Result: Int(get), Call: 5, Return: 6})
	}
	for name, c := range map[string]struct {
		h    History
		want Status
	}{
		"lost additions of 2, and a get of 1": {lostOf(10_000, func(int) int64 { return 2 }, 1), Violation},
		"of differing amounts": {lostOf(2000, func(i int) int64 { return int64(i + 1) }, 1_000_000),
			Ok},
		"of differing even amounts, and an odd": {lostOf(2000, func(i int) int64 { return int64(2*i + 2) },
			1_000_001), Violation},
		"as package workload adds":               {busyCounter(1, 20_000, 16, 0), Ok},
		"as package workload adds, some unknown": {busyCounter(1, 20_000, 8, 0.001), Ok},
		"as package workload adds, more unknown": {busyCounter(2, 30_000, 16, 0.01), Ok},
	} {
		began := time.Now()
		if v := Check(Counter(), c.h, Options{})[0]; v.Outcome != c.want {
			t.Errorf("%s: %.300s %.300q", name, v.String(), v.Tried)
		}
		t.Log(name, time.Since(began))
	}
}
