package monitor

import (
	"cmp"
	"math"
	"slices"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// The monitor of a double barrier uses that nearly everything has its instant: who is there at a moment follows from
// the calls alone. What is open is the moment at which each enter succeeded, between two of these instants, and no
// enter makes a difference to another. The later it succeeds, the shorter is its process inside; so the best is the
// last moment at which enough were there. After that it is known when somebody is inside, and every leave needs one
// moment at which nobody is.
//
// The history is legal if every enter and every leave finds its moment. The converse holds, too, if no two instants of
// different processes have the same stamp around what finds none, and no process enters again before it is known to
// have entered. What different processes do at one stamp may come in any order: most are there at once if calls of
// enter come first, and that order is tried. If it is not legal, the answer is undetermined.
//
// The time is that of sorting. Nobody has published this, as far as we know; it follows from the model.

// DoubleBarrier judges the steps of a double barrier for so many parties.
func DoubleBarrier(steps []step.Step, parties int) step.Ruling {
	b := &doubleBarrierCase{steps: steps, parties: parties}
	b.load()
	for i := range steps {
		if s := &steps[i]; s.Kind == step.Pass && !b.pass(int32(i)) {
			return b.unless(s.Call, s.End, b.earlyEnter(int32(i)))
		}
	}
	free := b.freeMoments()
	for i := range steps {
		if s := &steps[i]; s.Kind == step.Part {
			if _, to := b.moments(s); free[to+1] == free[b.place[s.Source]+1] {
				return b.earlyLeave(int32(i))
			}
		}
	}
	return step.Legal()
}

// doubleBarrierCase is a history of a barrier. Moment k is the time after k instants.
type doubleBarrierCase struct {
	steps     []step.Step
	parties   int
	instants  []interval.Mark // the steps that have an instant, by call
	there     []int           // by moment: how many are there
	enough    []int           // by moment: the last one up to here at which enough are there; -1 if none is
	own       map[int32][]int // by process: the places of its instants
	ends      map[int]int64   // by operation: the end of an enter that succeeded
	place     map[int]int     // by operation: the place of its instant
	stays     []inside
	ambiguous bool // whether a process enters again too early to tell
}

// inside is the time in which a process is inside: after the moment from, up to the moment to.
type inside struct {
	enter    int32 // the step that succeeded
	from, to int
	latest   int // the moment at which it would have succeeded had enough been there all the time
}

func (b *doubleBarrierCase) load() {
	b.ends = make(map[int]int64)
	for i := range b.steps {
		switch s := &b.steps[i]; s.Kind {
		case step.Arrive, step.Depart, step.Vanish:
			b.instants = append(b.instants, interval.Mark{At: s.Call, What: int32(i)})
		case step.Pass:
			b.ends[s.Source] = s.End
		}
	}
	b.sort()
	b.there, b.enough = make([]int, len(b.instants)+1), make([]int, len(b.instants)+1)
	b.own, b.place = make(map[int32][]int), make(map[int]int)
	present := make(map[int32]int64) // by process: by when its enter had succeeded
	for k, m := range b.instants {
		b.happen(k, &b.steps[m.What], present)
	}
	last := -1
	for k, n := range b.there {
		if n >= b.parties {
			last = k
		}
		b.enough[k] = last
	}
}

// sort orders instants by stamp, and calls of enter before others at one stamp, unless their process has called before.
func (b *doubleBarrierCase) sort() {
	const enters, both, others = 0, 1, 2
	ranks := make([]int8, len(b.steps))
	before := make(map[int32]int32) // by process: its instant before
	for _, m := range b.instants {
		s, rank := &b.steps[m.What], int8(others)
		if own, found := before[s.Item]; s.Kind == step.Arrive {
			rank = enters
			if found && b.steps[own].Call == s.Call {
				ranks[own], rank = min(ranks[own], both), both
			}
		}
		before[s.Item], ranks[m.What] = m.What, rank
	}
	slices.SortStableFunc(b.instants, func(x, y interval.Mark) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(ranks[x.What], ranks[y.What]))
	})
}

func (b *doubleBarrierCase) happen(k int, s *step.Step, present map[int32]int64) {
	own := b.own[s.Item]
	entered, there := present[s.Item]
	b.ambiguous = b.ambiguous || s.Kind == step.Arrive && there && entered < interval.Forever && s.Call <= entered
	b.own[s.Item], b.place[s.Source] = append(own, k), k
	switch s.Kind {
	case step.Arrive:
		present[s.Item] = b.passed(s.Source)
	case step.Depart:
		delete(present, s.Item)
	}
	b.there[k+1] = len(present)
}

// passed is by when an enter had succeeded; interval.Forever if it is not known that it did.
func (b *doubleBarrierCase) passed(source int) int64 {
	if end, found := b.ends[source]; found {
		return end
	}
	return interval.Forever
}

func (b *doubleBarrierCase) moments(s *step.Step) (from, to int) {
	return interval.From(b.instants, s.Call), interval.After(b.instants, s.End)
}

// at is the step of an instant.
func (b *doubleBarrierCase) at(k int) *step.Step { return &b.steps[b.instants[k].What] }

