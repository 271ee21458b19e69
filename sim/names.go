package sim

import (
	"io"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/cover"
	"github.com/zktorture/zktorture/sim/internal/draw"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
)

// What is declared below this package, and is part of what it takes and gives.
type (
	Workload       = world.Workload
	Violation      = world.Violation
	Coverage       = cover.Coverage
	Counterexample = replay.Counterexample
	Replayed       = replay.Replayed
)

// CounterexampleFormat is the first field of every counterexample file.
const CounterexampleFormat = replay.CounterexampleFormat

// Near is one of the [Strategies]: its episodes begin like those of [Config.Near].
const Near = draw.Near

var (
	// Strategies are the names of the strategies, with what they do.
	Strategies = draw.Strategies
	// UsualStrategy is the strategy of who names none to [Check] or torture run, by the faults that may strike: stages, or mix
	// if these are few.
	UsualStrategy = draw.Usual
	// ErrFrozen is the error of an episode whose world stood still.
	ErrFrozen = runner.ErrFrozen
)

// Replay runs a counterexample again, see [replay.Replay].
func Replay(w Workload, c *Counterexample) (*Replayed, error) { return replay.Replay(w, c) }

// ReadCounterexample reads a file and says what is wrong if it is none.
func ReadCounterexample(r io.Reader) (*Counterexample, error) { return replay.ReadCounterexample(r) }

// CheckStrategy returns an error unless a strategy is one of [Strategies].
func CheckStrategy(name string) error { return draw.CheckStrategy(name) }

// NewRandomSource returns the source that campaigns draw episode number episode from.
func NewRandomSource(seed, episode uint64) world.Source { return draw.NewRandom(seed, episode) }

// Exact reports whether this program was built in exact mode, as torture test and torture run
// --exact do: what an ordinary build leaves to the Go runtime is decided by the tape of choices
// then. Worlds of such a process run one after the other.
func Exact() bool { return bubble.Exact }
