package monitor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// The monitor of a counter to which nothing negative is added. Whoever was told a number knows his place: an add that
// made 7 of 4 covers the numbers from 4 to 7, a get that saw 4 stands at 4. So the places are ordered by number
// alone, and the history is legal if and only if
//
//   - no two additions cover the same, and no get saw a number within one;
//   - nobody was called after somebody whose place is later had returned (then there are instants in the order of the
//     places: for each, the latest call so far);
//   - what nobody covers, the gaps, is covered by additions that were not told their sums: those of unknown outcome,
//     which may, and those of outcome ok, which must be somewhere.
//
// For additions of 1 the last is a matching of unit jobs, that can begin with the first gap that does not end before
// their call, to unit slots, all of which must be filled: earliest deadline first is optimal (Jackson, 1955), and
// leaves nobody before somebody who had returned before his call. Additions of unknown outcome whose sum is known
// cover what they can of a gap at no cost: that is the scheduling of weighted intervals.
//
// Gibbons, Bruno and Phillips, "Black-Box Correctness Tests for Basic Parallel Data Structures", Theory of Computing
// Systems 35, 2002, show that this is NP-complete if additions of any number are not told their sums: which of them
// make up a gap is a subset sum. There the answer is undetermined.

// explainable bounds the steps of a counter among which an explanation is looked for.
const explainable = 2000

// Counter judges the steps of a counter.
func Counter(steps []step.Step) step.Ruling {
	c := counterCase{steps: steps}
	if reason := c.load(); reason != "" {
		return step.Undecided(reason)
	}
	for _, gets := range []bool{false, true} {
		if r := c.judgePlaces(gets); r.Outcome == step.Violation {
			return r
		}
	}
	return c.fill()
}

// place is the range of numbers that an operation whose result is known covers.
type place struct {
	from, to int64 // the number before and after
	call     int64
	end      int64
	step     int32
	look     bool // nothing was added
}

// rank puts who added before who looked.
func (p *place) rank() int {
	if p.look {
		return 1
	}
	return 0
}

// gap is what no place covers.
type gap struct {
	from, to    int64
	call, end   int64 // the latest call of the places before, and the first end of those after
	below, next int32 // the places around it; below is none at the start
}

type counterCase struct {
	steps  []step.Step
	places []place // by number; who added before who looked, and these by call
	gaps   []gap
	known  []int32 // adds of unknown outcome and known sum
	free   []int32 // adds whose sum was not told
	units  bool    // whether all of free add 1
}

// numberMax bounds numbers, so that sums of two do not overflow.
const numberMax = 1 << 61

// load sorts the steps into places and others. It returns why nothing can be said, or nothing.
func (c *counterCase) load() string {
	c.units = true
	for i := range c.steps {
		s := &c.steps[i]
		switch {
		case s.Amount().Delta < 0:
			return "something negative was added, so that numbers do not tell the order"
		case s.Amount().Delta > numberMax || max(s.Amount().Sum, -s.Amount().Sum) > numberMax || s.Amount().Sum == math.MinInt64:
			return "numbers are too large"
		case !s.Null && !s.Unknown:
			c.places = append(c.places, place{s.Amount().Sum - s.Amount().Delta, s.Amount().Sum, s.Call, s.End, int32(i), s.Amount().Delta == 0})
		case !s.Null:
			c.known = append(c.known, int32(i))
		case s.Amount().Delta > 0:
			c.free = append(c.free, int32(i))
			c.units = c.units && s.Amount().Delta == 1
		}
	}
	slices.SortFunc(c.places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.call, b.call),
			cmp.Compare(a.step, b.step))
	})
	return ""
}

// judgePlaces looks for two places that contradict each other, without gets or with them, and finds the gaps.
//
// Invariant: latest is the place of the latest call among those before this one.
func (c *counterCase) judgePlaces(gets bool) step.Ruling {
	c.gaps = c.gaps[:0]
	below, latest := int32(step.None), int32(step.None)
	for i := range c.places {
		p := &c.places[i]
		if !gets && c.steps[p.step].Kind == step.Get {
			continue
		}
		switch {
		case c.at(below) > p.from:
			return c.overlap(below, int32(i))
		case latest != step.None && c.places[latest].call > p.end:
			return c.contradiction(latest, int32(i))
		case c.at(below) < p.from:
			c.gaps = append(c.gaps, gap{c.at(below), p.from, c.callOf(latest), 0, below, int32(i)})
		}
		below, latest = int32(i), c.later(latest, int32(i))
	}
	return step.Legal()
}

