package sim

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/digest"
)

// search runs all executions within a bound, depth first over the choices: each run makes the choices of the one before
// up to the last that has another option, takes that, and from there on the first of each (stateless search: Godefroid,
// VeriSoft, POPL 1997). A run is cut where it comes to a state that was seen before, see [World.stateHash].
//
// It is the [Source] of its runs.
type search struct {
	atMost    int // faults may strike
	users     int // of one client
	backwards bool
	without   Reductions
	plain     bool
	share     int // whose plans are searched …
	shares    int // … of so many

	stack    []branch
	at       int // how many choices the run under way has made
	met      int // states that it has come to
	left     int // faults that may still strike
	world    *World
	unserved unserved // in the present outage
	been     uint64   // clients, as bits, that have been with the present deposed leader
	kind     int      // the fault that strikes, as LabelFault has it
	extends  bool     // the next choice is of how much users do
	part     bool     // the next choice is of a user's part
	plans    []uint64 // of the run's clients, see [WithClientPlans]; nil if they are not known, or do not matter
	plan     uint64   // what the run's episode is, drawn by the first choices …
	drawn    int      // … so many; 0: it is not known yet
	key      uint64   // of the last state that was looked at

	seen   map[uint64]struct{}
	digest uint64 // of all states seen, in whatever order
	runs   int
	ends   int   // runs that were not cut
	why    error // why what was run is not all, nil if it may be

	complete bool // there is no other run
}

// branch is a choice with the options that a search takes in turn.
type branch struct {
	n       int
	label   string
	options []int
	taken   int
	met     int    // the number of the state in its run, from 1; 0 while the episode is drawn
	key     uint64 // of that state
}

func (b *branch) value() int { return b.options[b.taken] }

// Why runs of a search end early.
var (
	errSeen     = errors.New("a state that was seen before")
	errNotOurs  = errors.New("a plan of another share")
	errDiverged = errors.New("equal choices gave another run: the recipe, or the simulator, is not deterministic")
	errOnGrid   = errors.New("a violation that shows only where time is on the grid of a search")
	errOffGrid  = errors.New("too many steps passed without time")
	errDepth    = fmt.Errorf("an execution took more than %d steps before faults were healed", stepsMax)
)

func newSearch(cfg Config) *search {
	return &search{
		atMost: cfg.AtMost, users: cfg.Users, backwards: cfg.Backwards, without: cfg.Without, plain: cfg.Plain,
		share: cfg.Share, shares: cfg.Shares, seen: map[uint64]struct{}{},
	}
}

// begin begins a run.
func (s *search) begin() {
	s.at, s.met, s.left, s.world, s.unserved, s.been = 0, 0, s.atMost, nil, 0, 0
}

// Choose implements [Source].
func (s *search) Choose(n int, label string) int {
	if s.at == len(s.stack) {
		options := s.options(n, label)
		if s.backwards {
			slices.Reverse(options)
		}
		s.stack = append(s.stack, branch{n: n, label: label, options: options, met: s.met, key: s.key})
	}
	s.extends, s.part = false, false
	b := &s.stack[s.at]
	if b.n != n || b.label != label {
		panic(givenUp{errDiverged})
	}
	s.at++
	v := b.value()
	switch label {
	case LabelNext:
		s.unserved.note(s.world, s.world.actions[v])
	case LabelFault:
		s.kind = v
	}
	if spends(label, v) {
		s.left--
	}
	return v
}

// spends tells whether a choice lets a fault strike.
func spends(label string, v int) bool {
	switch label {
	case LabelFault, labelLagging:
		return v > 0
	case labelUnconnected:
		return v > beginVariants
	}
	return false
}

