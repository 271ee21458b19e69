package world

import (
	"fmt"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// Source is the only source of nondeterminism in a run. Choose returns a number below
// n ≥ 2; 0 is always the simplest answer (the same client goes on, no fault). The label says what
// is being chosen; a source may use it only to weigh its answers.
//
// Implementations are random choice, replay, rapid and a fuzzer's bytes.
type Source interface {
	Choose(n int, label string) int
}

// The labels that the world itself uses. A workload's own choices carry labels of its own, made
// while it plans an episode.
const (
	LabelSwarm   = "swarm"   // is this fault part of the episode?
	LabelFault   = "fault"   // does a fault strike now, and which?
	LabelTarget  = "target"  // whom does it strike?
	LabelVariant = "variant" // and how?
	LabelNext    = "next"    // which of the things that can happen happens next?
	LabelReplica = "replica" // to which server does a client connect?

	LabelAtMost      = "faults at most" // how many faults may strike?
	LabelLagging     = "lagging"        // is the server that a client connects to behind?
	LabelUnconnected = "unconnected"    // does a client begin without a connection?
)

// The labels with which workloads plan clients and users: shrinking takes users away together with their plans.
const (
	LabelClients = "clients"   // how many clients are there in addition to the first?
	LabelShared  = "two users" // asked for each client: do two users share its session?
)

var PlanLabels = func() (labels [20]string) {
	for i := range labels {
		labels[i] = LabelPlan + string(rune('a'+i))
	}
	return labels
}()

// PlanLabel is the label of what a user plans, by its place among all users. Each has one of its own, so that taking
// something away from one user's plan leaves the others' as they are.
func PlanLabel(slot int) string { return PlanLabels[slot%len(PlanLabels)] }

// Labels of single places.
const (
	LabelWraps       = "counter wraps or sticks"
	LabelCounters    = "which counters"
	LabelFirstNumber = "first number"
	LabelPlan        = "plan of user " // and the user's letter
)

// Choices is a list of choices, replayable as a [Source]: what stands beyond its end is 0, and a
// number that is too large for its place counts as the largest there.
type Choices []int

// Replay returns a source that makes these choices again.
func (c Choices) Replay() Source { return &ReplaySource{Rest: c} }

type ReplaySource struct{ Rest Choices }

func (s *ReplaySource) Choose(n int, _ string) int {
	if len(s.Rest) == 0 {
		return 0
	}
	v := s.Rest[0]
	s.Rest = s.Rest[1:]
	return min(max(v, 0), n-1)
}

// recorder keeps the choices that another source makes.
type recorder struct {
	source Source
	made   []Made
	used   int // how many choices there are without the zeros at the end …
	sum    int // … and their sum

	windows uint64 // how often a seed for the runtime was drawn, in exact mode
}

// Made is one choice with the question that it answers.
type Made struct {
	Value, N int
	Label    string
}

func (r *recorder) Choose(n int, label string) int {
	v := r.source.Choose(n, label)
	if v < 0 || v >= n {
		panic(fmt.Sprintf("sim: source %T chose %d of %d (%s)", r.source, v, n, label))
	}
	r.add(Made{v, n, label})
	return v
}

func (r *recorder) add(m Made) {
	r.made = append(r.made, m)
	if m.Value > 0 {
		r.used, r.sum = len(r.made), r.sum+m.Value
	}
}

// choices returns what was chosen, without the zeros at the end.
func (r *recorder) choices() Choices {
	c := make(Choices, r.used)
	for i := range c {
		c[i] = r.made[i].Value
	}
	return c
}

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

var ExactLabels = [bubble.Kinds]string{LabelTurn, LabelSelect, LabelTimer, LabelMap, LabelRandom}

// beginExact makes the world's bubble exact.
func beginExact(w *World) {
	if !bubble.Exact {
		return
	}
	if w.tape = w.cfg.Tape; w.tape != nil {
		bubble.Begin(w.tape)
		bubble.Own(owner{world: w}.number())
	}
}

// hand hands in what the source would answer while goroutines run. After the verdict all answers are 0.
func (w *World) hand() {
	if bubble.Exact && w.tape != nil && !w.ending {
		w.tape.Open()
		w.source.Foretell(w.tape)
	}
}

// takeDecisions takes what the runtime has decided since.
func (w *World) takeDecisions() {
	if bubble.Exact && w.tape != nil && !w.ending {
		w.source.Told(w.tape)
		w.tape.Close()
	}
}

// foreteller is a source that says in advance what it would answer.
type foreteller interface {
	Foretell(t *bubble.Tape)
	Told(t *bubble.Tape) // takes note of how much of it was used
}

// runtimeSeeds is how many answers the question for a seed has.
const runtimeSeeds = 16

func (r *recorder) Foretell(t *bubble.Tape) {
	if f, can := r.source.(foreteller); can {
		f.Foretell(t)
		return
	}
	r.windows++
	if v := r.source.Choose(runtimeSeeds, LabelRuntime); v > 0 {
		t.Seed, t.Often = digest.Mix(uint64(v)^digest.Mix(r.windows))|1, 128
	}
}

func (r *recorder) Told(t *bubble.Tape) {
	for _, m := range t.Made[:t.Count] {
		r.add(Made{int(m.Value), int(m.N), ExactLabels[m.Kind]})
	}
	if f, can := r.source.(foreteller); can {
		f.Told(t)
	}
}

func (s *ReplaySource) Foretell(t *bubble.Tape) { t.Answers[0], t.One = s.Rest, true }
func (s *ReplaySource) Told(t *bubble.Tape)     { s.Rest = s.Rest[t.Used[0]:] }
