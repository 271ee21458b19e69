package monitor

import (
	"cmp"
	"fmt"
	"maps"
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
// make up a gap is a subset sum. If they are of few amounts, and can be at the end, it matters only how many of each were used
// up to which number: that is searched. Else the answer is undetermined.

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
	known  []int32             // adds of unknown outcome and known sum
	free   []interval.Presence // adds whose sum was not told
	units  bool                // whether all of free add 1
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
			c.places = append(c.places, place{s.Amount().Sum - s.Amount().Delta, s.Amount().Sum, s.Call, s.End, int32(i)})
		case !s.Null:
			c.known = append(c.known, int32(i))
		case s.Amount().Delta > 0:
			c.free = append(c.free, interval.Presence{From: s.Call, Until: s.End, Of: int32(i)})
			c.units = c.units && s.Amount().Delta == 1
		}
	}
	slices.SortFunc(c.places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(min(b.to-b.from, 1), min(a.to-a.from, 1)), cmp.Compare(a.call, b.call),
			cmp.Compare(a.step, b.step))
	})
	return ""
}

// judgePlaces looks for two places that contradict each other, without gets or with them, and finds the gaps.
//
// Invariant: latest is the place of the latest call among those before this one.
func (c *counterCase) judgePlaces(gets bool) step.Ruling {
	c.gaps = c.gaps[:0]
	below, latest, call := int32(step.None), int32(step.None), int64(math.MinInt64)
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
			c.gaps = append(c.gaps, gap{c.at(below), p.from, call, 0, below, int32(i)})
		}
		below, latest, call = int32(i), c.later(latest, int32(i)), max(call, p.call)
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