// at is the number after a place, which is 0 if there is none.
func (c *counterCase) at(k int32) int64 {
	if k == step.None {
		return 0
	}
	return c.places[k].to
}

func (c *counterCase) callOf(k int32) int64 {
	if k == step.None {
		return math.MinInt64
	}
	return c.places[k].call
}

// later returns which of two places was called later; a may be none.
func (c *counterCase) later(a, b int32) int32 {
	if a != step.None && c.places[a].call >= c.places[b].call {
		return a
	}
	return b
}

// overlap is the finding that place b begins before place a ends.
func (c *counterCase) overlap(a, b int32) step.Ruling {
	r := c.contradiction(a, b)
	if f := &r.Finding; a != step.None && f.Property == "sum" && c.places[a].from == c.places[b].from {
		f.Property = "lost-update"
	}
	return r
}

// contradiction is the finding that two places cannot both be, whatever else was added.
func (c *counterCase) contradiction(a, b int32) step.Ruling {
	r := step.Illegal(c.finding(c.between(a, b)...))
	r.Given = c.anything(a, b)
	return r
}

// between returns the steps of the places that there are.
func (c *counterCase) between(places ...int32) (steps []int32) {
	for _, k := range places {
		if k != step.None {
			steps = append(steps, c.places[k].step)
		}
	}
	return steps
}

func (c *counterCase) finding(steps ...int32) step.Finding {
	f := step.Finding{Property: "sum"}
	for _, i := range steps {
		f.Steps = append(f.Steps, c.steps[i])
		if c.steps[i].Kind == step.Get {
			f.Property = "stale-get"
		}
	}
	return f
}

// anything returns additions of unknown outcome that lead from every number of the given places to the next.
func (c *counterCase) anything(places ...int32) []step.Step {
	numbers := []int64{0}
	for _, k := range places {
		if k != step.None {
			numbers = append(numbers, c.places[k].from, c.places[k].to)
		}
	}
	return additions(numbers)
}

// additions returns additions that may have happened at any time, from each number to the next.
func additions(numbers []int64) (all []step.Step) {
	slices.Sort(numbers)
	for i := 1; i < len(numbers); i++ {
		if d := numbers[i] - numbers[i-1]; d > 0 {
			all = append(all, step.Step{Kind: step.Add, Unknown: true, Null: true, Item: step.NoItem,
				Call: math.MinInt64, End: interval.Forever, Source: step.None, With: &step.Amount{Delta: d}})
		}
	}
	return all
}

// fill covers the gaps with additions that were not told their sums.
func (c *counterCase) fill() step.Ruling {
	c.setEnds()
	f := newFilling(c, math.MinInt64)
	for i := range c.places {
		f.all = max(f.all, c.places[i].call)
	}
	interval.SortBy(c.free, func(i int32) int64 { return c.steps[i].Call })
	latest := f.cover()
	urgent := slices.ContainsFunc(c.free, func(i int32) bool { return c.steps[i].End < max(f.all, latest) })
	open := slices.ContainsFunc(f.needs, func(n int64) bool { return n > 0 })
	switch {
	case !c.units && (urgent || open && len(c.free) > 0):
		return step.Undecided(f.subsetSum())
	case urgent && latest > math.MinInt64:
		return f.compete(latest)
	}
	return f.assign()
}

// subsetSum says of what shape the history is that is not decided.
func (f *filling) subsetSum() string {
	amounts := map[int64]bool{}
	for _, i := range f.free {
		amounts[f.steps[i].Amount().Delta] = true
	}
	return fmt.Sprintf("which of %d additions of %d different amounts, whose sums nobody was told, make up %d gaps between "+
		"the numbers that were told is a subset sum", len(f.free), len(amounts), len(f.gaps))
}

// compete decides between additions of known sum and unknown outcome and those that must be over early, if it can.
func (f *filling) compete(latest int64) step.Ruling {
	without := newFilling(f.counterCase, f.all)
	for i := range f.gaps {
		without.needs[i] = f.gaps[i].to - f.gaps[i].from
	}
	f.all, f.floor = max(f.all, latest), latest
	if without.assign().Outcome == step.Ok || f.assign().Outcome == step.Ok {
		return step.Legal()
	}
	return step.Undecided("additions of known sum and unknown outcome compete with others for the same numbers")
}

// setEnds finds the first end of the places after each gap.
func (c *counterCase) setEnds() {
	end, g := interval.Forever, len(c.gaps)-1
	for i := len(c.places) - 1; i >= 0; i-- {
		end = min(end, c.places[i].end)
		if g >= 0 && c.gaps[g].next == int32(i) {
			c.gaps[g].end = end
			g--
		}
	}
}

