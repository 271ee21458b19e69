package linearizability

import (
	"math"
	"slices"
	"sort"
)

// The monitor of a double barrier uses that nearly everything has its instant: who is there at a moment follows from
// the calls alone. What is open is the moment at which each enter succeeded, between two of these instants, and no
// enter makes a difference to another. The later it succeeds, the shorter is its process inside; so the best is the
// last moment at which enough were there. After that it is known when somebody is inside, and every leave needs one
// moment at which nobody is.
//
// The history is legal if every enter and every leave finds its moment. The converse holds, too, if no two instants of
// different processes have the same stamp around what finds none, and no process enters again before it is known to
// have entered. Otherwise the answer is undetermined: what different processes do at one stamp may come in any order.
//
// The time is that of sorting. Nobody has published this, as far as we know; it follows from the model.

func doubleBarrierMonitor(steps []step, parties int) ruling {
	b := &doubleBarrierCase{steps: steps, parties: parties}
	b.load()
	for i := range steps {
		if s := &steps[i]; s.kind == stepPass && !b.pass(int32(i)) {
			return b.unless(s.call, s.end, b.earlyEnter(int32(i)))
		}
	}
	free := b.freeMoments()
	for i := range steps {
		if s := &steps[i]; s.kind == stepPart {
			if _, to := b.moments(s); free[to+1] == free[b.place[s.source]+1] {
				return b.earlyLeave(int32(i))
			}
		}
	}
	return legal()
}

// doubleBarrierCase is a history of a barrier. Moment k is the time after k instants.
type doubleBarrierCase struct {
	steps     []step
	parties   int
	instants  []int32         // the steps that have an instant, by call
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
		switch s := &b.steps[i]; s.kind {
		case stepArrive, stepDepart, stepVanish:
			b.instants = append(b.instants, int32(i))
		case stepPass:
			b.ends[s.source] = s.end
		}
	}
	sortBy(b.instants, func(x int32) int64 { return b.steps[x].call })
	b.there, b.enough = make([]int, len(b.instants)+1), make([]int, len(b.instants)+1)
	b.own, b.place = make(map[int32][]int), make(map[int]int)
	present := make(map[int32]int64) // by process: by when its enter had succeeded
	for k, i := range b.instants {
		b.happen(k, &b.steps[i], present)
	}
	last := -1
	for k, n := range b.there {
		if n >= b.parties {
			last = k
		}
		b.enough[k] = last
	}
}

func (b *doubleBarrierCase) happen(k int, s *step, present map[int32]int64) {
	own := b.own[s.item]
	entered, there := present[s.item]
	b.ambiguous = b.ambiguous || s.kind == stepArrive && there && entered < Forever && s.call <= entered
	b.own[s.item], b.place[s.source] = append(own, k), k
	switch s.kind {
	case stepArrive:
		present[s.item] = b.passed(s.source)
	case stepDepart:
		delete(present, s.item)
	}
	b.there[k+1] = len(present)
}

// passed is by when an enter had succeeded; Forever if it is not known that it did.
func (b *doubleBarrierCase) passed(source int) int64 {
	if end, found := b.ends[source]; found {
		return end
	}
	return Forever
}

func (b *doubleBarrierCase) at(k int) int64 { return b.steps[b.instants[k]].call }

func (b *doubleBarrierCase) moments(s *step) (from, to int) {
	from = sort.Search(len(b.instants), func(k int) bool { return b.at(k) >= s.call })
	to = sort.Search(len(b.instants), func(k int) bool { return b.at(k) > s.end })
	return from, to
}

// pass lets the enter of step i succeed as late as it can, and tells whether it can at all.
func (b *doubleBarrierCase) pass(i int32) bool {
	s := &b.steps[i]
	own := b.own[s.item]
	first, _ := slices.BinarySearch(own, b.place[s.source])
	_, last := b.moments(s)
	end, next := len(b.instants), first+1
	for ; next < len(own); next++ {
		if kind := b.steps[b.instants[own[next]]].kind; kind != stepVanish {
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
func (b *doubleBarrierCase) unless(from, to int64, r ruling) ruling {
	if b.ambiguous {
		return undetermined("a process enters again before it is known to have entered")
	}
	first := sort.Search(len(b.instants), func(k int) bool { return b.at(k) >= from })
	for k := first + 1; k < len(b.instants) && b.at(k) <= to; k++ {
		if b.at(k) == b.at(k-1) && b.steps[b.instants[k]].item != b.steps[b.instants[k-1]].item {
			return undetermined("several things happen at one instant, and their order matters")
		}
	}
	return r
}

// certificateMax bounds the operations that a finding on a barrier names.
const certificateMax = 6

// earlyEnter is the finding that enter i never met enough others. It names those present when most were, if few.
func (b *doubleBarrierCase) earlyEnter(i int32) ruling {
	from, to := b.moments(&b.steps[i])
	best := from
	for k := from; k <= to; k++ {
		if b.there[k] > b.there[best] {
			best = k
		}
	}
	sources := []int{b.steps[i].source}
	if b.there[best] <= certificateMax {
		sources = append(sources, b.presentAt(best)...)
	}
	return illegal(finding{
		property: "early-enter",
		steps: selectCalls(b.steps, func(s *step) bool {
			return s.source == b.steps[i].source || s.kind == stepArrive && slices.Contains(sources, s.source)
		}),
	})
}

// presentAt returns the enters of the processes that are present at a moment.
func (b *doubleBarrierCase) presentAt(moment int) (sources []int) {
	present := make(map[int32]int)
	for _, i := range b.instants[:moment] {
		switch s := &b.steps[i]; s.kind {
		case stepArrive:
			present[s.item] = s.source
		case stepDepart:
			delete(present, s.item)
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
func (b *doubleBarrierCase) earlyLeave(i int32) ruling {
	_, to := b.moments(&b.steps[i])
	keep := map[int]bool{b.steps[i].source: true}
	start := b.steps[i].call
	for moment := b.place[b.steps[i].source] + 1; moment <= to; {
		stay := b.longest(moment)
		if stay == nil {
			return undetermined("it takes many operations to show that somebody is inside at every moment of a leave")
		}
		keep[b.steps[stay.enter].source] = true
		start = min(start, b.steps[stay.enter].call)
		if moment = stay.to + 1; stay.to < to {
			keep[b.steps[b.instants[stay.to]].source] = true
		}
	}
	r := illegal(finding{
		property: "early-leave",
		steps: selectCalls(b.steps, func(s *step) bool {
			return keep[s.source] && (s.kind != stepPart || s.source == b.steps[i].source)
		}),
	})
	r.given = b.crowd()
	return b.unless(start, b.steps[i].end, r)
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
func (b *doubleBarrierCase) crowd() (given []step) {
	others := itemsOf(b.steps)
	for k := range b.parties {
		given = append(given, step{kind: stepArrive, item: others + int32(k), call: math.MinInt64, end: math.MinInt64,
			source: none})
	}
	return given
}
