package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/bound"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/world"
)

// search runs all executions within a bound, depth first over the choices: each run makes the choices of the one before
// up to the last that has another option, takes that, and from there on the first of each (stateless search: Godefroid,
// VeriSoft, POPL 1997). A run is cut where it comes to a state that was seen before, see [state].
//
// If it remembers, only the choices of the set-up are gone through in this way. From there on it goes from state to state
// by what it remembers of deeds, and runs those of which it does not know what they do, see [memory].
//
// It is the [Source] of its runs.
type search struct {
	world.Blind
	*bound.Campaign

	stack          []branch
	at             int // how many choices the run under way has made
	met            int // states that it has come to
	left           int // faults that may still strike
	world          *world.View
	awaitingQuorum awaitingQuorum // in the present outage
	been           uint64         // clients, as bits, that have been with the present deposed leader
	kind           int            // the fault that strikes, as LabelFault has it
	ofExtent       bool           // the next choice is of how much users do
	ofPart         bool           // the next choice is of a user's part
	plans          []uint64       // of the run's clients, see [world.Terms]; nil if they are not known, or do not matter
	plan           uint64         // what the run's episode is, drawn by the first choices …
	drawn          int            // … so many; 0: it is not known yet
	parts          uint64         // a hash of all these choices
	now            state          // that was looked at last …
	key            uint64         // … and its key

	ofServers, ofLines, ofClients parts
	standing                      []standing // of each of ofClients
	lines, hashes                 []uint64   // of the clients of the run

	memory  *memory // nil if deeds are not remembered
	walk    walk    // the run under way
	root    state   // where walks begin …
	links   []link  // … the states that were come to from there …
	waiting frontier
	room    []option // for deeds …
	does    []int32  // … their effects …
	follow  []state  // … and the states that follow
	unclear int32    // an effect of which it is not known what becomes of lines, -1 if there is none

	seen   set
	digest uint64 // of all states seen, in whatever order
	runs   int
	ends   int   // runs that were not cut
	why    error // why what was run is not all, nil if it may be

	complete bool // there is no other run
}

// branch is a choice with the options that a search takes in turn.
type branch struct {
	N       int
	Label   string
	Options []int
	Taken   int
	Met     int    // the number of the state in its run, from 1; 0 while the episode is drawn
	Key     uint64 // of that state
}

func (b *branch) value() int { return b.Options[b.Taken] }

// Why runs of a search end early.
var (
	errSeen     = errors.New("a state that was seen before")
	errNotOurs  = errors.New("a plan of another share")
	errDiverged = errors.New("equal choices gave another run: the recipe, or the simulator, is not deterministic")
	errOnGrid   = errors.New("a violation that shows only where time is on the grid of a search")
)

func init() {
	bound.New = func(of *bound.Campaign) bound.Search {
		s := &search{Campaign: of}
		s.ofServers.number, s.ofLines.number, s.ofClients.number = map[uint64]int32{}, map[uint64]int32{}, map[uint64]int32{}
		if !of.Without.Has(bound.ReduceRuns) && !of.Without.Has(bound.ReduceStates) && of.Checkpoint == "" {
			s.memory = newMemory()
		}
		return s
	}
}

// begin begins a run.
func (s *search) begin() {
	s.at, s.met, s.left, s.world, s.awaitingQuorum, s.been = 0, 0, s.AtMost, nil, 0, 0
	s.now = state{}
}

// Choose implements [Source].
func (s *search) Choose(n int, label string) (v int) {
	if s.memory != nil && s.met > 0 {
		v = s.decide(n, label)
	} else {
		v = s.take(&s.stack, s.at, n, label)
		s.at++
	}
	s.ofExtent, s.ofPart = false, false
	switch label {
	case world.LabelNext:
		s.awaitingQuorum.note(s.world, s.world.Actions()[v])
	case world.LabelFault:
		s.kind = v
	}
	if spends(label, v) {
		s.left--
	}
	return v
}

// take takes the option that is due of a choice, by its place.
func (s *search) take(stack *[]branch, at, n int, label string) int {
	if at == len(*stack) {
		options := s.options(n, label)
		if s.Backwards {
			slices.Reverse(options)
		}
		*stack = append(*stack, branch{N: n, Label: label, Options: options, Met: s.met, Key: s.key})
	}
	b := &(*stack)[at]
	if b.N != n || b.Label != label {
		world.GiveUp(errDiverged)
	}
	return b.value()
}

// Extends and Parts say what the next choice is about.
func (s *search) Extends() { s.ofExtent = true }
func (s *search) Parts()   { s.ofPart = true }

// spends reports whether a choice lets a fault strike.
func spends(label string, v int) bool {
	switch label {
	case world.LabelFault, world.LabelLagging:
		return v > 0
	case world.LabelUnconnected:
		return v > world.BeginVariants
	}
	return false
}

