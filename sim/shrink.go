package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// minimise makes a counterexample small: as long as the same property breaks it takes users, operations, faults and
// choices away, and looks for other small runs. It keeps the trace of the smallest run, which is a function of the
// choices.
func (c *campaign) minimise(f *Found) {
	s := &shrinker{property: f.Property, budget: shrinkRuns, known: &tree{}, cfg: c.cfg, solo: c.solo}
	if c.cfg.ShrinkTime > 0 {
		if c.due.IsZero() {
			c.due = time.Now().Add(c.cfg.ShrinkTime)
		}
		s.due = c.due
	}
	switch {
	case c.cfg.NoShrink || c.part.Frozen != "":
		s.budget = 0
	case f.Property == "goroutine-leak":
		s.budget = shrinkLeaks
	}
	s.told, s.toldAt = func() { c.progressOf(s) }, time.Now()
	c.solo.tick = s.told
	if c.solo.interrupted() {
		s.end("it was interrupted")
	}
	if s.budget > 0 {
		s.best = s.run(f.Choices.Replay(), nil)
		if s.best.breaks(f.Property) != nil {
			s.shrink()
			f.Choices = s.best.choices
		}
	}
	f.Unfinished = s.unfinished
	c.settleRun(f)
}

// progressOf tells how far the minimising is.
func (c *campaign) progressOf(s *shrinker) {
	if c.cfg.Progress == nil {
		return
	}
	p := c.reached()
	p.Minimising = &Minimising{Property: s.property, Runs: s.runs}
	if s.best != nil {
		p.Minimising.Clients, p.Minimising.Faults, p.Minimising.Steps = s.best.clients, s.best.faults, s.best.tortured
	}
	c.cfg.Progress(p)
}

// shrinkRuns bounds the work of minimising one counterexample.
const shrinkRuns = 10000

// shrinkLeaks is the same for goroutine leaks: each run leaves more goroutines.
const shrinkLeaks = 300

type shrinker struct {
	property string
	budget   int
	known    *tree // runs of edited lists of choices
	cfg      Config
	solo     *solo
	best     *outcome
	runs     int
	due      time.Time // when to end; zero: never
	told     func()    // tells how far it is, if it is set …
	toldAt   time.Time // … as was done then

	unfinished string // why it ended early, "" if it has not
}

// run runs an episode, and gives it up when it costs as much as most. After a frozen world it stops looking: each
// would be waited for.
func (s *shrinker) run(source Source, most []int) *outcome {
	cfg := s.cfg.episode(source)
	cfg.most, cfg.events = most, true
	o := s.solo.run(cfg)
	s.runs++
	if s.told != nil && time.Since(s.toldAt) > progressEvery {
		s.told()
		s.toldAt = time.Now()
	}
	switch {
	case s.solo.interrupted():
		s.end("it was interrupted")
	case s.solo.frozen != nil:
		s.end("a world stood still")
	case s.solo.full:
		s.end(heavyLeft())
	case !s.due.IsZero() && time.Now().After(s.due):
		s.end(fmt.Sprintf("the %v for that were over", s.cfg.ShrinkTime))
	case o.left != "":
		s.budget = min(s.budget, shrinkLeaks)
	}
	return o
}

// end ends the minimising.
func (s *shrinker) end(why string) {
	if s.budget > 0 {
		s.budget, s.unfinished = 0, why
	}
}

// size is what a person has to understand of a run. Each number only grows while the run goes on.
type size struct {
	users    int
	clients  int
	faults   int // how many strikes
	calls    int // operations that have begun
	tortured int // steps of the torture phase
}

// cost orders counterexamples: by their size, the most important first (two clients with a user each are simpler
// than one with two), then by how many choices they take, and by the sum of these.
func (s *size) cost(choices, sum int) []int {
	return []int{s.users, s.users - s.clients, s.faults, s.calls, s.tortured, choices, sum}
}

func cost(o *outcome) []int { return o.size.cost(len(o.choices), sum(o.choices)) }

func sum(choices Choices) (total int) {
	for _, c := range choices {
		total += c
	}
	return total
}

// layout returns how many users each client has.
func (w *World) layout() (users []int) {
	for _, p := range w.procs {
		users = append(users, len(p.users))
	}
	return users
}

func (w *World) size() size {
	s := size{clients: len(w.procs), calls: len(w.ops), tortured: w.step}
	for _, p := range w.procs {
		s.users += len(p.users)
	}
	for _, n := range w.struck {
		s.faults += n
	}
	if w.liveness {
		s.tortured = w.tortured
	}
	return s
}

var errTooLarge = errors.New("not smaller than the smallest that is known")

