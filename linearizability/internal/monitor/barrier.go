package monitor

import (
	"math"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// The monitor of a barrier asks where the openings can be. A shut does harm only from its last instant on, and none if
// there is an opening while it runs: then it can take effect just before that. So a wait is in order unless there is a
// shut that was over before the wait was called, and no opening from the call of that shut to the end of the wait. Of
// all such shuts the one that was called last asks for most. What is left is to hit, for every wait, the interval from
// that call to the wait's end by an opening; each opening is at one instant of its own interval, and one may hit many.
//
// From the first end of such an interval to the last: if it is not hit yet, take of the openings that can hit it the
// one that must be over first, as late as it can be, but not after the interval. Nothing is lost by that. An opening
// as late as this hits all later intervals that it could hit; and any other that could have been taken can do for a
// later interval what the one taken can (earliest deadline first; Jackson, 1955). A shut of unknown outcome may never
// have happened, and is left out; an opening of unknown outcome need not be over ever.
//
// All it takes is sorting and a heap: O(n log n). Nobody has published this, as far as we know.

// Barrier judges the steps of a barrier.
func Barrier(steps []step.Step) step.Ruling {
	g := &barrierCase{steps: steps}
	g.load()
	opens := interval.NewSlots(g.opens)
	latest := int64(math.MinInt64) // the last opening so far
	for k := range g.needs {
		n := &g.needs[k]
		if latest >= n.from {
			continue
		}
		opens.Admit(n.to)
		opens.Expire(n.from) // what must have been over has hit whatever it could
		if opens.Ready() == 0 {
			return step.Illegal(g.earlyWait(int32(k)))
		}
		open := opens.Take()
		n.taken, latest = open.Of, min(open.Until, n.to)
	}
	return step.Legal()
}

// need is that there must be an opening from one instant to another.
type need struct {
	from, to   int64
	shut, wait int32 // the steps for which
	taken      int32 // the opening that was taken for it, or none
}

type barrierCase struct {
	steps []step.Step
	opens []interval.Presence // by call
	needs []need              // by to
}

// load finds the openings, and what the waits need.
func (g *barrierCase) load() {
	var shuts []interval.Mark // by end
	for i := range g.steps {
		switch s := &g.steps[i]; {
		case s.Kind == step.Open:
			g.opens = append(g.opens, interval.Presence{From: s.Call, Until: s.End, Of: int32(i)})
		case s.Kind == step.Shut && !s.Unknown:
			shuts = append(shuts, interval.Mark{At: s.End, What: int32(i)})
		}
	}
	interval.Sort(shuts)
	calledLast := interval.BestUntil(shuts, func(a, b int32) bool { return g.steps[a].Call > g.steps[b].Call })
	for i := range g.steps {
		s := &g.steps[i]
		if s.Kind != step.Wait {
			continue
		}
		if over := interval.From(shuts, s.Call); over > 0 {
			shut := calledLast[over-1]
			g.needs = append(g.needs, need{g.steps[shut].Call, s.End, shut, int32(i), step.None})
		}
	}
	interval.SortBy(g.needs, func(a need) int64 { return a.to })
}

// couldMax bounds how many pairs of a need and an opening are looked at to explain a violation.
const couldMax = 1 << 24

// earlyWait is the finding that there is no opening for need k. It names all openings that can hit it, what they were
// taken for, the openings that can hit that, and so on: these are illegal by themselves, as no opening that is left
// out could help.
func (g *barrierCase) earlyWait(k int32) step.Finding {
	f := step.Finding{Property: "early-wait"}
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
			if named[open.Of] || open.From > n.to || open.Until < n.from {
				continue
			}
			named[open.Of] = true
			if other, taken := takenFor[open.Of]; taken {
				needed = append(needed, other)
			}
		}
	}
	for i := range g.steps {
		if named[i] {
			f.Steps = append(f.Steps, g.steps[i])
		}
	}
	return f
}
