package sim

import (
	"errors"
	"maps"
	"slices"
)

// minimise makes a counterexample small: it deletes and lowers choices and looks for other small runs as long as the
// same property breaks, and keeps the trace of the smallest run.
func (c *campaign) minimise(f *Found) {
	s := &shrinker{property: f.Property, budget: shrinkRuns, tried: map[uint64]bool{}, cfg: c.cfg, solo: c.solo}
	switch {
	case c.cfg.NoShrink:
		s.budget = 0
	case f.Property == "goroutine-leak":
		s.budget = shrinkLeaks
	}
	s.best = s.run(f.Choices.Replay())
	if s.best.breaks(f.Property) != nil {
		s.shrink()
		f.Choices = s.best.choices
	}
	c.settleRun(f)
}

// shrinkRuns bounds the work of minimising one counterexample.
const shrinkRuns = 10000

// shrinkLeaks is the same for goroutine leaks: each run leaves more goroutines.
const shrinkLeaks = 300

type shrinker struct {
	property string
	budget   int
	tried    map[uint64]bool // edited lists, by their hashes
	cfg      Config
	solo     *solo
	best     *outcome
}

// run runs an episode, and gives it up when it is larger than the best. After a frozen world it stops looking: each
// would be waited for.
func (s *shrinker) run(source Source) *outcome {
	cfg := s.cfg.episode(source)
	if s.best != nil {
		cfg.most = new(s.best.size)
	}
	o := s.solo.run(cfg)
	switch {
	case s.solo.frozen != nil:
		s.budget = 0
	case o.left != "":
		s.budget = min(s.budget, shrinkLeaks)
	}
	return o
}

// size is what a person has to understand of a run. Each number only grows while the run goes on.
type size struct {
	users    int
	clients  int
	faults   int // how many strikes
	calls    int // operations that have begun
	tortured int // steps of the torture phase
}

// list has the most important first: two clients with a user each are simpler than one with two.
func (s *size) list() []int {
	return []int{s.users, s.users - s.clients, s.faults, s.calls, s.tortured}
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

var errTooLarge = errors.New("larger than the smallest that is known")

// beat shows that the world turns, and gives the run up when it is too large.
func (w *World) beat() {
	w.cfg.dog.beat()
	if w.cfg.most == nil {
		return
	}
	if s := w.size(); slices.Compare(s.list(), w.cfg.most.list()) > 0 {
		panic(givenUp{errTooLarge})
	}
}

// cost orders counterexamples: by their size, then by the choices that they take.
func cost(o *outcome) []int {
	sum := 0
	for _, m := range o.made {
		sum += m.value
	}
	return append(o.list(), len(o.choices), sum)
}

func (s *shrinker) shrink() {
	s.edit()
	for before := (*outcome)(nil); before != s.best && s.budget > 0; {
		before = s.best
		s.resample()
		s.edit()
	}
}

// edit makes the list of choices of the best run simpler until no edit helps.
func (s *shrinker) edit() {
	for improved := true; improved && s.budget > 0; {
		improved = false
		for _, pass := range []func() bool{s.dropFaults, s.zeroLabels, s.lower, s.dropChunks} {
			if pass() {
				improved = true
			}
		}
	}
}

// try runs an edited list of choices, aligned by label, and keeps it if the property still breaks and the run is
// simpler. What was tried before would be the same run.
func (s *shrinker) try(edited []made) bool {
	source := newAligned(edited)
	hash := source.hash()
	if s.budget <= 0 || s.tried[hash] {
		return false
	}
	s.tried[hash] = true
	s.budget--
	return s.keep(s.run(source))
}

// dropFaults takes single faults away, with the choices that belong to them.
func (s *shrinker) dropFaults() (improved bool) {
	for i := len(s.best.made) - 1; i >= 0; i-- {
		if i >= len(s.best.made) || s.best.made[i].label != LabelFault || s.best.made[i].value == 0 {
			continue
		}
		edited := slices.Clone(s.best.made)
		edited[i].value = 0
		end := i + 1
		for end < len(edited) && (edited[end].label == LabelTarget || edited[end].label == LabelVariant) {
			end++
		}
		if s.try(slices.Delete(edited, i+1, end)) {
			improved = true
		}
	}
	return improved
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
		for value := 0; i < len(s.best.made) && value < min(s.best.made[i].value, 4); value++ {
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

// hash tells lists apart by their runs: where a queue has ended, zeros follow.
func (a *aligned) hash() uint64 {
	h := uint64(hashStart)
	for _, label := range slices.Sorted(maps.Keys(a.queues)) {
		queue := a.queues[label]
		for len(queue) > 0 && queue[len(queue)-1] == 0 {
			queue = queue[:len(queue)-1]
		}
		h = mix(foldString(h, label) ^ uint64(len(queue)))
		for _, value := range queue {
			h = mix(h ^ uint64(value))
		}
	}
	return h
}

func (a *aligned) Choose(n int, label string) int {
	queue := a.queues[label]
	if len(queue) == 0 {
		return 0
	}
	a.queues[label] = queue[1:]
	return min(queue[0], n-1)
}
