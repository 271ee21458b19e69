package linearizability

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zktorture/zktorture/internal/resource"
)

// busyQueue returns a legal history of n operations by clients that are nearly always busy, on a queue
// that holds about fifty values.
func busyQueue(seed uint64, n, clients int, unknown, peeks float64) History {
	r := rand.New(rand.NewPCG(seed, 0))
	c := contender{model: Queue(), wild: wildQueue, fresh: func() sequential {
		return &seriesQueue{drawn: true, backlog: 50, peeks: peeks}
	}}
	h := c.drawLegal(r, shape{ops: n, clients: clients, pace: 2, spread: 3 * int64(clients), unknown: unknown / 1.5})
	return byReturn(h)
}

// byReturn puts a history in order of return, then of call, then of client.
func byReturn(h History) History {
	slices.SortStableFunc(h, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(a.Return, b.Return), cmp.Compare(a.Call, b.Call), cmp.Compare(a.Client, b.Client))
	})
	return h
}

// overtake exchanges the results of two removals, about in the middle, of which one had returned before
// the other was called, after both values had been
// offered one after the other.
func overtake(h History) History {
	offers := make(map[Value]Operation)
	for _, op := range h {
		if op.Op == "offer" {
			offers[op.Arg] = op
		}
	}
	for i := len(h) / 2; i < len(h); i++ {
		for k := i + 1; k < min(len(h), i+200) && removes(&h[i]); k++ {
			a, b := offers[h[i].Result], offers[h[k].Result]
			if removes(&h[k]) && h[k].Call > h[i].Return && a.Return < b.Call && b.Return < h[i].Call {
				h[i].Result, h[k].Result = h[k].Result, h[i].Result
				return h
			}
		}
	}
	return h
}

// BenchmarkMonitorQueue compares the monitor with porcupine. What porcupine did not finish within five
// seconds is counted as given-up/op, and its time is that limit.
func BenchmarkMonitorQueue(b *testing.B) {
	for _, clients := range []int{4, 16} {
		for _, n := range []int{20, 50, 100, 200, 500, 1000, 10_000, 100_000, 1_000_000} {
			if n <= 1000 {
				b.Run(fmt.Sprintf("clients=%d/n=%d/porcupine", clients, n), func(b *testing.B) {
					benchPorcupine(b, busyQueue(1, n, clients, 0, 0))
				})
			}
			b.Run(fmt.Sprintf("clients=%d/n=%d/monitor", clients, n), func(b *testing.B) {
				benchMonitor(b, busyQueue(1, n, clients, 0, 0), Ok)
			})
		}
	}
}

// BenchmarkMonitorQueueMillion judges a million operations of 16 clients of several kinds.
func BenchmarkMonitorQueueMillion(b *testing.B) {
	const n, clients = 1_000_000, 16
	for _, c := range []struct {
		name           string
		unknown, peeks float64
		violation      bool
	}{
		{name: "correct"}, {name: "violation", violation: true},
		{name: "unknown=1%", unknown: 0.01}, {name: "peeks=10%", peeks: 0.1},
		{name: "unknown=1%,peeks=10%", unknown: 0.01, peeks: 0.1},
		{name: "unknown=1%,violation", unknown: 0.01, violation: true},
	} {
		b.Run(c.name, func(b *testing.B) {
			h, want := busyQueue(1, n, clients, c.unknown, c.peeks), Ok
			if c.violation {
				h, want = overtake(h), Violation
			}
			benchMonitor(b, h, want)
		})
	}
}

// benchMonitor measures the monitor with all that it needs.
func benchMonitor(b *testing.B, h History, want Status) {
	m := Queue()
	b.ReportAllocs()
	start := resource.CPUTime()
	for b.Loop() {
		if r := m.monitor(m.steps(h)); Status(r.Outcome) != want {
			b.Fatal(r.Outcome, r.Finding.Property, r.Reason)
		}
	}
	b.ReportMetric(float64(resource.CPUTime()-start)/float64(b.N)/1e6, "cpu-ms/op")
}

func benchPorcupine(b *testing.B, h History) {
	m, givenUp := Queue(), 0
	b.ReportAllocs()
	for b.Loop() {
		if newJudge(&m, Options{Timeout: 5 * time.Second}).ask(m.steps(h)) == porcupine.Unknown {
			givenUp++
		}
	}
	b.ReportMetric(float64(givenUp)/float64(b.N), "given-up/op")
}
