package sim

import (
	"context"
	"slices"
	"time"

	"github.com/zktorture/zktorture/fakezk"
)

// SetFreezeAfter changes how long a world may stand still.
func SetFreezeAfter(d time.Duration) { freezeAfter = d }

// Bubble is the number of the caller's bubble, 0 if there is none.
var Bubble = bubble

// One is what came of one episode, for tests of this package.
type One struct {
	Violations []Violation
	Unknown    string
	Trace      []Step
	Hash       uint64
	Choices    Choices
	Faults     int // strikes
	Steps      int
	Tortured   int
	Made       int // choices
	Aborted    any // what the source gave up with
}

// GivenUp is what a source panics with to give an episode up.
func GivenUp(by any) any { return givenUp{by} }

// RunOne runs one episode on servers of its own.
func RunOne(w Workload, cfg Config, source Source) One {
	return runOneOn(fakezk.New(fakezk.Config{}), w, cfg, source)
}

// Runner returns a RunOne whose episodes share their servers.
func Runner() func(Workload, Config, Source) One {
	servers := fakezk.New(fakezk.Config{})
	return func(w Workload, cfg Config, source Source) One { return runOneOn(servers, w, cfg, source) }
}

// Hasher runs one episode and returns its hash only, which keeps no trace.
type Hasher func(Workload, Config, Source) uint64

// HashOne runs on servers of its own.
func HashOne(w Workload, cfg Config, source Source) uint64 { return NewHasher()(w, cfg, source) }

// NewHasher returns a Hasher whose episodes share their servers and memory, as a worker's do.
func NewHasher() Hasher {
	servers := fakezk.New(fakezk.Config{})
	var memory []made
	return func(w Workload, cfg Config, source Source) uint64 {
		cfg, err := cfg.withDefaults()
		if err != nil {
			panic(err)
		}
		e := cfg.episode(source)
		e.servers, e.made = servers, memory
		o := runEpisode(w, e)
		memory = o.made
		return o.hash
	}
}

func runOneOn(servers *fakezk.Ensemble, w Workload, cfg Config, source Source) One {
	cfg, err := cfg.withDefaults()
	if err != nil {
		panic(err)
	}
	var trace []Step
	e := cfg.episode(source)
	e.servers, e.trace = servers, &trace
	o := runEpisode(w, e)
	return One{o.Violations, o.Unknown, trace, o.hash, o.choices, o.faults, o.steps, o.tortured, len(o.made), o.aborted}
}

// SweepOf returns the runs that the sweep makes of one base episode with a single fault each.
func SweepOf(w Workload, cfg Config, base uint64) []Source {
	cfg, _ = cfg.withDefaults()
	source := &baseSource{random: *newRandomSource(cfg.Seed, base)}
	e := cfg.episode(source)
	e.servers = fakezk.New(fakezk.Config{})
	o := runEpisode(w, e)
	var runs []Source
	for _, p := range source.places {
		runs = append(runs, newSweepSource(cfg.Seed, base, o.made, []place{p}))
	}
	return runs
}

// NewOpContext returns the context of an operation, and what ends it; settle waits until whoever was
// told has blocked again.
func NewOpContext() (ctx context.Context, end func(settle func())) {
	c := newOpContext()
	return c, c.end
}

// WorldStands tells whether there is a world in which nobody runs.
func WorldStands() bool { return worldStands() }

// Resamples is how many worlds are drawn in each search for a smaller counterexample.
func Resamples() int { return resamples }

// SetResamples changes it.
func SetResamples(n int) { resamples = n }

// Within runs choices whole, and again until they become larger than what other choices give. It tells whether the
// whole run is larger.
func Within(w Workload, cfg Config, choices, bound func() Source) (whole, bounded One, larger bool) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		panic(err)
	}
	servers := fakezk.New(fakezk.Config{})
	run := func(source Source, most *size) (One, *outcome) {
		e := cfg.episode(source)
		e.servers, e.most = servers, most
		o := runEpisode(w, e)
		return One{Hash: o.hash, Aborted: o.aborted}, o
	}
	_, smallest := run(bound(), nil)
	whole, o := run(choices(), nil)
	bounded, _ = run(choices(), &smallest.size)
	return whole, bounded, slices.Compare(o.list(), smallest.list()) > 0
}

// HashOfEdit is by what shrinking knows that it has tried a list, given as labels and values in turn.
func HashOfEdit(labels []string, values []int) uint64 {
	all := make([]made, len(labels))
	for i := range all {
		all[i].label, all[i].value = labels[i], values[i]
	}
	return newAligned(all).hash()
}

// ProcessorTime is what this process has had of the processors.
func ProcessorTime() time.Duration { return processorTime() }
