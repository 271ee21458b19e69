package linearizability

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// drawRounds draws processes that enter and leave in turn. Some give up; stamps that are equal are rare.
func drawRounds(r *rand.Rand, processes, rounds int) (h History) {
	now := make([]int64, processes)
	for round := range rounds {
		for client := range processes {
			for _, op := range []string{"enter", "leave"} {
				if r.IntN(12) == 0 {
					now[client] += 10_000 // never again
				}
				if now[client] > 9000 {
					continue
				}
				o := Operation{Client: client, Op: op, Call: max(now[client], int64(200*round)) + r.Int64N(60)}
				o.Return = o.Call + r.Int64N(90)
				now[client] = o.Return + r.Int64N(20)
				if r.IntN(12) == 0 {
					o.Outcome, o.Return = Unknown, Forever
				}
				h = append(h, o)
			}
		}
	}
	sortByCall(h)
	return h
}

// coarsen makes many stamps equal.
func coarsen(h History, unit int64) {
	for i := range h {
		h[i].Call /= unit
		if h[i].Return != Forever {
			h[i].Return /= unit
		}
	}
}

func TestDoubleBarrierMonitorAgrees(t *testing.T) {
	var legal, illegal, undecided int
	for i := range effort(t) / 4 {
		r := rand.New(rand.NewPCG(agreeSeed, uint64(i)))
		m := DoubleBarrier(1 + r.IntN(3))
		h := drawRounds(r, 1+r.IntN(4), 1+r.IntN(2))
		if r.IntN(4) == 0 {
			coarsen(h, 10)
		}
		if m.Validate(h) != nil {
			t.Fatalf("not a sound history\n%s", lines(h))
		}
		var n tally
		c := contender{model: m}
		if problem := n.dispute(&c, h); problem != "" {
			small := minimised(h, func(h History) bool { return new(tally).dispute(&c, h) != "" })
			t.Fatalf("history %d: %s\n%s", i, problem, lines(small))
		}
		if ruling := m.monitor(m.steps(h)); Status(ruling.Outcome) == Violation {
			if v := newJudge(&m, Options{}).confirm("monitor", ruling, h); v.Outcome != Violation {
				t.Fatalf("history %d: %v\n%s", i, v, lines(h))
			}
		}
		legal, illegal, undecided = legal+n.legal, illegal+n.illegal, undecided+n.undetermined
	}
	t.Logf("%d legal, %d illegal, %d undetermined", legal, illegal, undecided)
	if legal == 0 || illegal == 0 || undecided*5 > legal+illegal {
		t.Error("that compares too little")
	}
}

// TestDoubleBarrierTies judges a history that is legal if an enter comes before the leave called at the same stamp.
func TestDoubleBarrierTies(t *testing.T) {
	h := History{
		{Client: 0, Op: "enter", Call: 1, Return: 5},
		{Client: 0, Op: "leave", Call: 5, Return: 8},
		{Client: 1, Op: "enter", Call: 5, Return: 8},
		{Client: 1, Op: "leave", Call: 8, Return: 9},
	}
	if v := Check(DoubleBarrier(2), h, Options{})[0]; v.Outcome != Ok || v.Checker != "monitor" {
		t.Error(v)
	}
}

// inStep is a legal history of so many processes and rounds.
func inStep(processes, rounds int) (h History) {
	for round := range rounds {
		at := int64(10_000 * round)
		for client := range processes {
			k := int64(client)
			h = append(h,
				Operation{Client: client, Op: "enter", Call: at + k, Return: at + 1000 + k},
				Operation{Client: client, Op: "leave", Call: at + 2000 + k, Return: at + 3000 + k})
		}
	}
	return h
}

// TestLongDoubleBarriers judges what no search could, right and with one leave that comes too early.
func TestLongDoubleBarriers(t *testing.T) {
	h := inStep(5, 10_000)
	if v := Check(DoubleBarrier(5), h, Options{})[0]; v.Outcome != Ok || v.Checker != "monitor" {
		t.Error(v)
	}
	for i := len(h) / 2; i < len(h); i++ {
		if h[i].Client == 0 && h[i].Op == "leave" {
			h[i].Return = h[i].Call + 2
			break
		}
	}
	v := Check(DoubleBarrier(5), h, Options{})[0]
	if v.Property != "early-leave" || len(v.Operations) > 6 {
		t.Error(v)
	}
}

func BenchmarkDoubleBarrier(b *testing.B) {
	m := DoubleBarrier(5)
	for _, rounds := range []int{100, 10_000, 100_000} {
		h := inStep(5, rounds)
		benchmarkJudging(b, fmt.Sprintf("monitor/%d", len(h)),
			func() Status { return Status(m.monitor(m.steps(h)).Outcome) }, Ok)
	}
}
