// Package explore chooses the executions of a workload within a bound, one after the other.
package explore

import (
	"errors"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim/world"
)

// Search is the source of one execution after the other: each makes the choices of the one before up to the last that has
// another answer, takes that, and from there on the first answer of each (depth first without states: Godefroid, VeriSoft,
// POPL 1997). What happens next is the simplest that can, but for a bounded number of departures: the search is
// delay-bounded (Emmi, Qadeer, Rakamarić, POPL 2011). It keeps nothing but the choices of the execution under way.
type Search struct {
	world.Blind
	Strikes    int // the most faults that strike in an execution
	Departures int // how often in an execution, at most, another thing happens next than the simplest

	stack []choice

	// Of the execution under way:
	world      *world.World
	made       int          // choices so far
	strikes    int          // that are left
	departures int          // that are left
	undrawn    world.Faults // of which it will be asked whether they are part of the episode
	kind       int          // the fault that strikes, as [world.LabelFault] numbers them
	waiting    uint64       // clients, as bits, whose requests wait in the present outage for a majority
	hint       planHint     // what the next choice of the plan is about
}

// choice is a question with the answers that a search gives to it, in order.
type choice struct {
	n       int
	label   string
	answers []int
	taken   int // which of the answers is given
}

// planHint says what a choice of a plan is about, see [world.Plan].
type planHint uint8

const (
	ofAnything planHint = iota
	ofExtent            // how much users do
	ofPart              // what tells a user from others
)

// ErrDiverged is what an execution is given up with that is not determined by its choices.
var ErrDiverged = errors.New("equal choices gave another execution: the recipe, or the simulator, is not deterministic")

// Begin begins an execution: the first, or one after [Search.Advance].
func (s *Search) Begin() {
	s.made, s.strikes, s.departures, s.waiting, s.hint = 0, s.Strikes, s.Departures, 0, ofAnything
}

// Advance goes on to the next execution. After the last it is false, and the first comes again.
func (s *Search) Advance() bool {
	for last := len(s.stack) - 1; last >= 0; last-- {
		if c := &s.stack[last]; c.taken+1 < len(c.answers) {
			c.taken++
			s.stack = s.stack[:last+1]
			return true
		}
	}
	s.stack = nil
	return false
}

// Diverged reports whether the execution that has ended made fewer choices than it was to make.
func (s *Search) Diverged() bool { return s.made < len(s.stack) }

// Choose implements [world.Source].
func (s *Search) Choose(n int, label string) int {
	if s.made == len(s.stack) {
		s.stack = append(s.stack, choice{n: n, label: label, answers: s.answers(n, label)})
	}
	c := &s.stack[s.made]
	if c.n != n || c.label != label {
		world.GiveUp(ErrDiverged)
	}
	s.made++
	v := c.answers[c.taken]
	s.note(label, v, c.taken > 0)
	return v
}

// note notes what an answer is, and whether it is another than the first.
func (s *Search) note(label string, v int, departs bool) {
	strikes := false
	switch label {
	case world.LabelSwarm: // an episode near the end of a counter counts as a strike
		f := s.undrawn & -s.undrawn
		s.undrawn &^= f
		strikes = f == world.Wrap && v > 0
	case world.LabelFault:
		s.kind, strikes = v, v > 0
	case world.LabelLagging:
		strikes = v > 0
	case world.LabelUnconnected:
		strikes = v > world.BeginVariants
	case world.LabelReplica:
		if v == s.world.Servers().Deposed() {
			s.departures--
		}
	case world.LabelNext:
		if departs {
			s.departures--
		}
		if s.world.Actions()[v].Kind == world.ActRegain {
			s.waiting |= s.world.AwaitingQuorum()
		}
	}
	if strikes {
		s.strikes--
	}
	s.hint = ofAnything
}