// options are those that a search takes of n.
func (s *search) options(n int, label string) []int {
	switch label {
	case LabelSwarm:
		return []int{1}
	case labelAtMost:
		return []int{min(max(s.atMost, 1), n) - 1}
	case LabelShared:
		if s.users < 2 {
			return []int{0}
		}
		return []int{0, n - 1}
	case LabelFault:
		return s.faults()
	case labelUnconnected:
		if s.left == 0 {
			return []int{0}
		}
		return []int{0, beginVariants + beginUnconnected, beginVariants + beginAlone}
	case labelLagging:
		if s.left == 0 {
			return []int{0}
		}
	case LabelReplica:
		return s.servers(n)
	case LabelVariant:
		return s.variants(n)
	case LabelTarget:
		return s.targets()
	case LabelNext:
		return s.inTurn(s.unserved.actions(s.world))
	}
	if s.plain && s.world == nil && !slices.Contains(worldly, label) {
		return []int{s.plainly(n, label)}
	}
	return upTo(n)
}

// plainly is what the simplest plan takes of n: as many clients and turns as may be, the fresh operation at the end,
// and for each user of the parts that users play what stands in its place, so that all parts are played.
func (s *search) plainly(n int, label string) int {
	letter, ofUser := strings.CutPrefix(label, labelPlan)
	switch {
	case label == LabelClients || s.extends:
		return n - 1
	case s.part && ofUser && len(letter) == 1:
		return int(letter[0]-'a') % n
	}
	return 0
}

// worldly are the labels of what is drawn before the episode is planned.
var worldly = []string{LabelSwarm, labelAtMost, labelWraps, labelCounters, labelFirstNumber}

