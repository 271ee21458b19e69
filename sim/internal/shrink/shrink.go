package shrink

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/internal/resource"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/world"
)

// Runs bounds the work of minimising one counterexample.
const Runs = 10000

// Leaks is the same for goroutine leaks: each run leaves more goroutines.
const Leaks = 300

// tried is a run, with what happened in it.
type tried struct {
	*world.Run
	events []world.Event // of the torture phase, until the rest happened of itself
}

// Shrinker minimises counterexamples of one property.
type Shrinker struct {
	Property string
	Budget   int                                // runs, at most; 0: nothing is minimised
	Episode  func(world.Source) *runner.Episode // with all that runs have in common
	Serial   *runner.Serial                     // that runs them
	Time     time.Duration                      // that it may take
	Due      resource.Limit                     // when to end

	Unfinished string // why it ended early, "" if it has not

	best *tried
	runs int
}

// Minimise returns the choices of the smallest run that it finds in which the property breaks: as long as it does users,
// operations, faults and choices are taken away, and other small runs are looked for.
func (s *Shrinker) Minimise(choices world.Choices) world.Choices {
	if s.Serial.Interrupted() {
		s.end("it was interrupted")
	}
	if s.Budget == 0 {
		return choices
	}
	if s.best = s.run(choices.Replay(), nil); s.best.Breaks(s.Property) == nil {
		return choices
	}
	s.shrink()
	return s.best.Choices
}

// Reached is how many runs were made so far, and the smallest; nil if there is none yet.
func (s *Shrinker) Reached() (runs int, best *world.Run) {
	if s.best == nil {
		return s.runs, nil
	}
	return s.runs, s.best.Run
}

// run runs an episode, and gives it up when it costs as much as most. After a frozen world it stops looking: each
// would be waited for.
func (s *Shrinker) run(source world.Source, most []int) *tried {
	cfg, kept := s.Episode(source), &scribe{}
	cfg.Observers = append(cfg.Observers, kept)
	if most != nil {
		cfg.Observers = append(cfg.Observers, &limit{most: most})
	}
	o := &tried{Run: s.Serial.Run(cfg)}
	o.events = kept.events[:kept.eventful:kept.eventful]
	s.runs++
	switch {
	case s.Serial.Interrupted():
		s.end("it was interrupted")
	case s.Serial.Frozen != nil:
		s.end("a world stood still")
	case s.Serial.Full:
		s.end(s.Serial.Left.String())
	case s.Due.Reached():
		s.end(fmt.Sprintf("the %v for that were over", s.Time))
	case o.Left != "":
		s.Budget = min(s.Budget, Leaks)
	}
	return o
}

// end ends the minimising.
func (s *Shrinker) end(why string) {
	if s.Budget > 0 {
		s.Budget, s.Unfinished = 0, why
	}
}

var errTooLarge = errors.New("not smaller than the smallest that is known")

// limit is an observer that gives a run up when it can no longer cost less than it may.
type limit struct {
	world.Blind
	most []int // see [size.cost]
}

func (l *limit) Turns(w *world.World) {
	s := w.Size()
	if slices.Compare(s.Cost(w.Spent()), l.most) >= 0 {
		world.GiveUp(errTooLarge)
	}
}

// shrink goes down from the run that was found in two orders, which often end at different runs: what happens first, which
// takes most away and makes runs short, or the choices first. It goes on with the smaller one; if that stays large, with
// the other, too. Editing comes last, so that in the end no single choice can go.
func (s *Shrinker) shrink() {
	found := s.best
	s.simplify()
	s.edit()
	other := s.best
	s.best = found
	s.edit()
	s.simplify()
	s.edit()
	s.smallerOf(&other)
}

// smallerOf makes the best the smaller one of the best and another run, and that the larger one.
func (s *Shrinker) smallerOf(other **tried) {
	if slices.Compare(world.Cost((*other).Run), world.Cost(s.best.Run)) < 0 {
		s.best, *other = *other, s.best
	}
}