type filling struct {
	*counterCase
	all   int64   // the latest call of all places
	needs []int64 // by gap: how much of it remains to be covered
	floor int64   // additions that must be over before it are not given to gaps
}

func newFilling(c *counterCase, all int64) *filling {
	return &filling{counterCase: c, all: all, needs: make([]int64, len(c.gaps)), floor: math.MinInt64}
}

// cover covers the gaps with additions whose sums are known. It returns the latest call of those.
func (f *filling) cover() (latest int64) {
	latest = math.MinInt64
	interval.SortBy(f.known, func(i int32) int64 { return f.steps[i].Amount().Sum })
	next := 0
	for i := range f.gaps {
		g := &f.gaps[i]
		for next < len(f.known) && f.steps[f.known[next]].Amount().Sum <= g.from {
			next++
		}
		first := next
		for next < len(f.known) && f.steps[f.known[next]].Amount().Sum <= g.to {
			next++
		}
		f.needs[i] = g.to - g.from - f.most(g, f.known[first:next], &latest)
	}
	return latest
}

// most returns how much of a gap additions can cover without overlap. They are in order of sum.
func (f *filling) most(g *gap, known []int32, latest *int64) int64 {
	var sums, covered []int64 // of those that fit, in order
	best := int64(0)
	for _, i := range known {
		s := &f.steps[i]
		if s.Amount().Sum-s.Amount().Delta < g.from || s.Call > g.end || s.Amount().Delta == 0 {
			continue
		}
		*latest = max(*latest, s.Call)
		with := s.Amount().Delta
		if k := sort.Search(len(sums), func(k int) bool { return sums[k] > s.Amount().Sum-s.Amount().Delta }); k > 0 {
			with += covered[k-1]
		}
		best = max(best, with)
		sums, covered = append(sums, s.Amount().Sum), append(covered, best)
	}
	return best
}

// assign gives each gap, from the lowest, the additions without a sum that can be there, earliest deadline first.
func (f *filling) assign() step.Ruling {
	additions := make([]interval.Presence, len(f.free))
	for k, i := range f.free {
		additions[k] = interval.Presence{From: f.steps[i].Call, Until: f.steps[i].End, Of: i}
	}
	jobs := interval.NewSlots(additions)
	for k := range f.gaps {
		g := &f.gaps[k]
		jobs.Admit(g.end)
		if f.needs[k] > int64(jobs.Ready()) {
			return f.shortage(g, f.needs[k])
		}
		for range f.needs[k] {
			if job := jobs.Take(); job.Until < max(g.call, f.floor) {
				return f.homeless(job.Of)
			}
		}
	}
	rest := jobs.Rest()
	if k := slices.IndexFunc(rest, func(job interval.Presence) bool { return job.Until < f.all }); k >= 0 {
		return f.homeless(rest[k].Of)
	}
	return step.Legal()
}

// homeless is the finding that an addition of outcome ok has no place. Its certificate is the additions that have
// one, up to the first operation called after its return, and all whose sums are not known.
func (f *filling) homeless(job int32) step.Ruling {
	const few = 6
	after := slices.IndexFunc(f.places, func(p place) bool { return p.call > f.steps[job].End })
	var some []step.Step
	for i := range f.places {
		if p := &f.places[i]; i == after || i < after && !p.look {
			some = append(some, f.steps[p.step])
		}
	}
	some = append(some, step.At(f.steps, slices.Concat(f.known, f.free))...)
	r := step.Illegal(step.Finding{Property: "sum"})
	if len(some) <= few && (len(some) == len(f.steps) || Counter(some).Outcome == step.Violation) {
		r.Finding.Steps = some
	} else if len(f.steps) <= explainable {
		r.Finding = step.Finding{Steps: f.steps} // to be explained
	}
	return r
}

// shortage is the finding that a gap cannot be covered.
func (f *filling) shortage(g *gap, need int64) step.Ruling {
	r := step.Illegal(f.finding(f.between(g.below, g.next)...))
	if g.below != step.None {
		r.Given = additions([]int64{0, f.places[g.below].from})
	}
	if found := &r.Finding; found.Property == "sum" && f.repeats(g, need) {
		found.Property = "counted-twice"
	}
	return r
}

// repeats reports whether additions that took effect once more could cover the need of a gap.
func (f *filling) repeats(g *gap, need int64) bool {
	ones := int64(0)
	for i := range f.places {
		p := &f.places[i]
		switch size := p.to - p.from; {
		case p.call > g.end:
		case size == need:
			return true
		case size == 1:
			ones++
		}
	}
	return ones >= need
}
