package linearizability

import (
	"math/rand/v2"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/persistent"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// TestFrontierAgrees compares the frontier with porcupine on small histories of every model there is a
// generator for. What the frontier calls illegal ends with a beginning that is illegal by itself.
func TestFrontierAgrees(t *testing.T) {
	each := max(1, effort(t)/max(1, 4*len(contenders)))
	for _, c := range contenders {
		t.Run(c.model.Name, func(t *testing.T) {
			legal, illegal := 0, 0
			for i := range each {
				h := c.draw(rand.New(rand.NewPCG(agreeSeed+1, uint64(i))))
				if c.model.Validate(h) != nil {
					continue
				}
				steps := c.model.steps(h)
				j := newJudge(&c.model, Options{})
				r, truth := searchFrontier(&j.spec, steps, j.half(), j.memory), j.ask(steps)
				switch {
				case truth == porcupine.Ok && Status(r.Outcome) == Ok:
					legal++
				case truth == porcupine.Illegal && Status(r.Outcome) == Violation &&
					j.ask(r.Finding.Steps) == porcupine.Illegal:
					illegal++
				case truth != porcupine.Unknown:
					t.Fatalf("the frontier says %v, porcupine %v\n%s", Status(r.Outcome), truth, lines(h))
				}
			}
			t.Logf("%d legal, %d illegal", legal, illegal)
			if legal == 0 || illegal == 0 {
				t.Error("that compares too little")
			}
		})
	}
}

// TestConfigurationsAreToldApart forges a collision: the same hash and state, but other operations that
// took effect.
func TestConfigurationsAreToldApart(t *testing.T) {
	spec := &porcupine.Model{
		Hash:  func(state any) uint64 { return state.(uint64) },
		Equal: func(a, b any) bool { return true },
	}
	set := newConfigurations(spec)
	set.layout = layout{sure: 1}
	set.add(configuration{persistent.Mix(1), []uint64{1}})
	set.add(configuration{persistent.Mix(2), []uint64{2}})
	set.add(configuration{persistent.Mix(2), []uint64{2}})
	if len(set.all) != 2 || len(set.first) != 1 {
		t.Errorf("of two configurations with one hash %d are there, with %d hashes", len(set.all), len(set.first))
	}
}

// TestFrontierNeedsNoMemoryForTheHistory judges a history that porcupine would need gigabytes for.
func TestFrontierNeedsNoMemoryForTheHistory(t *testing.T) {
	m := Lock()
	r := searchFrontier(&m.spec, m.steps(longLock(100_000, 0)), time.Now().Add(time.Minute), 1<<20)
	if Status(r.Outcome) != Ok {
		t.Errorf("the frontier says %v: %s", Status(r.Outcome), r.Reason)
	}
}

// blind is a model without its own checker, so that the searches have to do the work.
func blind(m Model) Model {
	m.monitor = func([]step.Step) step.Ruling { return step.Undecided("") }
	return m
}

// hardest is a history that no search can decide: the polls of many concurrent offers, some of unknown
// outcome, are in an order that fits only the last of very many orders of the offers, and not quite.
func hardest(n int) History {
	h := hopeless(n)
	for i := range n {
		h = append(h, Operation{Client: 1000 + i, Op: "poll", Outcome: Unknown, Call: 15, Return: Forever})
	}
	return h
}

// TestHardHistoriesEndInTimeAsUnknown holds the limits of time and memory.
func TestHardHistoriesEndInTimeAsUnknown(t *testing.T) {
	const limit = 64 << 20
	for _, n := range []int{40, 400, 20_000} {
		debug.FreeOSMemory()
		before, began := heapBytes(), time.Now()
		v := Check(blind(Queue()), hardest(n), Options{Timeout: 2 * time.Second, MemoryLimit: limit})[0]
		if v.Outcome != Undetermined || v.Reason == "" {
			t.Errorf("%d: the verdict is %v", n, v)
		}
		if n == 20_000 && !strings.Contains(v.Reason, "64 MB are allowed") {
			t.Errorf("the reason is %q, not the memory that porcupine would need", v.Reason)
		}
		t.Logf("%d: %v, %d MB, %v; tried %q", n, time.Since(began), (heapBytes()-before)>>20, v, v.Tried)
	}
}

// heapBytes is how much memory the process has for objects, used or not.
func heapBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(sample)
	sum := int64(0)
	for _, s := range sample {
		sum += int64(s.Value.Uint64())
	}
	return sum
}