// answers are those that a search gives to a question with n answers.
func (s *Search) answers(n int, label string) []int {
	switch label {
	case world.LabelSwarm: // all may be part of the episode, and strike or not
		if s.undrawn&-s.undrawn == world.Wrap && s.strikes == 0 {
			return []int{0}
		} else if s.undrawn&-s.undrawn == world.Wrap {
			return []int{1, 0} // there are few executions near the end of a counter, as that is a strike
		}
		return []int{1}
	case world.LabelAtMost:
		return []int{min(max(s.Strikes, 1), n) - 1}
	case world.LabelWraps, world.LabelCounters, world.LabelFirstNumber, world.LabelTarget:
		return upTo(n)
	case world.LabelFault:
		return s.faults()
	case world.LabelVariant:
		return s.variants(n)
	case world.LabelLagging:
		return s.unlessSpent(upTo(n)...)
	case world.LabelUnconnected:
		return s.unlessSpent(0, world.BeginVariants+world.BeginUnconnected, world.BeginVariants+world.BeginAlone)
	case world.LabelReplica:
		return s.servers(n)
	case world.LabelNext:
		return s.next()
	}
	return []int{s.plainly(n, label)} // of the plan; also what the Go runtime decides in exact mode, which is 0
}

// unlessSpent are answers of which only the first is no strike.
func (s *Search) unlessSpent(answers ...int) []int {
	if s.strikes == 0 {
		return answers[:1]
	}
	return answers
}

// faults are 0, for none, and those that can strike now, by their numbers among the episode's.
func (s *Search) faults() []int {
	answers := []int{0}
	if s.strikes == 0 {
		return answers
	}
	for kind, f := range s.world.Striking() {
		if s.world.CanStrike(f, func(world.Target) bool { return true }) {
			answers = append(answers, kind)
		}
	}
	return answers
}

// variants are those of n in which the fault strikes that was chosen. What may end at any moment may also end late.
func (s *Search) variants(n int) []int {
	switch s.world.NthFault(s.kind) {
	case world.Stall:
		return []int{world.StallShort}
	case world.Deposed:
		return []int{world.DeposedBrief}
	}
	return upTo(n)
}

// servers are those of n to which a client may connect: of equal ones the first. To connect to a deposed leader, which may
// have no answer, is a departure: else it could be tried again and again.
func (s *Search) servers(n int) (answers []int) {
	for r := range n {
		if r == s.world.Servers().Deposed() && s.departures == 0 {
			continue
		}
		equal := func(other int) bool { return s.world.EqualServers(r, other, s.strikes > 0) }
		if !slices.ContainsFunc(answers, equal) {
			answers = append(answers, r)
		}
	}
	return answers
}

// next are the things that happen next, by their numbers: the simplest first, and if no departure is left only that.
//
// Of what can happen to a request in an outage these are two: it fails at once, as no server can be reached, or it waits
// until there is a majority again, if that is not longer than the shorter outage takes.
func (s *Search) next() (answers []int) {
	tooLong := s.world.AwaitingQuorum() != 0 && s.world.LongOutage()
	for i, a := range s.world.Actions() {
		waits := a.Kind == world.ActReconnect && s.waiting>>a.Client&1 != 0
		if waits || a.Kind == world.ActRegain && tooLong {
			continue
		}
		if answers = append(answers, i); s.departures == 0 {
			break
		}
	}
	return answers
}

// plainly is what the simplest plan takes of n: as many clients and turns as may be, a fresh operation of each user at the
// end, and of the parts that users play the one that stands in the user's place, so that all parts are played.
func (s *Search) plainly(n int, label string) int {
	letter, ofUser := strings.CutPrefix(label, world.LabelPlan)
	switch {
	case label == world.LabelClients || s.hint == ofExtent:
		return n - 1
	case s.hint == ofPart && ofUser && len(letter) == 1:
		return int(letter[0]-'a') % n
	}
	return 0
}

// Extends and Parts say that the next choice of a plan is of how much users do, or of a user's part.
func (s *Search) Extends() { s.hint = ofExtent }
func (s *Search) Parts()   { s.hint = ofPart }

// Chooses implements [world.Observer].
func (s *Search) Chooses(w *world.World, label string) {
	if s.world = w; label == world.LabelSwarm {
		s.undrawn = w.Allowed()
	}
	if !w.Outage() {
		s.waiting = 0
	}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