// pass lets the enter of step i succeed as late as it can, and reports whether it can at all.
func (b *doubleBarrierCase) pass(i int32) bool {
	s := &b.steps[i]
	own := b.own[s.Item]
	first, _ := slices.BinarySearch(own, b.place[s.Source])
	_, last := b.moments(s)
	end, next := len(b.instants), first+1
	for ; next < len(own); next++ {
		if kind := b.at(own[next]).Kind; kind != step.Vanish {
			end = own[next]
			break
		}
	}
	latest := min(last, end)
	moment := b.enough[latest]
	if moment <= own[first] {
		return false
	}
	for k := first + 1; k < next; k++ { // the instants at which it vanished
		end = min(end, own[k])
	}
	if moment < end {
		b.stays = append(b.stays, inside{i, moment, end, latest})
	}
	return true
}

// freeMoments returns, by moment, how many moments before it have no process inside.
func (b *doubleBarrierCase) freeMoments() []int {
	change := make([]int, len(b.instants)+2)
	for _, stay := range b.stays {
		change[stay.from+1]++
		change[stay.to+1]--
	}
	free := make([]int, len(b.instants)+2)
	count := 0
	for k := range b.there {
		count += change[k]
		free[k+1] = free[k]
		if count == 0 {
			free[k+1]++
		}
	}
	return free
}

// unless returns the ruling, unless stamps that are equal could make a difference between two stamps.
func (b *doubleBarrierCase) unless(from, to int64, r step.Ruling) step.Ruling {
	if b.ambiguous {
		return step.Undecided("a process enters again before it is known to have entered")
	}
	for k := interval.From(b.instants, from) + 1; k < len(b.instants) && b.instants[k].At <= to; k++ {
		if b.at(k).Call == b.at(k-1).Call && b.at(k).Item != b.at(k-1).Item {
			return step.Undecided("several things happen at one instant, and their order matters")
		}
	}
	return r
}

// certificateMax bounds the operations that a finding on a barrier names.
const certificateMax = 6

// earlyEnter is the finding that enter i never met enough others. It names those present when most were, if few.
func (b *doubleBarrierCase) earlyEnter(i int32) step.Ruling {
	from, to := b.moments(&b.steps[i])
	best := from
	for k := from; k <= to; k++ {
		if b.there[k] > b.there[best] {
			best = k
		}
	}
	sources := []int{b.steps[i].Source}
	if b.there[best] <= certificateMax {
		sources = append(sources, b.presentAt(best)...)
	}
	return step.Illegal(step.Finding{
		Property: "early-enter",
		Steps: SelectCalls(b.steps, func(s *step.Step) bool {
			return s.Source == b.steps[i].Source || s.Kind == step.Arrive && slices.Contains(sources, s.Source)
		}),
	})
}

// presentAt returns the enters of the processes that are present at a moment.
func (b *doubleBarrierCase) presentAt(moment int) (sources []int) {
	present := make(map[int32]int)
	for k := range moment {
		switch s := b.at(k); s.Kind {
		case step.Arrive:
			present[s.Item] = s.Source
		case step.Depart:
			delete(present, s.Item)
		}
	}
	for _, source := range present { // in any order: it is sorted below
		sources = append(sources, source)
	}
	slices.Sort(sources)
	return sources
}

// earlyLeave is the finding that a process was inside at every moment of leave i. The ruling's given processes are
// always present, so that every enter named succeeds as late as it could. Where that would be too late, because too
// few were present, no small part of the history is illegal by itself.
func (b *doubleBarrierCase) earlyLeave(i int32) step.Ruling {
	_, to := b.moments(&b.steps[i])
	keep := map[int]bool{b.steps[i].Source: true}
	start := b.steps[i].Call
	for moment := b.place[b.steps[i].Source] + 1; moment <= to; {
		stay := b.longest(moment)
		if stay == nil {
			return step.Undecided("it takes many operations to show that somebody is inside at every moment of a leave")
		}
		keep[b.steps[stay.enter].Source] = true
		start = min(start, b.steps[stay.enter].Call)
		if moment = stay.to + 1; stay.to < to {
			keep[b.at(stay.to).Source] = true
		}
	}
	r := step.Illegal(step.Finding{
		Property: "early-leave",
		Steps: SelectCalls(b.steps, func(s *step.Step) bool {
			return keep[s.Source] && (s.Kind != step.Part || s.Source == b.steps[i].Source)
		}),
	})
	r.Given = b.crowd()
	return b.unless(start, b.steps[i].End, r)
}

// longest returns the stay that lasts longest of those over a moment, even if enough had been there.
func (b *doubleBarrierCase) longest(moment int) (best *inside) {
	for k := range b.stays {
		if s := &b.stays[k]; s.latest < moment && moment <= s.to && (best == nil || s.to > best.to) {
			best = s
		}
	}
	return best
}

// crowd is enough other processes, present all the time.
func (b *doubleBarrierCase) crowd() (given []step.Step) {
	others := step.Items(b.steps)
	for k := range b.parties {
		given = append(given, step.Step{Kind: step.Arrive, Item: others + int32(k), Call: math.MinInt64, End: math.MinInt64,
			Source: step.None, With: new(step.Sequence)})
	}
	return given
}

// SelectCalls is selectSteps for those of a double barrier, which name the call before.
func SelectCalls(steps []step.Step, keep func(*step.Step) bool) []step.Step {
	kept, last := step.Select(steps, keep), make(map[int32]int32)
	for i := range kept {
		if s := &kept[i]; s.Kind != step.Pass && s.Kind != step.Part {
			order := s.Sequence().Order
			s.With, last[s.Item] = &step.Sequence{Order: order, Previous: last[s.Item]}, order
		}
	}
	return kept
}