// fill covers the gaps with additions that were not told their sums. What cannot be done if those of known sum are in nobody's
// way cannot be done at all.
func (c *counterCase) fill() step.Ruling {
	c.setEnds()
	interval.SortBy(c.known, func(i int32) int64 { return c.steps[i].Amount().Sum })
	if !c.units {
		return c.using(true, false).makeUp()
	}
	r := c.using(true, true).place()
	for _, late := range []bool{true, false} {
		if r.Outcome != step.Ok || c.using(late, false).place().Outcome == step.Ok {
			return r
		}
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

// filling is what additions without a sum have to cover.
type filling struct {
	*counterCase
	needs []int64 // by gap: how much of it the others cannot cover
	room  []int64 // by gap: how much of it may be left to these, if each of them adds 1
	calls []int64 // by gap: the latest call of what comes before its end
	last  int64   // the latest call of all
}

// using covers the gaps with additions of known sum, also with those that are called later than what comes before them anyway;
// or with all, as if they were called early and left all room to others.
func (c *counterCase) using(late, anyhow bool) *filling {
	f := &filling{counterCase: c, last: math.MinInt64}
	known := c.known
	for i := range c.gaps {
		g, units := &c.gaps[i], true
		f.last = max(f.last, g.call)
		var sums, covered []int64 // how much those can cover without overlap that add up to so much, in order of that
		best := int64(0)
		for ; len(known) > 0 && c.steps[known[0]].Amount().Sum <= g.to; known = known[1:] {
			s, a := &c.steps[known[0]], c.steps[known[0]].Amount()
			from := a.Sum - a.Delta
			if a.Delta == 0 || from < g.from || s.Call > g.end || !late && s.Call > g.call {
				continue
			}
			with := a.Delta
			if k := sort.Search(len(sums), func(k int) bool { return sums[k] > from }); k > 0 {
				with += covered[k-1]
			}
			best = max(best, with)
			sums, covered = append(sums, a.Sum), append(covered, best)
			if units = units && a.Delta == 1; !anyhow {
				f.last = max(f.last, s.Call)
			}
		}
		needs, room := g.to-g.from-best, g.to-g.from
		if !units && !anyhow {
			room = needs
		}
		f.needs, f.room, f.calls = append(f.needs, needs), append(f.room, room), append(f.calls, f.last)
	}
	for i := range c.places {
		f.last = max(f.last, c.places[i].call)
	}
	return f
}

// place gives each gap, from the lowest, what it needs of the additions of 1 without a sum that can be there, earliest
// deadline first. Then it gives each of those a place. If either can be done, both can be done at once (Mendelsohn and
// Dulmage, "Some Generalizations of the Problem of Distinct Representatives", 1958).
func (f *filling) place() step.Ruling {
	jobs := interval.NewSlots(f.free)
	for k := range f.gaps {
		jobs.Admit(f.gaps[k].end)
		jobs.Expire(f.calls[k])
		if f.needs[k] > int64(jobs.Ready()) {
			return f.shortage(&f.gaps[k], f.needs[k])
		}
		for range f.needs[k] {
			jobs.Take()
		}
	}
	jobs = interval.NewSlots(f.free)
	for k := range f.gaps {
		jobs.Admit(f.gaps[k].end)
		for range min(f.room[k], int64(jobs.Ready())) {
			if job := jobs.Take(); job.Until < f.calls[k] {
				return f.homeless()
			}
		}
	}
	for _, job := range jobs.Rest() {
		if job.Until < f.last {
			return f.homeless()
		}
	}
	return step.Legal()
}

const (
	amountsMax  = 8       // the different amounts among which those are looked for that make up the gaps …
	spotsMax    = 1 << 19 // … and the spots at which they are
	explainable = 2000    // the steps of a counter among which an explanation is looked for
)

// spot is how far the gaps are covered, and how many additions of each amount were used for that.
type spot struct {
	gap  int
	at   int64
	used [amountsMax]int32
}

// makeUp covers the gaps, from the lowest, with additions of several amounts, if all of them may as well be at the end. Those
// of one amount differ in their calls alone, and what can be in a gap can be in all that follow. So of the way to a spot all
// that matters is in the spot.
func (f *filling) makeUp() step.Ruling {
	late, calls := f.last, map[int64][]interval.Mark{} // by amount
	interval.SortBy(f.free, func(job interval.Presence) int64 { return job.From })
	for _, job := range f.free {
		amount := f.steps[job.Of].Amount().Delta
		late, calls[amount] = max(late, job.From), append(calls[amount], interval.Mark{At: job.From})
	}
	amounts := slices.Sorted(maps.Keys(calls))
	bounded := slices.ContainsFunc(f.free, func(job interval.Presence) bool { return job.Until < late })
	hard := step.Undecided(fmt.Sprintf("which of %d additions of %d different amounts, whose sums nobody was told, make up %d "+
		"gaps between the numbers that were told is a subset sum", len(f.free), len(amounts), len(f.gaps)))
	switch {
	case bounded || len(amounts) > amountsMax:
		return hard
	case len(f.gaps) == 0:
		return step.Legal()
	}
	known := map[int64][]int32{} // by the number before
	for _, i := range f.known {
		from := f.steps[i].Amount().Sum - f.steps[i].Amount().Delta
		known[from] = append(known[from], i)
	}
	seen, left := map[spot]bool{}, []spot{{at: f.gaps[0].from}}
	for len(left) > 0 {
		s := left[len(left)-1]
		left = left[:len(left)-1]
		if s.at == f.gaps[s.gap].to {
			if s.gap++; s.gap == len(f.gaps) {
				return step.Legal()
			}
			s.at = f.gaps[s.gap].from
		}
		switch {
		case seen[s]:
			continue
		case len(seen) == spotsMax:
			return hard
		}
		g := &f.gaps[s.gap]
		seen[s] = true
		for k, amount := range amounts { // the largest is tried first
			if s.at+amount <= g.to && int(s.used[k]) < interval.After(calls[amount], g.end) {
				with := s
				with.at += amount
				with.used[k]++
				left = append(left, with)
			}
		}
		for _, i := range known[s.at] {
			if to := f.steps[i].Amount().Sum; to > s.at && to <= g.to && f.steps[i].Call <= g.end {
				left = append(left, spot{s.gap, to, s.used})
			}
		}
	}
	return f.homeless()
}

// homeless is the finding that additions cannot all have a place, or not fill all gaps; why is explained in a short history.
func (f *filling) homeless() step.Ruling {
	if len(f.steps) <= explainable {
		return step.Illegal(step.Finding{Steps: f.steps})
	}
	return step.Illegal(step.Finding{Property: "sum"})
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
