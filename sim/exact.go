package sim

import (
	"slices"

	"github.com/zktorture/zktorture/internal/digest"
)

// Exact tells whether this program was built in exact mode, as torture test and torture run --exact do: what an ordinary
// build leaves to the Go runtime is decided by the tape of choices then. Worlds of such a process run one after the other.
func Exact() bool { return exactBuild }

// The labels of what the Go runtime decides in exact mode. 0 is the simplest answer of each: first in, first out; the first
// case that is ready; the timer that was started first; the beginning of the map; the first of many streams of numbers.
const (
	LabelTurn    = "turn"      // which of the goroutines that are ready runs next?
	LabelSelect  = "select"    // which of the cases that are ready is taken?
	LabelTimer   = "timer"     // which of the timers that are due together fires first?
	LabelMap     = "map order" // where does the iteration over a map begin?
	LabelRandom  = "random"    // what do math/rand's global functions and crypto/rand return?
	LabelRuntime = "runtime"   // for sources that do not say their answers in advance: the seed of all that
)

const exactKinds = 5

var exactLabels = [exactKinds]string{LabelTurn, LabelSelect, LabelTimer, LabelMap, LabelRandom}

// exactTape is how the loop and the Go runtime of an exact build talk: the runtime cannot call a [Source] while it
// schedules goroutines. Before the loop lets goroutines run it hands in what the source would answer; afterwards it takes
// what was decided. The runtime knows the layout, see internal/exact/edits.
type exactTape struct {
	answers [exactKinds][]int
	used    [exactKinds]int // how many of answers were used
	one     bool            // answers[0] has those of all kinds, in the order of the questions
	seed    uint64          // beyond the answers: 0 for the simplest, else what they are drawn from …
	often   uint64          // … so that of 256 so many may be other than 0
	made    []exactMade
	count   int // how many of made there are; once it is full all answers are 0
}

type exactMade struct{ kind, n, value uint32 }

// exactMadeMax bounds the decisions between two steps. A goroutine that needs more does not come to rest anyway.
const exactMadeMax = 1 << 14

func newExactTape() *exactTape {
	t := &exactTape{made: make([]exactMade, exactMadeMax)}
	t.close()
	return t
}

// close makes 0 the answer to everything between two steps.
func (t *exactTape) close() { t.count = len(t.made) }

// open forgets what was handed in last.
func (t *exactTape) open() { *t = exactTape{made: t.made} }

// exactWorlds has the tape when no exact world runs. Worlds of one process share mutexes, such as those of sync.Pool, and
// would decide each other's turns.
var exactWorlds = make(chan *exactTape, 1)

func init() {
	if exactBuild {
		exactWorlds <- newExactTape()
	}
}

// enter waits until no other exact world runs.
func (d *watchdog) enter(exact bool) {
	if exactBuild && exact {
		d.tape.Store(<-exactWorlds)
	}
}

// leave lets the next exact world run.
func (d *watchdog) leave() {
	if t := d.tape.Swap(nil); t != nil {
		exactWorlds <- t
	}
}

// abandon is leave for a world that stands still: it may still use its tape.
func (d *watchdog) abandon() {
	if d.tape.Swap(nil) != nil {
		exactWorlds <- newExactTape()
	}
}

// beginExact makes the world's bubble exact.
func (w *World) beginExact() {
	if !exactBuild {
		return
	}
	if w.tape = w.cfg.dog.tape.Load(); w.tape != nil {
		exactBegin(w.tape)
	}
}

// hand hands in what the source would answer while goroutines run. After the verdict all answers are 0.
func (w *World) hand() {
	if exactBuild && w.tape != nil && !w.ending {
		w.tape.open()
		w.source.foretell(w.tape)
	}
}

// takeDecisions takes what the runtime has decided since.
func (w *World) takeDecisions() {
	if exactBuild && w.tape != nil && !w.ending {
		w.source.told(w.tape)
		w.tape.close()
	}
}

// foreteller is a source that says in advance what it would answer.
type foreteller interface {
	foretell(t *exactTape)
	told(t *exactTape) // takes note of how much of it was used
}

// runtimeSeeds is how many answers the question for a seed has.
const runtimeSeeds = 16

func (r *recorder) foretell(t *exactTape) {
	if f, can := r.source.(foreteller); can {
		f.foretell(t)
		return
	}
	r.windows++
	if v := r.source.Choose(runtimeSeeds, LabelRuntime); v > 0 {
		t.seed, t.often = digest.Mix(uint64(v)^digest.Mix(r.windows))|1, 128
	}
}

func (r *recorder) told(t *exactTape) {
	for _, m := range t.made[:t.count] {
		r.add(made{int(m.value), int(m.n), exactLabels[m.kind]})
	}
	if f, can := r.source.(foreteller); can {
		f.told(t)
	}
}

func (s *replaySource) foretell(t *exactTape) { t.answers[0], t.one = s.rest, true }
func (s *replaySource) told(t *exactTape)     { s.rest = s.rest[t.used[0]:] }

func (a *aligned) foretell(t *exactTape) {
	for kind, label := range exactLabels {
		t.answers[kind] = a.queues[label]
	}
}

func (a *aligned) told(t *exactTape) {
	for kind, label := range exactLabels {
		if n := t.used[kind]; n > 0 {
			a.queues[label] = a.queues[label][n:]
		}
	}
}

// chance draws what the runtime decides in an episode. It is apart from what draws the other choices, so that these are the
// same in an ordinary build.
type chance struct {
	seed  uint64 // of the next time that goroutines run
	often uint64 // of 256 decisions, how many may be other than 0; drawn once an episode
}

func newChance(seed, episode uint64) chance {
	if !exactBuild {
		return chance{}
	}
	x := digest.Mix(seed ^ digest.Mix(^episode))
	return chance{x, [...]uint64{0, 16, 64, 128, 256}[digest.Mix(x)%5]}
}

func (c *chance) foretell(t *exactTape) {
	c.seed = digest.Mix(c.seed)
	t.seed, t.often = c.seed|1, c.often
}

func (c *chance) told(*exactTape) {}

func (l *level) foretell(t *exactTape) { l.random.foretell(t) }
func (l *level) told(*exactTape)       {}

func (s *baseSource) foretell(t *exactTape) { s.random.foretell(t) }
func (s *baseSource) told(*exactTape)       {}

func (s *forkedSource) foretell(t *exactTape) {
	s.replaySource.foretell(t)
	s.random.foretell(t)
}

// withoutRuntime returns the choices that the runtime did not make.
func withoutRuntime(all []made) []made {
	if !exactBuild {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(m made) bool { return slices.Contains(exactLabels[:], m.label) })
}
