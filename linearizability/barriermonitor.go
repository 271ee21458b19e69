package linearizability

import (
	"container/heap"
	"math"
	"slices"
	"sort"
)

// The monitor of a barrier asks where the openings can be. A shut does harm only from its last instant on, and none if
// there is an opening while it runs: then it can take effect just before that. So a wait is in order unless there is
// a shut that was over before the wait was called, and no opening from the call of that shut to the end of the wait.
// Of all such shuts the one that was called last asks for most. What is left is to hit, for every wait, the interval
// from that call to the wait's end by an opening; each opening is at one instant of its own interval, and one may hit
// many.
//
// From the first end of such an interval to the last: if it is not hit yet, take of the openings that can hit it the
// one that must be over first, as late as it can be, but not after the interval. Nothing is lost by that. An opening
// as late as this hits all later intervals that it could hit; and any other that could have been taken can do for a
// later interval what the one taken can (earliest deadline first; Jackson, 1955). A shut of unknown outcome may never
// have happened, and is left out; an opening of unknown outcome need not be over ever.
//
// All it takes is sorting and a heap: O(n log n). Nobody has published this, as far as we know.

func barrierMonitor(steps []step) ruling {
	g := &barrierCase{steps: steps, ready: byEnd(steps)}
	g.load()
	latest := int64(math.MinInt64) // the last opening so far
	next := 0
	for k := range g.needs {
		n := &g.needs[k]
		if latest >= n.from {
			continue
		}
		for ; next < len(g.opens) && steps[g.opens[next]].call <= n.to; next++ {
			heap.Push(&g.ready, g.opens[next])
		}
		for len(g.ready.all) > 0 && steps[g.ready.all[0]].end < n.from {
			heap.Pop(&g.ready) // it must have been over, and whatever it could hit has been hit
		}
		if len(g.ready.all) == 0 {
			return illegal(g.earlyWait(int32(k)))
		}
		n.taken = heap.Pop(&g.ready).(int32)
		latest = min(steps[n.taken].end, n.to)
	}
	return legal()
}

// need is that there must be an opening from one instant to another.
type need struct {
	from, to   int64
	shut, wait int32 // the steps for which
	taken      int32 // the opening that was taken for it, or none
}

type barrierCase struct {
	steps []step
	opens []int32           // by call
	needs []need            // by to
	ready priorities[int32] // openings that have been called, by end
}

// load finds the openings, and what the waits need.
func (g *barrierCase) load() {
	var shuts []int32 // by end
	for i := range g.steps {
		switch s := &g.steps[i]; {
		case s.kind == stepOpen:
			g.opens = append(g.opens, int32(i))
		case s.kind == stepShut && !s.unknown:
			shuts = append(shuts, int32(i))
		}
	}
	sortBy(g.opens, func(a int32) int64 { return g.steps[a].call })
	sortBy(shuts, func(a int32) int64 { return g.steps[a].end })
	strictest := slices.Clone(shuts) // of the first so many shuts the one that was called last
	for i := 1; i < len(shuts); i++ {
		if before := strictest[i-1]; g.steps[before].call > g.steps[shuts[i]].call {
			strictest[i] = before
		}
	}
	for i := range g.steps {
		s := &g.steps[i]
		if s.kind != stepWait {
			continue
		}
		if over := sort.Search(len(shuts), func(k int) bool { return g.steps[shuts[k]].end >= s.call }); over > 0 {
			shut := strictest[over-1]
			g.needs = append(g.needs, need{g.steps[shut].call, s.end, shut, int32(i), none})
		}
	}
	sortBy(g.needs, func(a need) int64 { return a.to })
}

// couldMax bounds how many pairs of a need and an opening are looked at to explain a violation.
const couldMax = 1 << 24

// earlyWait is the finding that there is no opening for need k. It names all openings that can hit it, what they were
// taken for, the openings that can hit that, and so on: these are illegal by themselves, as no opening that is left
// out could help.
func (g *barrierCase) earlyWait(k int32) finding {
	f := finding{property: "early-wait"}
	takenFor := make(map[int32]int32)
	for i := range g.needs {
		takenFor[g.needs[i].taken] = int32(i)
	}
	named, needed := make([]bool, len(g.steps)), []int32{k}
	for at := 0; at < len(needed); at++ {
		n := &g.needs[needed[at]]
		named[n.shut], named[n.wait] = true, true
		if at > couldMax/(len(g.opens)+1) {
			return f
		}
		for _, open := range g.opens {
			s := &g.steps[open]
			if named[open] || s.call > n.to || s.end < n.from {
				continue
			}
			named[open] = true
			if other, taken := takenFor[open]; taken {
				needed = append(needed, other)
			}
		}
	}
	for i := range g.steps {
		if named[i] {
			f.steps = append(f.steps, g.steps[i])
		}
	}
	return f
}