// edit makes the list of choices of the best run simpler until no edit helps.
func (s *Shrinker) edit() {
	for improved := true; improved && s.Budget > 0; {
		improved = false
		for _, pass := range []func() bool{s.zeroLabels, s.lower, s.dropChunks} {
			if pass() {
				improved = true
			}
		}
	}
}

// try runs an edited list of choices, aligned by label, and keeps it if the property still breaks and the run is
// simpler.
func (s *Shrinker) try(edited []world.Made) bool {
	if s.Budget <= 0 {
		return false
	}
	s.Budget--
	o := s.run(newAligned(edited), world.Cost(s.best.Run))
	return s.keep(o)
}

// keep keeps a run in which the property breaks if it is simpler than the best.
func (s *Shrinker) keep(o *tried) bool {
	if o.Breaks(s.Property) == nil || slices.Compare(world.Cost(o.Run), world.Cost(s.best.Run)) >= 0 {
		return false
	}
	s.best = o
	return true
}

// zeroLabels sets all choices of one label to 0 from some point on, halving the part that is set.
func (s *Shrinker) zeroLabels() (improved bool) {
	for _, label := range labelsOf(s.best.Made) {
		for part := 1; part <= 32; part *= 2 {
			edited := slices.Clone(s.best.Made)
			from := len(edited) - len(edited)/part
			changed := false
			for i := from; i < len(edited); i++ {
				if edited[i].Label == label && edited[i].Value != 0 {
					edited[i].Value, changed = 0, true
				}
			}
			if changed && s.try(edited) {
				improved = true
				break
			}
		}
	}
	return improved
}

func labelsOf(all []world.Made) []string {
	var labels []string
	for _, m := range all {
		if !slices.Contains(labels, m.Label) {
			labels = append(labels, m.Label)
		}
	}
	return labels
}

// lower replaces single numbers by smaller ones.
func (s *Shrinker) lower() (improved bool) {
	for i := 0; i < len(s.best.Made); i++ {
		for value := 0; i < len(s.best.Made) && value < s.best.Made[i].Value; value++ {
			edited := slices.Clone(s.best.Made)
			edited[i].Value = value
			if s.try(edited) {
				improved = true
				break
			}
		}
	}
	return improved
}

// dropChunks deletes runs of choices, from long ones to single ones.
func (s *Shrinker) dropChunks() (improved bool) {
	for size := 16; size > 0; size /= 2 {
		for i := len(s.best.Made) - size; i >= 0; i -= max(1, size/2) {
			if i+size > len(s.best.Made) || !slices.ContainsFunc(s.best.Made[i:], func(m world.Made) bool { return m.Value != 0 }) {
				continue
			}
			if s.try(slices.Delete(slices.Clone(s.best.Made), i, i+size)) {
				improved = true
			}
		}
	}
	return improved
}

// aligned replays choices with a queue for each label, so that deleting what one client plans does not shift the
// scheduler's choices.
type aligned struct{ queues map[string][]int }

func newAligned(all []world.Made) *aligned {
	a := &aligned{map[string][]int{}}
	for _, m := range all {
		a.queues[m.Label] = append(a.queues[m.Label], m.Value)
	}
	return a
}

func (a *aligned) Choose(n int, label string) int {
	queue := a.queues[label]
	if len(queue) == 0 {
		return 0
	}
	a.queues[label] = queue[1:]
	return min(queue[0], n-1)
}

func (a *aligned) Foretell(t *bubble.Tape) {
	for kind, label := range world.ExactLabels {
		t.Answers[kind] = a.queues[label]
	}
}

func (a *aligned) Told(t *bubble.Tape) {
	for kind, label := range world.ExactLabels {
		if n := t.Used[kind]; n > 0 {
			a.queues[label] = a.queues[label][n:]
		}
	}
}
