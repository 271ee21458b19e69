package sim_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// Three clients, all faults, all checks, one worker: what an episode and a step cost. Releases are built by its profile.
func BenchmarkKinds(b *testing.B) {
	for _, e := range workload.Entries() {
		if e.Recipe == workload.Ours {
			b.Run(e.Kind, func(b *testing.B) { benchmark(b, e.Kind, sim.Config{}) })
		}
	}
}

// A step costs about the same however many clients an episode has, and however long it is.
func BenchmarkSizes(b *testing.B) {
	for _, kind := range []string{"lock", "queue"} {
		for _, size := range [][2]int{{3, 4}, {16, 4}, {64, 4}, {3, 100}, {3, 1000}, {16, 100}} {
			b.Run(fmt.Sprintf("%s,clients=%d,turns=%d", kind, size[0], size[1]), func(b *testing.B) {
				benchmark(b, kind, sim.Config{Clients: size[0], Ops: size[1]})
			})
		}
	}
}

func benchmark(b *testing.B, kind string, cfg sim.Config) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w, err := workload.Find(kind, "")
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	cfg.Episodes, cfg.Seed, cfg.Workers = b.N, 1, 1
	spent := sim.ProcessorTime()
	r, err := sim.Run(context.Background(), w, cfg)
	spent = sim.ProcessorTime() - spent
	b.StopTimer()
	if err != nil || r.Verdict != sim.VerdictOK {
		b.Fatalf("%v %s %v", err, r.Verdict, r.Violations)
	}
	runtime.ReadMemStats(&after)
	seconds, steps := spent.Seconds(), float64(r.Steps)
	b.ReportMetric(float64(r.Episodes)/seconds, "episodes/cpu-s")
	b.ReportMetric(steps/seconds, "steps/cpu-s")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/steps, "B/step")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/steps, "allocs/step")
}

// A campaign keeps nothing of an episode that broke nothing, and of those that did the simplest
// one for each property: after five times as many episodes the heap is as large as before.
func TestMemoryDoesNotGrowWithEpisodes(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, recipe := range testkit.Sized([]string{"broken"}, []string{"", "broken"}) {
		w := find(t, "lock", recipe)
		few, many := heapAfter(t, w, 500), heapAfter(t, w, 2500)
		if many > few+few/2+4<<20 {
			t.Errorf("%s: %d KB after 500 episodes, %d KB after 2500", w.Recipe(), few>>10, many>>10)
		}
	}
}

// heapAfter returns what is live on the heap at the end of a campaign, with its result.
func heapAfter(t *testing.T, w sim.Workload, episodes int) uint64 {
	t.Helper()
	r := run(t, w, sim.Config{Episodes: episodes, Seed: 2, NoShrink: true})
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(r)
	return m.HeapAlloc
}

// Go-zookeeper's own lock over the wire, and this project's through both doors, in turns, so that what else the machine does
// burdens all alike.
func BenchmarkWireLock(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ours, err := workload.Find("lock", "")
	if err != nil {
		b.Fatal(err)
	}
	doors := []*workload.Workload{workload.Of(workload.Lock, newZKLock), ours.OverWire(), ours}
	const each = 20 // episodes a turn
	var spent [3]time.Duration
	var steps [3]int64
	for turn := range b.N {
		for i, w := range doors {
			before := sim.ProcessorTime()
			r, err := sim.Run(context.Background(), w, sim.Config{
				Episodes: each, Seed: uint64(turn), Workers: 1, Until: "nothing, so that nothing is minimised",
			})
			if err != nil || r.Episodes != each {
				b.Fatalf("%v %+v", err, r)
			}
			spent[i] += sim.ProcessorTime() - before
			steps[i] += r.Steps
		}
	}
	perEpisode := func(i int) float64 { return spent[i].Seconds() * 1000 / float64(each*b.N) }
	b.ReportMetric(perEpisode(0), "ms/episode(zk.Lock)")
	b.ReportMetric(perEpisode(1), "ms/episode(wire)")
	b.ReportMetric(perEpisode(2), "ms/episode(in-process)")
	b.ReportMetric(perEpisode(1)/perEpisode(2), "times")
	b.ReportMetric(float64(steps[0])/float64(each*b.N), "steps(zk.Lock)")
	b.ReportMetric(float64(steps[1])/float64(each*b.N), "steps(wire)")
}

// What coverage costs: the median, over pairs of campaigns with and without, of the processor time that it adds.
func BenchmarkCoverage(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, kind := range []string{"lock", "queue"} {
		w, err := workload.Find(kind, "")
		if err != nil {
			b.Fatal(err)
		}
		b.Run(kind, func(b *testing.B) { benchmarkCoverage(b, w) })
	}
}

func benchmarkCoverage(b *testing.B, w sim.Workload) {
	var more []float64
	for turn := range b.N {
		var spent [2]time.Duration
		for i := range spent {
			with := (turn + i) % 2
			before := sim.ProcessorTime()
			cfg := sim.Config{Episodes: 1000, Seed: uint64(turn), Workers: 1, Coverage: with == 1}
			if r, err := sim.Run(context.Background(), w, cfg); err != nil || r.Verdict != sim.VerdictOK {
				b.Fatalf("%v %s", err, r.Verdict)
			}
			spent[with] = sim.ProcessorTime() - before
		}
		more = append(more, 100*(spent[1].Seconds()/spent[0].Seconds()-1))
	}
	slices.Sort(more)
	b.ReportMetric(more[len(more)/2], "%more")
}