// beat shows that the world turns, and gives the run up when it can no longer cost less than it may.
func (w *World) beat() {
	w.cfg.dog.beat()
	if w.cfg.dog.late.Load() {
		panic(givenUp{errInterrupted})
	}
	if w.cfg.most == nil {
		return
	}
	s := w.size()
	if slices.Compare(s.cost(w.source.used, w.source.sum), w.cfg.most) >= 0 {
		panic(givenUp{errTooLarge})
	}
}

// shrink goes down from the run that was found in two orders, which often end at different runs: what happens first, which
// takes most away and makes runs short, or the choices first. It goes on with the smaller one; if that stays large, with
// the other, too. Editing comes last, so that in the end no single choice can go.
func (s *shrinker) shrink() {
	found := s.best
	s.replot()
	s.edit()
	other := s.best
	s.best = found
	s.edit()
	s.replot()
	s.edit()
	s.smallerOf(&other)
	s.deepen()
	if s.best.users > 1 && s.best.calls > large {
		s.best, other = other, s.best
		s.deepen()
		s.smallerOf(&other)
	}
	s.edit()
}

// large is how many operations a run with several users has at most that is looked for from one end only.
const large = 4

// smallerOf makes the best the smaller one of the best and another run, and that the larger one.
func (s *shrinker) smallerOf(other **outcome) {
	if slices.Compare(cost(*other), cost(s.best)) < 0 {
		s.best, *other = *other, s.best
	}
}

// deepen looks below the best for what simplifying it does not come to, until the best has no fewer users, faults or
// operations for it.
func (s *shrinker) deepen() {
	for deeper := true; deeper; {
		s.below()
		before := s.best
		for s.exchange() {
			s.replot()
		}
		deeper = s.best.users != before.users || s.best.faults != before.faults || s.best.calls != before.calls
	}
}

// edit makes the list of choices of the best run simpler until no edit helps.
func (s *shrinker) edit() {
	for improved := true; improved && s.budget > 0; {
		improved = false
		for _, pass := range []func() bool{s.zeroLabels, s.lower, s.dropChunks} {
			if pass() {
				improved = true
			}
		}
	}
}

// try runs an edited list of choices, aligned by label, and keeps it if the property still breaks and the run is
// simpler, unless it is known what becomes of it.
func (s *shrinker) try(edited []made) bool {
	if s.budget <= 0 || s.known.knows(newAligned(edited)) {
		return false
	}
	s.budget--
	o := s.run(newAligned(edited), cost(s.best))
	s.known.add(o.made)
	return s.keep(o)
}

// keep keeps a run in which the property breaks if it is simpler than the best.
func (s *shrinker) keep(o *outcome) bool {
	if o.breaks(s.property) == nil || slices.Compare(cost(o), cost(s.best)) >= 0 {
		return false
	}
	s.best = o
	return true
}

// zeroLabels sets all choices of one label to 0 from some point on, halving the part that is set.
func (s *shrinker) zeroLabels() (improved bool) {
	for _, label := range labelsOf(s.best.made) {
		for part := 1; part <= 32; part *= 2 {
			edited := slices.Clone(s.best.made)
			from := len(edited) - len(edited)/part
			changed := false
			for i := from; i < len(edited); i++ {
				if edited[i].label == label && edited[i].value != 0 {
					edited[i].value, changed = 0, true
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

func labelsOf(all []made) []string {
	var labels []string
	for _, m := range all {
		if !slices.Contains(labels, m.label) {
			labels = append(labels, m.label)
		}
	}
	return labels
}

// lower replaces single numbers by smaller ones.
func (s *shrinker) lower() (improved bool) {
	for i := 0; i < len(s.best.made); i++ {
		for value := 0; i < len(s.best.made) && value < s.best.made[i].value; value++ {
			edited := slices.Clone(s.best.made)
			edited[i].value = value
			if s.try(edited) {
				improved = true
				break
			}
		}
	}
	return improved
}

// dropChunks deletes runs of choices, from long ones to single ones.
func (s *shrinker) dropChunks() (improved bool) {
	for size := 16; size > 0; size /= 2 {
		for i := len(s.best.made) - size; i >= 0; i -= max(1, size/2) {
			if i+size > len(s.best.made) || !anyNonzero(s.best.made[i:]) {
				continue
			}
			if s.try(slices.Delete(slices.Clone(s.best.made), i, i+size)) {
				improved = true
			}
		}
	}
	return improved
}

func anyNonzero(all []made) bool {
	return slices.ContainsFunc(all, func(m made) bool { return m.value != 0 })
}

// aligned replays choices with a queue for each label, so that deleting what one client plans does not shift the
// scheduler's choices.
type aligned struct{ queues map[string][]int }

func newAligned(all []made) *aligned {
	a := &aligned{map[string][]int{}}
	for _, m := range all {
		a.queues[m.label] = append(a.queues[m.label], m.value)
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
