package monitor

import (
	"cmp"
	"slices"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// The monitor of a priority queue goes through the priorities from the best to the worst. A value is never in the way
// of a better one. What it does to the worse ones is that none of them is at the head while it is in the queue. So
// let the better values be dealt with, and call an instant covered if one of them is surely in the queue then. The
// values of one priority are a queue of their own, whose removals and peeks can only be at instants that are not
// covered: from the first to the last of these within their intervals. Instants between these two that are covered do
// no harm: whoever is at the head there is there at the end of that as well, and offers go before him. A queue is
// best, for those that come after it, if every value is in it from its by to its stayed only, and all can be that
// short at once (see queue.go and queueempty.go). These are covered from here on. An empty result is worse than all
// values: it needs an instant that is not covered.
//
// For values that differ in priority, and no outcome unknown, this is known (Gibbons, Bruno and Phillips, "Black-Box
// Correctness Tests for Basic Parallel Data Structures", 2002: O(n log n)). The rest was made for this program and is
// compared with exhaustive search, see package exhaustive.
//
// A value that was surely offered and not surely removed was perhaps taken by a removal of unknown outcome, which was
// called at t: then it has a removal from t to forever, and sooner is better. The steps are legal if and only if some
// way to give such values removals of their own makes them so.
//
//   - They are illegal if they are with each such value having the removal that was called first.
//   - A worse value that is at the head after the value was surely in the queue sets a deadline: a removal must have
//     been called by then. If there are not removals enough for all deadlines the steps are illegal. Hall's theorem
//     says when, as in queuelost.go.
//   - Else removals are given by deadline, the first called to the first deadline. If that explains the steps they
//     are legal. If not, those in whose way the values still are set further deadlines, a few times. If nothing helps
//     the monitor does not know.

// Priorities judges the steps of a priority queue.
func Priorities(steps []step.Step) step.Ruling {
	if f := newQueueCase(steps).load(); f != nil { // phantoms and duplicates
		return step.Illegal(*f)
	}
	r, blame := judgePriorities(steps)
	if r.Outcome == step.Violation {
		r.Finding.Steps = blame.certificate()
		if r.Finding.Property == "order" && PassedOver(r.Finding.Steps) {
			r.Finding.Property = "lost"
		}
	}
	return r
}

// PassedOver reports whether there is a value that was offered and surely not removed.
func PassedOver(steps []step.Step) bool {
	return slices.ContainsFunc(steps, func(offer step.Step) bool {
		return offer.Kind == step.Offer && !slices.ContainsFunc(steps, func(s step.Step) bool {
			return s.Kind == step.Remove && !s.Unknown && s.Item == offer.Item
		})
	})
}

// judgePriorities judges all steps. A violation is named by what it needs: offers and removals, else peeks, else
// empties.
func judgePriorities(steps []step.Step) (step.Ruling, *blame) {
	c := newRankCase(steps)
	deadlines, b := c.impossible(true, true)
	switch {
	case b == nil && c.explained(deadlines):
		return step.Legal(), nil
	case b == nil:
		return step.Undecided("which removals of unknown outcome took which values could not be found out"), nil
	}
	property := "false-empty"
	if _, less := c.impossible(true, false); less != nil {
		b, property = less, "stale-peek"
	}
	if _, least := c.impossible(false, false); least != nil {
		b, property = least, "order"
	}
	return step.Illegal(step.Finding{Property: property}), b
}

// impossible returns the deadlines, or why the steps are illegal, with or without peeks and empty results.
func (c *rankCase) impossible(peeks, empties bool) (deadlines []due, b *blame) {
	c.withPeeks, c.withEmpties = peeks, empties
	if deadlines, b = c.deadlines(); b == nil {
		b = c.unmet(deadlines)
	}
	return deadlines, b
}

// rankCase is the steps of a priority queue. Its instants are the ranks of the stamps, from 0.
type rankCase struct {
	given       []step.Step // as they are
	steps       []step.Step // with ranks for stamps
	instants    int64
	classes     [][]int32 // offers, removals and peeks of one priority, the best first
	class       []int32   // by item; none if it was not offered
	offer       []int32   // by item: a step
	local       []int32   // by item: its number in its class
	named       []int64   // by item: when a removal of unknown outcome that names it was called first
	empties     []int32
	lost        []interval.Mark // the removals of unknown outcome that name nothing: calls and steps, by call
	peeks       bool            // whether there are any
	waiting     []int32         // items that may have been taken by removals of unknown outcome, and by no others
	withPeeks   bool            // whether peeks count …
	withEmpties bool            // … and empty results
	cover       cover
}

func newRankCase(steps []step.Step) *rankCase {
	items := step.Items(steps)
	c := &rankCase{
		given: steps, steps: slices.Clone(steps), offer: make([]int32, items), local: make([]int32, items),
		class: make([]int32, items), named: make([]int64, items),
	}
	c.rankStamps()
	for i := range c.offer {
		c.offer[i], c.class[i], c.named[i] = step.None, step.None, interval.Forever
	}
	sure := make([]bool, items) // by item: surely removed
	for i := range c.steps {
		c.note(int32(i), sure)
	}
	interval.Sort(c.lost)
	c.classify()
	for item, offer := range c.offer {
		if offer != step.None && !sure[item] && (len(c.lost) > 0 || c.named[item] < interval.Forever) {
			c.waiting = append(c.waiting, int32(item))
		}
	}
	return c
}

func (c *rankCase) rankStamps() {
	stamps := make([]int64, 0, 2*len(c.steps)+1)
	for i := range c.steps {
		stamps = append(stamps, c.steps[i].Call, c.steps[i].End)
	}
	slices.Sort(stamps)
	stamps = slices.Compact(stamps)
	if n := len(stamps); n > 0 && stamps[n-1] == interval.Forever {
		stamps = stamps[:n-1]
	}
	for i := range c.steps {
		s := &c.steps[i]
		s.Call = rankOf(stamps, s.Call)
		if s.End < interval.Forever {
			s.End = rankOf(stamps, s.End)
		}
	}
	c.instants = int64(len(stamps))
}

func rankOf(stamps []int64, stamp int64) int64 {
	i, _ := slices.BinarySearch(stamps, stamp)
	return int64(i)
}

func (c *rankCase) note(i int32, sure []bool) {
	switch s := &c.steps[i]; {
	case s.Empty():
		c.empties = append(c.empties, i)
	case s.Item == step.NoItem:
		c.lost = append(c.lost, interval.Mark{At: s.Call, What: i})
	case s.Kind == step.Offer:
		c.offer[s.Item] = i
	case s.Unknown:
		c.named[s.Item] = min(c.named[s.Item], s.Call)
	case s.Kind == step.Peek:
		c.peeks = true
	default:
		sure[s.Item] = true
	}
}

// classify puts the steps of values into classes by priority.
func (c *rankCase) classify() {
	var priorities []int64
	for _, offer := range c.offer {
		if offer != step.None {
			priorities = append(priorities, c.steps[offer].Priority())
		}
	}
	slices.Sort(priorities)
	priorities = slices.Compact(priorities)
	c.classes = make([][]int32, len(priorities))
	sizes := make([]int32, len(priorities))
	for item, offer := range c.offer {
		if offer != step.None {
			k, _ := slices.BinarySearch(priorities, c.steps[offer].Priority())
			c.class[item], c.local[item] = int32(k), sizes[k]
			sizes[k]++
		}
	}
	for i := range c.steps {
		if s := &c.steps[i]; s.Item != step.NoItem && c.class[s.Item] != step.None && !(s.Unknown && s.Kind != step.Offer) {
			c.classes[c.class[s.Item]] = append(c.classes[c.class[s.Item]], int32(i))
		}
	}
}

// cover is which instants are covered, as links to the next, or the last, that may not be.
type cover struct{ next, back []int32 }

func (c *cover) reset(instants int64) {
	if int64(len(c.next)) != instants+1 {
		c.next, c.back = make([]int32, instants+1), make([]int32, instants+1)
	}
	for i := range c.next {
		c.next[i], c.back[i] = int32(i), int32(i)
	}
}

// follow returns where the links lead, and shortens them.
func follow(links []int32, at int32) int32 {
	for links[at] != at {
		links[at] = links[links[at]]
		at = links[at]
	}
	return at
}

// from returns the first instant at t or later that is not covered, interval.Forever if there is none.
func (c *cover) from(t int64) int64 {
	end := int64(len(c.next) - 1)
	if t >= end {
		return interval.Forever
	}
	if at := int64(follow(c.next, int32(t))); at < end {
		return at
	}
	return interval.Forever
}

// until returns the last instant at t or before that is not covered. The first of all never is.
func (c *cover) until(t int64) int64 { return int64(follow(c.back, int32(t))) }

// between covers what is between two instants, but not these.
func (c *cover) between(from, to int64) {
	to = min(to, int64(len(c.next)-1))
	for at := follow(c.next, int32(min(from+1, to))); int64(at) < to; at = follow(c.next, at) {
		c.next[at], c.back[at] = at+1, at-1
	}
}

// blame is why steps are illegal: a step that has no instant, or values in a class that are in each other's way, or
// values that had to be gone; at about what time, and among which classes.
type blame struct {
	c        *rankCase
	from, to int64
	class    int32   // this one and better ones
	empties  []int32 // the empty results that matter

	peeks, readEmpty bool // whether peeks and empty results counted
}

func (c *rankCase) blame(from, to int64, class int32) *blame {
	return &blame{c: c, from: from, to: to, class: class, peeks: c.withPeeks, readEmpty: c.withEmpties}
}

// sight is where a removal or peek of a value, or an empty result, can be.
type sight struct {
	first, last int64
	class       int32 // of the value; that of an empty result is worse than all
	from        int64 // when the value was called for to be put in
}

// run judges all classes, given when the removal of each value was called, or interval.Forever. It returns what is illegal. It
// tells see, by class, all sights and the visits of values.
func (c *rankCase) run(taken []int64, see func(class int32, sights []sight, visits []visit)) *blame {
	c.cover.reset(c.instants)
	var steps []step.Step
	var sights []sight
	waiting := c.waitingByClass()
	for k, class := range c.classes {
		steps, sights = steps[:0], sights[:0]
		for _, i := range class {
			s := c.steps[i]
			if s.Kind == step.Peek && !c.withPeeks {
				continue
			}
			if s.Kind != step.Offer {
				called := c.steps[c.offer[s.Item]].Call
				s.Call, s.End = c.cover.from(max(s.Call, called)), c.cover.until(s.End)
				if s.Call > s.End {
					return c.blame(max(c.steps[i].Call, called), c.steps[i].End, int32(k))
				}
				sights = append(sights, sight{s.Call, s.End, int32(k), called})
			}
			s.Item = c.local[s.Item]
			steps = append(steps, s)
		}
		for _, item := range waiting[k] {
			if taken[item] < interval.Forever {
				call := c.cover.from(max(taken[item], c.steps[c.offer[item]].Call))
				steps = append(steps, step.Step{Kind: step.Remove, Item: c.local[item], Call: call, End: interval.Forever,
					Source: step.None})
			}
		}
		q := newQueueCase(steps)
		if b := c.inOrder(q, int32(k)); b != nil {
			return b
		}
		if see != nil {
			see(int32(k), sights, q.visits)
		}
		for i := range q.visits {
			if v := &q.visits[i]; !v.absent && v.by < v.stayed {
				c.cover.between(v.by, v.stayed)
			}
		}
	}
	return c.emptyAt(see)
}

func (c *rankCase) waitingByClass() [][]int32 {
	all := make([][]int32, len(c.classes))
	for _, item := range c.waiting {
		all[c.class[item]] = append(all[c.class[item]], item)
	}
	return all
}

func (c *rankCase) inOrder(q *queueCase, class int32) *blame {
	q.load() // there are neither phantoms nor duplicates
	q.admit(true)
	f := q.overtaken(true)
	if f == nil && q.peeks {
		f = cmp.Or(q.gone(), q.atHead())
	}
	if f == nil {
		return nil
	}
	b := c.blame(interval.Forever, 0, class)
	for i := range f.Steps {
		s := &f.Steps[i]
		b.from = min(b.from, s.Call)
		if s.End < interval.Forever {
			b.to = max(b.to, s.End)
		}
	}
	return b
}

func (c *rankCase) emptyAt(see func(int32, []sight, []visit)) *blame {
	if !c.withEmpties {
		return nil
	}
	var sights []sight
	worst := int32(len(c.classes))
	for _, i := range c.empties {
		s := &c.steps[i]
		first, last := c.cover.from(s.Call), c.cover.until(s.End)
		if first > last {
			b := c.blame(s.Call, s.End, worst)
			b.empties = []int32{i}
			return b
		}
		sights = append(sights, sight{first, last, worst, first})
	}
	if see != nil {
		see(worst, sights, nil)
	}
	return nil
}

// due is a value that is waiting, and by when a removal that takes it must have been called.
type due struct {
	item     int32
	deadline int64
}

// unmet returns why the deadlines cannot all be met, if that is so.
func (c *rankCase) unmet(deadlines []due) *blame {
	removals := interval.Supply{Slots: c.lost}
	for k, d := range deadlines {
		if d.deadline < c.named[d.item] && !removals.Meet(d.deadline) {
			return c.missed(deadlines[:k+1])
		}
	}
	return nil
}

// missed is the blame that there are not removals enough for the given deadlines.
func (c *rankCase) missed(deadlines []due) *blame {
	last := deadlines[len(deadlines)-1].deadline
	b := c.blame(last, last, int32(len(c.classes)))
	byDeadline := func(d due, at int64) int { return cmp.Compare(d.deadline, at) }
	for _, i := range c.empties {
		if _, found := slices.BinarySearchFunc(deadlines, c.cover.until(c.steps[i].End), byDeadline); found {
			b.empties = append(b.empties, i)
		}
	}
	return b
}

// soonest is when the first removal was called that may have taken each value.
func (c *rankCase) soonest() []int64 {
	taken := slices.Clone(c.named)
	if len(c.lost) > 0 {
		for i := range taken {
			taken[i] = min(taken[i], c.lost[0].At)
		}
	}
	return taken
}

// deadlines returns the values that are waiting by deadline, those without left out; or why there is no way at all.
func (c *rankCase) deadlines() (all []due, b *blame) {
	var sights []sight
	bys := make(map[int32]int64, len(c.waiting))
	waiting := c.waitingByClass()
	b = c.run(c.soonest(), func(class int32, of []sight, visits []visit) {
		if len(c.waiting) == 0 {
			return
		}
		sights = append(sights, of...)
		if int(class) < len(waiting) {
			for _, item := range waiting[class] {
				if v := &visits[c.local[item]]; !v.absent {
					bys[item] = v.by
				}
			}
		}
	})
	if b != nil || len(bys) == 0 {
		return nil, b
	}
	return c.byDeadline(sights, bys), nil
}

// byDeadline returns the deadlines that sights set: a value must be gone by the last instant of every sight of a
// worse one whose first instant is after by, and of one of its own class that was called for to be offered after by.
// The sights are in order of class.
func (c *rankCase) byDeadline(sights []sight, bys map[int32]int64) (all []due) {
	forever := func(int) int64 { return interval.Forever }
	worse, own := interval.NewLeast(int(c.instants), forever), interval.NewLeast(int(c.instants), forever)
	at := len(sights)
	waiting := c.waitingByClass()
	for k := len(waiting) - 1; k >= 0; k-- {
		for ; at > 0 && sights[at-1].class > int32(k); at-- {
			worse.Lower(sights[at-1].first, sights[at-1].last)
		}
		if len(waiting[k]) == 0 {
			continue
		}
		begin := at
		for begin > 0 && sights[begin-1].class == int32(k) {
			begin--
			own.Lower(sights[begin].from, sights[begin].last)
		}
		for _, item := range waiting[k] {
			by, there := bys[item]
			if !there || by >= c.instants {
				continue
			}
			if d := min(worse.Of(int(by)+1, int(c.instants)), own.Of(int(by)+1, int(c.instants))); d < interval.Forever {
				all = append(all, due{item, d})
			}
		}
		for ; begin < at; begin++ {
			own.Set(sights[begin].from, interval.Forever)
		}
	}
	slices.SortFunc(all, func(a, b due) int { return cmp.Or(cmp.Compare(a.deadline, b.deadline), int(a.item-b.item)) })
	return all
}

// triesMax is how many ways are tried to give values removals of unknown outcome.
const triesMax = 24

// explained reports whether a way was found to give values removals of unknown outcome that makes the steps legal.
func (c *rankCase) explained(deadlines []due) bool {
	if len(c.waiting) == 0 {
		return true
	}
	by := make(map[int32]int64) // deadlines
	for _, d := range deadlines {
		by[d.item] = d.deadline
	}
	for range triesMax {
		b := c.run(c.assign(by), nil)
		if b == nil {
			return true
		}
		if !c.press(by, b) {
			return false
		}
	}
	return false
}

// assign gives removals by deadline. Values without a deadline may stay for ever.
func (c *rankCase) assign(by map[int32]int64) []int64 {
	taken := slices.Clone(c.named)
	var hungry []due
	for _, item := range c.waiting {
		if d, found := by[item]; found && d < c.named[item] {
			hungry = append(hungry, due{item, d})
		}
	}
	interval.SortBy(hungry, func(a due) int64 { return a.deadline })
	for i, d := range hungry {
		if i < len(c.lost) {
			taken[d.item] = c.lost[i].At
		}
	}
	return taken
}

// press sets sooner deadlines for values that may have been in the way, and reports whether there are any.
func (c *rankCase) press(by map[int32]int64, b *blame) (pressed bool) {
	for _, item := range c.waiting {
		offer := &c.steps[c.offer[item]]
		if c.class[item] > b.class || offer.Call > b.to {
			continue
		}
		if d, found := by[item]; !found || d > b.to {
			by[item], pressed = b.to, true
		}
	}
	return pressed
}

// certificate returns a few steps that are illegal by themselves, of values present at about that time if possible.
func (b *blame) certificate() []step.Step {
	c := b.c
	items := b.nearest()
	illegal := func(steps []step.Step) bool {
		_, b := newRankCase(steps).impossible(b.peeks, b.readEmpty)
		return b != nil
	}
	for n := min(8, len(items)); ; n = min(4*n, len(items)) {
		if some := b.of(items[:n]); illegal(some) {
			return step.DropLate(c.spared(reduce(some, illegal, step.ItemParts, step.LooseParts)))
		}
		if n == len(items) {
			return nil
		}
	}
}

// nearest returns the items of the classes to blame, those first that were about at the time.
func (b *blame) nearest() []int32 {
	type near struct {
		distance int64
		item     int32
	}
	until := make([]int64, len(b.c.offer)) // by item: its last step
	for i := range b.c.steps {
		if s := &b.c.steps[i]; s.Item != step.NoItem && s.End < interval.Forever {
			until[s.Item] = max(until[s.Item], s.End)
		}
	}
	for _, item := range b.c.waiting {
		until[item] = interval.Forever
	}
	var all []near
	for item, offer := range b.c.offer {
		if offer == step.None || b.c.class[item] > b.class {
			continue
		}
		distance := max(0, b.c.steps[offer].Call-b.to, b.from-until[item])
		all = append(all, near{distance, int32(item)})
	}
	interval.SortBy(all, func(x near) int64 { return x.distance })
	items := make([]int32, len(all))
	for i := range all {
		items[i] = all[i].item
	}
	return items
}

// of returns the steps of items, the empty results that matter, and the removals of unknown outcome.
func (b *blame) of(items []int32) []step.Step {
	items = slices.Clone(items)
	slices.Sort(items)
	var some []step.Step
	for i := range b.c.given {
		s := &b.c.given[i]
		_, found := slices.BinarySearch(items, s.Item)
		_, matters := slices.BinarySearch(b.empties, int32(i))
		if found || matters || s.Item == step.NoItem && s.Unknown && s.Kind == step.Remove {
			some = append(some, *s)
		}
	}
	return b.c.spared(some)
}

// spared leaves out the removals of unknown outcome that make no difference: of k values not surely removed they can
// take k, and those called first can do all that others can.
func (c *rankCase) spared(steps []step.Step) []step.Step {
	kept := make(map[int32]bool)
	for i := range steps {
		if s := &steps[i]; s.Kind == step.Offer {
			kept[s.Item] = true
		}
	}
	for i := range steps {
		if s := &steps[i]; s.Kind == step.Remove && !s.Unknown {
			delete(kept, s.Item)
		}
	}
	var calls []int64
	for i := range steps {
		if s := &steps[i]; s.Unknown && s.Item == step.NoItem {
			calls = append(calls, s.Call)
		}
	}
	slices.Sort(calls)
	left := min(len(kept), len(calls))
	latest := int64(0)
	if left > 0 {
		latest = calls[left-1]
	}
	return step.Select(steps, func(s *step.Step) bool {
		if !s.Unknown || s.Item != step.NoItem {
			return true
		}
		if left == 0 || s.Call > latest {
			return false
		}
		left--
		return true
	})
}