// faults are those that can strike now, by their numbers among the episode's, and 0.
func (s *search) faults() []int {
	options := []int{0}
	if s.left == 0 {
		return options
	}
	w := s.world
	for kind := 1; kind <= bits.OnesCount16(uint16(w.faults&^Wrap)); kind++ {
		can := false
		if faultTable[w.nthFault(kind)].find(w, func(target) { can = true }); can {
			options = append(options, kind)
		}
	}
	return options
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// planned is called when the episode has been drawn, for which the workload has made all but the first choices. It gives a
// plan of another share up: plans that a search takes for equal have equal hashes, and states of different plans are
// never equal, so shares see nothing of each other.
func (s *search) planned(w *World, drawn int) {
	if s.world = w; s.drawn > 0 {
		return
	}
	var d digest.Sum
	count := s.at
	if e, can := w.episode.(WithPlanHash); can && !s.without.Has(ReducePlans) {
		if h, known := e.PlanHash(!s.without.Has(ReduceClients)); known {
			d.Int(int64(h))
			count = drawn
		}
	}
	for i := range count {
		d.Int(int64(s.stack[i].value()))
	}
	s.plan, s.drawn = uint64(d), s.at
	if digest.Mix(s.plan)%uint64(s.shares) != uint64(s.share) {
		panic(givenUp{errNotOurs})
	}
	s.plans = nil
	if e, can := w.episode.(WithClientPlans); can && !s.without.Has(ReduceNewcomers) {
		s.plans, _ = e.ClientPlans()
	}
}

// come is called when the world comes to a state in which something is to be chosen.
func (s *search) come(w *World) {
	s.met++
	if !w.outage.now {
		s.unserved = 0
	}
	s.noteBeen(w)
	last := len(s.stack) - 1
	again := s.at <= last
	if again && s.stack[last].met != s.met {
		return
	}
	var d digest.Sum
	d.Ints(int64(w.stateHash()), int64(s.plan), int64(s.left), int64(s.unserved), int64(s.been), int64(s.later()))
	s.key = uint64(d)
	switch _, known := s.seen[s.key]; {
	case again && s.stack[last].key != s.key:
		panic(givenUp{errDiverged})
	case again:
	case !known:
		s.seen[s.key] = struct{}{}
		s.digest += digest.Mix(s.key)
	case !s.without.Has(ReduceStates):
		panic(givenUp{errSeen})
	}
}

// next goes to the next run, and is false if there is none.
func (s *search) next() bool {
	for len(s.stack) > 0 {
		b := &s.stack[len(s.stack)-1]
		if b.taken++; b.taken < len(b.options) {
			if len(s.stack) <= s.drawn {
				s.drawn = 0
			}
			return true
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	return false
}

// done is the share of the tree of choices that lies behind, if all subtrees of a choice were equally large.
func (s *search) done() float64 {
	done, share := 0.0, 1.0
	for _, b := range s.stack {
		share /= float64(len(b.options))
		done += share * float64(b.taken)
	}
	return done
}

// in makes one run by a function. The outcome is of an execution to its end unless it was aborted.
func (s *search) in(cfg *episodeConfig, run func(*episodeConfig) *outcome) *outcome {
	s.begin()
	cfg.source, cfg.search, cfg.exact = s, s, false
	o := run(cfg)
	if o.aborted == errNotOurs || o.aborted == errInterrupted {
		return o
	}
	s.runs++
	switch o.aborted {
	case nil:
		s.ends++
		if o.tortured >= stepsMax {
			s.why = errDepth
		}
	case errSeen:
	case errDiverged, errOffGrid:
		s.why = o.aborted.(error)
	default:
		panic(o.aborted)
	}
	return o
}

// exhaust runs all executions within the bound of the campaign.
func (c *campaign) exhaust(ctx, stop context.Context, dog *watchdog) {
	s := newSearch(c.cfg)
	c.search = s
	if c.cfg.Checkpoint != "" {
		if s.why = c.load(s); s.why != nil {
			return
		}
		defer c.leave(s)
	}
	servers := fakezk.New(fakezk.Config{})
	var before []made
	memory := newMemory()
	saved := time.Now()
	for {
		cfg := c.cfg.episode(nil)
		cfg.servers, cfg.made, cfg.memory, cfg.number, cfg.dog = servers, before, memory, s.runs, dog
		o := s.in(cfg, func(e *episodeConfig) *outcome { return runEpisode(c.workload, e) })
		if before = o.made; o.aborted == errInterrupted {
			s.why = c.spent(ctx, stop, s)
			return
		}
		if o.aborted == nil {
			if c.counts(o) {
				if o = c.alone(o, servers, dog); !c.counts(o) {
					s.why = errOnGrid
				}
			}
			c.record(unnumbered, o)
		}
		switch {
		case s.why != nil || len(c.part.Found) > 0 && !c.cfg.Whole:
			return
		case !s.next():
			s.complete = true
			return
		}
		if s.why = c.spent(ctx, stop, s); s.why != nil {
			return
		}
		if c.cfg.Checkpoint != "" && time.Since(saved) > checkpointEvery {
			if s.why = c.save(s); s.why != nil {
				return
			}
			saved = time.Now()
		}
	}
}

// leave leaves a checkpoint behind of a search that may go on.
func (c *campaign) leave(s *search) {
	switch {
	case errors.Is(s.why, ErrCheckpoint): // somebody else's
	case s.complete || len(c.part.Found) > 0 && !c.cfg.Whole:
		os.Remove(c.cfg.Checkpoint)
	case s.runs > 0:
		if err := c.save(s); err != nil {
			s.why = errors.Join(s.why, err)
		}
	}
}

// alone makes a run of a search again as any other: only what can be replayed counts.
func (c *campaign) alone(o *outcome, servers *fakezk.Ensemble, dog *watchdog) *outcome {
	cfg := c.cfg.episode(o.choices.Replay())
	cfg.servers, cfg.dog, cfg.exact = servers, dog, false
	return runEpisode(c.workload, cfg)
}

// searchedMax bounds the memory of a search: a state takes some 40 bytes.
const searchedMax = 20_000_000

// spent tells why a search may not go on.
func (c *campaign) spent(ctx, stop context.Context, s *search) error {
	switch {
	case s.runs >= c.cfg.Episodes:
		return fmt.Errorf("%d runs were made", s.runs)
	case len(s.seen) >= searchedMax:
		return fmt.Errorf("memory: %d states were seen", len(s.seen))
	case ctx.Err() != nil || stop.Err() != nil:
		return fmt.Errorf("time: %v were over", time.Since(c.begin).Round(time.Millisecond))
	}
	return nil
}

// counts tells whether an episode breaks a property that counts.
func (c *campaign) counts(o *outcome) bool {
	return len(o.Violations) > 0 && c.cfg.Until == "" || o.breaks(c.cfg.Until) != nil
}
