package sim

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/resource"
	"github.com/zktorture/zktorture/sim/internal/draw"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// SetFreezeAfter changes how long a world may stand still.
func SetFreezeAfter(d time.Duration) { runner.FreezeAfter = d }

// One is what came of one episode, for tests of this package.
type One struct {
	Violations []world.Violation
	Unknown    string
	Trace      []world.Step
	Hash       uint64
	Choices    world.Choices
	Faults     int // strikes
	Steps      int
	Tortured   int
	Made       int // choices
	Aborted    any // what the source gave up with
	Users      int
}

// RunOne runs one episode on servers of its own.
func RunOne(w world.Workload, cfg Config, source world.Source) One {
	return runOneOn(fakezk.New(fakezk.Config{}), w, cfg, source)
}

// Runner returns a RunOne whose episodes share their servers.
func Runner() func(world.Workload, Config, world.Source) One {
	servers := fakezk.New(fakezk.Config{})
	return func(w world.Workload, cfg Config, source world.Source) One { return runOneOn(servers, w, cfg, source) }
}

// Hasher runs one episode and returns its hash only, which keeps no trace.
type Hasher func(world.Workload, Config, world.Source) uint64

// HashOne runs on servers of its own.
func HashOne(w world.Workload, cfg Config, source world.Source) uint64 {
	return NewHasher()(w, cfg, source)
}

// NewHasher returns a Hasher whose episodes share their servers and memory, as a worker's do.
func NewHasher() Hasher {
	servers := fakezk.New(fakezk.Config{})
	memory := world.NewMemory()
	return func(w world.Workload, cfg Config, source world.Source) uint64 {
		cfg, err := cfg.askingForAll().WithDefaults()
		if err != nil {
			panic(err)
		}
		e := cfg.episode(tally.Unnumbered, source)
		e.Servers, e.Memory = servers, memory
		return runner.Run(w, e).Hash
	}
}

// askingForAll has all faults where nobody says.
func (cfg Config) askingForAll() Config {
	if cfg.Faults == 0 && !cfg.NoFaultsAtAll {
		cfg.Faults = world.AllFaults
	}
	return cfg
}

func runOneOn(servers *fakezk.Ensemble, w world.Workload, cfg Config, source world.Source) One {
	cfg, err := cfg.askingForAll().WithDefaults()
	if err != nil {
		panic(err)
	}
	var trace []world.Step
	e := cfg.episode(tally.Unnumbered, source)
	e.Servers, e.Trace = servers, &trace
	o := runner.Run(w, e)
	return One{o.Violations, o.Unknown, trace, o.Hash, o.Choices, o.Faults, o.Steps, o.Tortured, len(o.Made), o.Aborted, o.Users}
}

// SourceOf returns the source of an episode of a campaign.
func SourceOf(strategy string, seed, episode uint64) world.Source {
	return draw.New(strategy, seed, near(strategy)).Source(episode)
}

// near are episodes for strategy near, of any kind.
func near(strategy string) []world.Choices {
	if strategy != draw.Near {
		return nil
	}
	return []world.Choices{{1, 2, 3, 4, 5, 6, 7, 8, 9}, slices.Repeat(world.Choices{0, 1, 2}, 100)}
}

// NearFor returns them for another package's tests.
var NearFor = near

// Turns are whose the episodes of a mix are.
func Turns() []string { return draw.Turns[:] }

// ProcessorTime is what this process has had of the processors.
func ProcessorTime() time.Duration { return resource.CPUTime() }

// SetLeftGoroutines sets how many goroutines there may be, until undo is called.
func SetLeftGoroutines(n int) (undo func()) {
	old := runner.LeftGoroutinesMax
	runner.LeftGoroutinesMax = n
	return func() { runner.LeftGoroutinesMax = old }
}

// WorldStands reports whether there is a world in which nobody runs.
func WorldStands() bool { return runner.WorldStands() }

// ForTest is how [Check] runs with options.
func ForTest(t *testing.T, list ...Option) (Config, error) { return optionsOf(list).forTest(t) }

// ExploreEach is [Explore], and shows each execution.
func ExploreEach(ctx context.Context, w world.Workload, b Bound, ran func(*world.Run)) (Result, error) {
	x, err := newExploration(w, b)
	if err != nil {
		return Result{}, err
	}
	x.ran = ran
	return x.explore(ctx), nil
}

// RunChoices runs the choices of an episode again, as an execution of [Explore].
func RunChoices(w world.Workload, b Bound, choices world.Choices) *world.Run {
	e := b.Config().episode(tally.Unnumbered, choices.Replay())
	e.Servers = fakezk.New(fakezk.Config{})
	return runner.Run(w, e)
}
