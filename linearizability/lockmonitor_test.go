package linearizability

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/internal/resource"
	"github.com/zktorture/zktorture/linearizability/internal/monitor"
)

// longHolds is a legal history of somewhat more operations than given: 16 clients, busy most of the
// time, and the given share of replies that are lost, tokens and all.
func longHolds(m Model, capacity, ops int, unknown float64) History {
	object := newSeriesLock(m, capacity)
	object.bare = 2
	c := contender{model: m, fresh: func() sequential { return object }, wild: wildHold(m)}
	h := c.drawLegal(rand.New(rand.NewPCG(1, uint64(ops))),
		shape{ops: ops, clients: 16, pace: 4, spread: 60, unknown: unknown})
	for i := range h {
		if h[i].Outcome == Unknown {
			h[i].Result = Null
		}
	}
	return h
}

func longLock(ops int, unknown float64) History { return longHolds(Lock(), 1, ops, unknown) }

// plantOverlap makes a hold in the middle of the history of a lock last so long that it overlaps the
// next ones, and returns the history. The hold gets a process of its own, which has nothing else to do.
func plantOverlap(h History) History {
	granted := make(map[int]int) // by client: its last operation, if that is a grant of outcome ok
	for i := range h {
		op := &h[i]
		grant, found := granted[op.Client]
		delete(granted, op.Client)
		switch {
		case i > len(h)/2 && found && op.Op == "release" && op.Outcome == OK:
			h[grant].Process, op.Process = Str("slow"), Str("slow")
			op.Call, op.Return = op.Call+1000, op.Return+1000
			return h
		case op.Op == "acquire" && op.Outcome == OK:
			granted[op.Client] = i
		}
	}
	panic("no hold can be found")
}

// benchmarkJudging measures what judges the history in processor time, too.
func benchmarkJudging(b *testing.B, name string, judge func() Status, want Status) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		began := resource.CPUTime()
		for b.Loop() {
			if got := judge(); got != want {
				b.Fatalf("the verdict is %v, not %v", got, want)
			}
		}
		b.ReportMetric(float64((resource.CPUTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
	})
}

// BenchmarkLock: the monitor with what it takes to prepare, one overlap in the middle of the history,
// all of Check, and porcupine where it has an answer.
func BenchmarkLock(b *testing.B) {
	m := Lock()
	for _, ops := range []int{1000, 10_000, 100_000, 1_000_000} {
		h := longLock(ops, 0.01)
		name := func(what string) string { return fmt.Sprintf("%s/%d", what, ops) }
		benchmarkJudging(b, name("monitor"), func() Status { return Status(monitor.Lock(m.steps(h)).Outcome) }, Ok)
		benchmarkJudging(b, name("Check"), func() Status { return Check(m, h, Options{})[0].Outcome }, Ok)
		bad := plantOverlap(longLock(ops, 0.01))
		benchmarkJudging(b, name("overlap"), func() Status { return Check(m, bad, Options{})[0].Outcome }, Violation)
	}
}

// BenchmarkLockByPorcupine measures porcupine alone, to see where it gives up: decided is 0 then.
func BenchmarkLockByPorcupine(b *testing.B) {
	m := Lock()
	for _, ops := range []int{500, 1000, 2000, 4000, 8000, 16_000, 32_000} {
		for _, unknown := range []float64{0, 0.01} {
			h := longLock(ops, unknown)
			benchmarkPorcupine(b, &m, fmt.Sprintf("legal, %g unknown/%d", unknown, ops), h)
			benchmarkPorcupine(b, &m, fmt.Sprintf("one overlap, %g unknown/%d", unknown, ops), plantOverlap(h))
		}
	}
}

func benchmarkPorcupine(b *testing.B, m *Model, name string, h History) {
	b.Run(name, func(b *testing.B) {
		began, decided := resource.CPUTime(), 0.0
		for b.Loop() {
			if byPorcupine(m, h) != Undetermined {
				decided++
			}
		}
		b.ReportMetric(decided/float64(b.N), "decided")
		b.ReportMetric(float64((resource.CPUTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
	})
}

// byPorcupine is porcupine's verdict alone.
func byPorcupine(m *Model, h History) Status {
	switch newJudge(m, Options{}).ask(m.steps(h)) {
	case "Ok":
		return Ok
	case "Illegal":
		return Violation
	}
	return Undetermined
}

// BenchmarkPermits: the monitors of read/write locks and semaphores. In a read/write lock a lost downgrade
// that comes from nowhere can make the answer undetermined, so that nothing is lost there.
func BenchmarkPermits(b *testing.B) {
	for _, c := range []struct {
		model    Model
		capacity int
		unknown  float64
	}{{RWLock(), 1000, 0}, {Semaphore(5), 5, 0.01}} {
		h := longHolds(c.model, c.capacity, 1_000_000, c.unknown)
		benchmarkJudging(b, c.model.Name, func() Status { return Status(c.model.monitor(c.model.steps(h)).Outcome) }, Ok)
	}
}

// TestOneOverlapInALongHistory finds it, names few operations, and has it confirmed. BenchmarkLock does so
// in a million operations.
func TestOneOverlapInALongHistory(t *testing.T) {
	v := Check(Lock(), plantOverlap(longLock(50_000, 0.01)), Options{})[0]
	if v.Outcome != Violation || v.Property != "exclusion" || len(v.Operations) > 6 {
		t.Errorf("the verdict is %v, not a violation of exclusion by at most 6 operations", v)
	}
	if r := monitor.Lock(Lock().steps(v.Operations)); Status(r.Outcome) != Violation {
		t.Errorf("the operations %v are in order by themselves", v.Operations)
	}
}

// Property: any number of goroutines pair holds in the same way, and find the same release without an acquire.
func TestPairHoldsByMany(t *testing.T) {
	operation := rapid.Custom(func(t *rapid.T) Operation {
		return Operation{Client: rapid.IntRange(0, 2).Draw(t, "client"), Call: rapid.Int64Range(0, 20).Draw(t, "call"),
			Op:      rapid.SampledFrom([]string{"acquire", "try", "release"}).Draw(t, "op"),
			Outcome: rapid.SampledFrom([]Outcome{OK, OK, Fail, Unknown}).Draw(t, "outcome"),
			Arg:     rapid.SampledFrom([]Value{Null, Int(1), Int(2)}).Draw(t, "permits")}
	})
	rapid.Check(t, func(t *rapid.T) {
		h := History(rapid.SliceOfN(operation, 0, 12).Draw(t, "history"))
		processes := numberItems(h, (*Operation).Owner)
		steps, held := pairHolds(1, h, processes)
		wrong, _ := releaseWithoutAcquireBy(1, h, processes)
		for goroutines := range 5 {
			more, held2 := pairHolds(goroutines+1, h, processes)
			if !reflect.DeepEqual(more, steps) || !reflect.DeepEqual(held2, held) {
				t.Fatalf("%d goroutines: %+v %v, want %+v %v", goroutines+1, more, held2, steps, held)
			}
			if i, _ := releaseWithoutAcquireBy(goroutines+1, h, processes); i != wrong {
				t.Fatalf("%d goroutines accuse operation %d, want %d", goroutines+1, i, wrong)
			}
		}
	})
}
