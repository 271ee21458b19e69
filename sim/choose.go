package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/zktorture/zktorture/internal/digest"
)

// Source is the only source of nondeterminism in a run. Choose returns a number below
// n ≥ 2; 0 is always the simplest answer (the same client goes on, no fault). The label says what
// is being chosen; a source may use it only to weigh its answers.
//
// Implementations are random choice, replay, the sweep, rapid and a fuzzer's bytes.
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

	labelAtMost      = "faults at most" // how many faults may strike?
	labelLagging     = "lagging"        // is the server that a client connects to behind?
	labelUnconnected = "unconnected"    // does a client begin without a connection?
)

// The labels with which workloads plan clients and users: shrinking takes users away together with their plans.
const (
	LabelClients = "clients"   // how many clients are there in addition to the first?
	LabelShared  = "two users" // asked for each client: do two users share its session?
)

var planLabels = func() (labels [20]string) {
	for i := range labels {
		labels[i] = labelPlan + string(rune('a'+i))
	}
	return labels
}()

// PlanLabel is the label of what a user plans, by its place among all users. Each has one of its own, so that taking
// something away from one user's plan leaves the others' as they are.
func PlanLabel(slot int) string { return planLabels[slot%len(planLabels)] }

// Labels of single places.
const (
	labelWraps       = "counter wraps or sticks"
	labelCounters    = "which counters"
	labelFirstNumber = "first number"
	labelPlan        = "plan of user " // and the user's letter
)

// Choices is a list of choices, replayable as a [Source]: what stands beyond its end is 0, and a
// number that is too large for its place counts as the largest there.
type Choices []int

// Replay returns a source that makes these choices again.
func (c Choices) Replay() Source { return &replaySource{rest: c} }

type replaySource struct{ rest Choices }

func (s *replaySource) Choose(n int, _ string) int {
	if len(s.rest) == 0 {
		return 0
	}
	v := s.rest[0]
	s.rest = s.rest[1:]
	return min(max(v, 0), n-1)
}

// recorder keeps the choices that another source makes.
type recorder struct {
	source Source
	made   []made
	crash  *crashFile
	used   int // how many choices there are without the zeros at the end …
	sum    int // … and their sum

	windows uint64 // how often a seed for the runtime was drawn, in exact mode
}

// made is one choice with the question that it answers.
type made struct {
	value, n int
	label    string
}

func (r *recorder) Choose(n int, label string) int {
	v := r.source.Choose(n, label)
	if v < 0 || v >= n {
		panic(fmt.Sprintf("sim: source %T chose %d of %d (%s)", r.source, v, n, label))
	}
	r.add(made{v, n, label})
	return v
}

func (r *recorder) add(m made) {
	r.made = append(r.made, m)
	if m.value > 0 {
		r.used, r.sum = len(r.made), r.sum+m.value
	}
	r.crash.add(m.value)
}

// choices returns what was chosen, without the zeros at the end.
func (r *recorder) choices() Choices {
	c := make(Choices, r.used)
	for i := range c {
		c[i] = r.made[i].value
	}
	return c
}

// randomSource draws from a seed. How often faults strike, and how long a client goes on before
// another takes over, are drawn once an episode, so that episodes differ in kind.
type randomSource struct {
	rng   rand.PCG
	fault uint64 // a fault strikes with probability 1/2^fault
	stay  uint64 // the same client goes on with probability stay/8, before fair choice
	chance
}

func newRandomSource(seed, episode uint64) *randomSource {
	s := &randomSource{}
	s.reset(seed, episode)
	return s
}

func (s *randomSource) reset(seed, episode uint64) {
	s.rng.Seed(seed, digest.Mix(episode))
	s.fault = 1 + s.rng.Uint64()%5
	s.stay = s.rng.Uint64() % 8
	s.chance = newChance(seed, episode)
}

func (s *randomSource) Choose(n int, label string) int {
	x := s.rng.Uint64()
	switch label {
	case LabelFault:
		if x&(1<<s.fault-1) != 0 {
			return 0
		}
		return 1 + int(x>>32%uint64(n-1))
	case LabelNext:
		if x&7 < s.stay {
			return 0
		}
	}
	return int(x >> 32 % uint64(n))
}
