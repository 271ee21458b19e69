package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/cputime"
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
	Users      int
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
	var before []made
	memory := newMemory()
	return func(w Workload, cfg Config, source Source) uint64 {
		cfg, err := cfg.withDefaults()
		if err != nil {
			panic(err)
		}
		e := cfg.episode(source)
		e.servers, e.made, e.memory = servers, before, memory
		o := runEpisode(w, e)
		before = o.made
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
	return One{o.Violations, o.Unknown, trace, o.hash, o.choices, o.faults, o.steps, o.tortured, len(o.made), o.aborted, o.users}
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

// SourceOf returns the source of an episode of a campaign with a strategy other than the sweep.
func SourceOf(strategy string, seed, episode uint64) Source {
	return newDraws(strategy, seed, near(strategy)).source(episode)
}

// near are episodes for strategy near, of any kind.
func near(strategy string) []Choices {
	if strategy != Near {
		return nil
	}
	return []Choices{{1, 2, 3, 4, 5, 6, 7, 8, 9}, slices.Repeat(Choices{0, 1, 2}, 100)}
}

// NearFor returns them for another package's tests.
var NearFor = near

// Turns are whose the episodes of a mix are.
func Turns() []string { return turns[:] }

// OfOrder lets partial-order sampling carry out one event of a chain, and of another chain so many which do not race with
// it but for the last; it tells whether the first chain's came last.
func OfOrder(seed uint64, others int) bool {
	rng := rand.New(rand.NewPCG(seed, 0))
	w := &World{memory: newMemory()}
	var o order
	for done := 0; done <= others; done++ {
		kind := actTell
		if done == others {
			kind = actOutside
		}
		w.actions = []action{{kind: actOutside, client: 1}, {kind: kind, client: 2}}
		if o.pick(w, rng.Uint64) == 0 {
			return false
		}
	}
	return true
}

// SweptPatterns returns how often so many faults strike in the runs of a sweep of one base after its single faults, and in how
// many of the pairs (0) and of the patterns (1) they strike several clients, or far from each other.
func SweptPatterns(w Workload, cfg Config, base uint64) (faults [4]int, apart [2]int) {
	cfg, _ = cfg.withDefaults()
	source := &baseSource{random: *newRandomSource(cfg.Seed, base)}
	e := cfg.episode(source)
	e.servers = fakezk.New(fakezk.Config{})
	runEpisode(w, e)
	all := (&campaign{cfg: cfg}).strikesOf(base, source.places)
	for i, strikes := range all[1+len(source.places):] {
		faults[len(strikes)]++
		for j := range len(strikes) - 1 {
			if a, b := strikes[j], strikes[j+1]; a.client != b.client || b.at > a.at+soonAfter {
				apart[i%2]++
				break
			}
		}
	}
	return faults, apart
}

// NewOpContext returns the context of an operation, and what ends it; settle waits until whoever was
// told has blocked again.
func NewOpContext() (ctx context.Context, end func(settle func())) {
	c := &opContext{}
	c.begin()
	return c, c.end
}

// NewLateContext is NewOpContext, and what ends it for who asks, and not for who waits.
func NewLateContext() (ctx context.Context, endLate func(), end func(settle func())) {
	c := &opContext{}
	c.begin()
	return c, c.endLate, c.end
}

// WorldStands tells whether there is a world in which nobody runs.
func WorldStands() bool { return worldStands() }

// Within runs choices whole, and again until they become larger than what other choices give. It tells whether the
// whole run is larger.
func Within(w Workload, cfg Config, choices, bound func() Source) (whole, bounded One, larger bool) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		panic(err)
	}
	servers := fakezk.New(fakezk.Config{})
	run := func(source Source, most []int) (One, *outcome) {
		e := cfg.episode(source)
		e.servers, e.most = servers, most
		o := runEpisode(w, e)
		return One{Hash: o.hash, Aborted: o.aborted}, o
	}
	_, smallest := run(bound(), nil)
	whole, o := run(choices(), nil)
	bounded, _ = run(choices(), cost(smallest))
	return whole, bounded, slices.Compare(cost(o), cost(smallest)) >= 0
}

// ProcessorTime is what this process has had of the processors.
func ProcessorTime() time.Duration { return cputime.Spent() }

// Leaves draws runs of a tree of choices, in which the answers below next lead to known ones, until all are known.
func Leaves(next func(path []int) (n int), draw func(n int) int) (runs [][]int) {
	for known := (&tree{}); !known.done; {
		var run []made
		var path []int
		for at, n := known, next(nil); n > 0; n = next(path) {
			var answer int
			answer, at = at.pass(draw(n))
			run, path = append(run, made{answer, n, "?"}), append(path, answer)
		}
		known.add(run)
		runs = append(runs, path)
	}
	return runs
}

// FollowOne runs an episode, and again by what happened in it.
func FollowOne(w Workload, cfg Config, source Source) (hash, followed uint64) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		panic(err)
	}
	run := func(source Source) *outcome {
		e := cfg.episode(source)
		e.servers, e.events = fakezk.New(fakezk.Config{}), true
		return runEpisode(w, e)
	}
	o := run(source)
	return o.hash, run(newGuided(o.plot())).hash
}

// SingleEdits lists the single choices that can be deleted or lowered so that a property still breaks, in a
// simpler run.
func SingleEdits(w Workload, cfg Config, property string, choices Choices) (helped []string) {
	c, err := newCampaign(w, cfg)
	if err != nil {
		panic(err)
	}
	c.solo = newSolo(context.Background(), w, c.cfg)
	defer c.solo.end()
	s := &shrinker{property: property, budget: 1, known: &tree{}, cfg: c.cfg, solo: c.solo}
	best := s.run(choices.Replay(), nil)
	try := func(i int, edit string, edited []made) {
		s.best, s.budget = best, 1
		if s.keep(s.run(newAligned(edited), cost(best))) {
			helped = append(helped, fmt.Sprintf("choice %d (%s, %d) %s", i, best.made[i].label, best.made[i].value, edit))
		}
	}
	for i, m := range best.made {
		try(i, "deleted", slices.Delete(slices.Clone(best.made), i, i+1))
		for value := range m.value {
			lower := slices.Clone(best.made)
			lower[i].value = value
			try(i, fmt.Sprintf("set to %d", value), lower)
		}
	}
	return helped
}

// SetLeftGoroutines sets how many goroutines there may be, until undo is called.
func SetLeftGoroutines(n int) (undo func()) {
	old := leftGoroutinesMax
	leftGoroutinesMax = n
	return func() { leftGoroutinesMax = old }
}