// options are those that a search takes of n.
func (s *search) options(n int, label string) []int {
	switch label {
	case world.LabelSwarm:
		return []int{1}
	case world.LabelAtMost:
		return []int{min(max(s.AtMost, 1), n) - 1}
	case world.LabelShared:
		if s.Users < 2 {
			return []int{0}
		}
		return []int{0, n - 1}
	case world.LabelFault:
		return s.faults()
	case world.LabelUnconnected:
		if s.left == 0 {
			return []int{0}
		}
		return []int{0, world.BeginVariants + world.BeginUnconnected, world.BeginVariants + world.BeginAlone}
	case world.LabelLagging:
		if s.left == 0 {
			return []int{0}
		}
	case world.LabelReplica:
		return s.servers(n)
	case world.LabelVariant:
		return s.variants(n)
	case world.LabelTarget:
		return s.targets()
	case world.LabelNext:
		return s.inTurn(s.awaitingQuorum.actions(s.world))
	}
	if s.Plain && s.world == nil && !slices.Contains(worldly, label) {
		return []int{s.plainly(n, label)}
	}
	return upTo(n)
}

// plainly is what the simplest plan takes of n: as many clients and turns as may be, the fresh operation at the end,
// and for each user of the parts that users play what stands in its place, so that all parts are played.
func (s *search) plainly(n int, label string) int {
	letter, ofUser := strings.CutPrefix(label, world.LabelPlan)
	switch {
	case label == world.LabelClients || s.ofExtent:
		return n - 1
	case s.ofPart && ofUser && len(letter) == 1:
		return int(letter[0]-'a') % n
	}
	return 0
}

// worldly are the labels of what is drawn before the episode is planned.
var worldly = []string{world.LabelSwarm, world.LabelAtMost, world.LabelWraps, world.LabelCounters, world.LabelFirstNumber}

// faults are those that can strike now, by their numbers among the episode's, and 0.
func (s *search) faults() []int {
	options := []int{0}
	if s.left == 0 {
		return options
	}
	for kind, f := range s.world.Striking() {
		if s.world.CanStrike(f, func(world.Target) bool { return true }) {
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

// Planned gives a plan of another share up: plans that a search takes for equal have equal hashes, and states of different
// plans are never equal, so shares see nothing of each other.
func (s *search) Planned(w *world.View, drawn int) {
	if s.world = w; s.drawn > 0 {
		return
	}
	var d digest.Sum
	count := s.at
	sum, clients, known := w.PlanHash(!s.Without.Has(bound.ReduceClients))
	if known && !s.Without.Has(bound.ReducePlans) {
		d.Int(int64(sum))
		count = drawn
	}
	for i := range count {
		d.Int(int64(s.stack[i].value()))
	}
	s.plan, s.drawn = uint64(d), s.at
	var parts digest.Sum
	for i := range s.stack[:s.at] {
		parts.Int(int64(s.stack[i].value()))
	}
	if s.memory != nil && s.parts != uint64(parts) {
		s.parts, s.memory = uint64(parts), newMemory() // who plays which part is not in a state
	}
	if digest.Mix(s.plan)%uint64(s.Shares) != uint64(s.Share) {
		world.GiveUp(errNotOurs)
	}
	if s.plans = clients; s.Without.Has(bound.ReduceNewcomers) {
		s.plans = nil
	}
}

// Arrives gives a run up in a state that was seen before.
func (s *search) Arrives(w *world.View) {
	s.met++
	if !w.Outage() {
		s.awaitingQuorum = 0
	}
	s.noteBeen(w)
	if s.memory != nil {
		s.meet(w)
		return
	}
	h := s.after(s.now.history, w.History())
	s.now.history = h
	last := len(s.stack) - 1
	again := s.at <= last
	if again && s.stack[last].Met != s.met {
		return
	}
	s.now = s.observe(w)
	s.now.history = h
	s.key = s.keyOf(&s.now)
	switch {
	case again && s.stack[last].Key != s.key:
		world.GiveUp(errDiverged)
	case again || s.come(s.key):
	case !s.Without.Has(bound.ReduceStates):
		world.GiveUp(errSeen)
	}
}

// next goes to the next run, and is false if there is none.
func (s *search) next() bool {
	if s.stack = advance(s.stack); len(s.stack) <= s.drawn {
		s.drawn = 0
	}
	return len(s.stack) > 0
}

// advance takes the next option of the last choice that has one, and forgets those behind. There is none if nothing is left.
func advance(stack []branch) []branch {
	for last := len(stack) - 1; last >= 0; last-- {
		if b := &stack[last]; b.Taken+1 < len(b.Options) {
			b.Taken++
			return stack[:last+1]
		}
	}
	return nil
}

// in makes one run. The outcome is of an execution to its end unless it was aborted.
func (s *search) in(cfg *runner.Episode) *world.Run {
	s.begin()
	cfg.Source, cfg.Keeps, cfg.Exact = s, true, false
	o := runner.Run(s.Workload, cfg)
	if o.Aborted == errNotOurs || o.Aborted == runner.ErrInterrupted {
		return o
	}
	s.runs++
	switch o.Aborted {
	case nil:
		if s.memory == nil {
			s.ends++
		}
		if o.Tortured >= runner.StepsMax {
			s.why = fmt.Errorf("an execution took more than %d steps before faults were healed", runner.StepsMax)
		}
	case errSeen:
	default:
		err, is := o.Aborted.(error)
		if !is || err != errDiverged && err != world.ErrOffGrid && !errors.Is(err, errContradiction) {
			panic(o.Aborted)
		}
		s.why = err
	}
	return o
}
