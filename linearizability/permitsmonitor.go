package linearizability

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// The monitor of semaphores and read/write locks looks at tenures, as that of a lock does, with permits: a reader
// takes one, a writer all there are, of which there are more than readers.
//
// Holds only take permits from others, so a tenure does best to begin late, at till, and to end early, at free; one
// that then has no length needs one instant from free to till at which there is room for it. These instants do not
// depend on each other. Without tokens a history is legal if and only if the forward zones never take more than there
// is, and every backward zone has such an instant. That is Gibbons and Korach's theorem, see the monitor of a lock,
// with a sum in the place of a conflict.
//
// Tokens set deadlines: who must be granted before somebody else is granted no later than that one. The deadline of a
// grant is the least till among itself and all that must come after it, and no order can do better for any of them;
// all grants at their deadlines are in the order of their tokens. So the above is asked again with the deadlines for
// till. (A reader must be granted after the writers with smaller tokens, a writer after everybody with a smaller
// one.)
//
// A tenure of no length with a token has a place among the others of its instant, and a writer that is downgraded at
// once stays as a reader. These are tried at their deadlines only. If there is no room, and they could go elsewhere,
// the answer is undetermined: going there moves the deadlines of others.
//
// The time is O(n log n) for n operations: there is nothing but sorting, sweeping and searching.

func permitMonitor(steps []step, capacity int64) ruling {
	r := clearPermits(steps, capacity)
	if r.outcome == Undetermined {
		if likely, apart := likelyHolds(steps); apart && clearPermits(likely, capacity).outcome == Ok {
			return legal()
		}
	}
	return r
}

// clearPermits judges what is clear. The answer is undetermined if the rest matters.
func clearPermits(steps []step, capacity int64) ruling {
	if clear := selectSteps(steps, func(s *step) bool { return s.doubt == nil }); len(clear) < len(steps) {
		if r := clearPermits(clear, capacity); r.outcome == Violation {
			return r
		}
		return undetermined("a release may be about one of several holds of its process, as a downgrade, or what " +
			"came before it, is of unknown outcome")
	}
	t := tenures(steps)
	if t.stray != nil {
		return illegal(t.strayFinding())
	}
	p := newPermits(t, capacity)
	overdraft, doubt := p.overdraft()
	if overdraft != nil {
		return illegal(finding{"exclusion", t.certificate(p.leanest(overdraft)...)})
	}
	order := t.byToken()
	if t.unclear == "" && len(order) > 0 {
		p.tokened = true
		culprits, late := p.withDeadlines(order)
		if culprits != nil {
			return illegal(finding{"fencing", t.certificate(p.leanest(culprits)...)})
		}
		doubt = cmp.Or(doubt, late)
	}
	if doubt = cmp.Or(t.unclear, doubt); doubt != "" {
		return undetermined(doubt)
	}
	return legal()
}

// permits are the tenures of a lock or a semaphore with permits.
type permits struct {
	tenancy  *tenancy
	capacity int64
	entire   int64    // what a writer takes
	tokened  bool     // whether tokens count
	all      []tenure // the tenancy's, with deadlines for till if tokens count
	why      []int32  // by tenure: the one that set its deadline, or itself

	starts, ends []taking // by lo, and by hi
	taken, given []int64  // what the first so many of starts take, and of ends gave back
	least        minima   // of what is in use at the ends
}

// taking is a time in which a tenure surely takes permits: between lo and hi, not at them.
type taking struct {
	lo, hi, takes int64
	tenure        int32
}

func newPermits(t *tenancy, capacity int64) *permits {
	p := &permits{tenancy: t, capacity: capacity, entire: 1, all: t.all}
	if capacity == whole { // a read/write lock
		p.entire += int64(len(t.all))
		p.capacity = p.entire
	}
	return p
}

// takes returns how many permits a tenure takes at first.
func (p *permits) takes(x *tenure) int64 {
	if n := p.tenancy.steps[x.grant].takes(); n != whole || p.entire == 1 {
		return n
	}
	return p.entire
}

// overdraft returns tenures that take too much, with others that decide when they do, or why that is not known.
func (p *permits) overdraft() (culprits []int32, doubt string) {
	p.findTakings()
	if culprits = p.crowd(); culprits != nil {
		return culprits, ""
	}
	p.sum()
	for i := range p.all {
		if x := &p.all[i]; x.till >= min(x.free, x.shared) {
			culprits, why := p.place(int32(i), x)
			if doubt = cmp.Or(doubt, why); culprits != nil {
				return culprits, ""
			}
		}
	}
	return nil, doubt
}

// findTakings finds what tenures surely take: one permit of a writer throughout, its others until it is downgraded.
func (p *permits) findTakings() {
	p.starts = p.starts[:0]
	for i := range p.all {
		x := &p.all[i]
		if x.shared == Forever {
			p.during(x.till, x.free, p.takes(x), int32(i))
			continue
		}
		p.during(x.till, x.free, 1, int32(i))
		p.during(x.till, min(x.free, x.shared), p.takes(x)-1, int32(i))
	}
	p.ends = append(p.ends[:0], p.starts...)
	sortBy(p.starts, func(a taking) int64 { return a.lo })
	sortBy(p.ends, func(a taking) int64 { return a.hi })
}

func (p *permits) during(lo, hi, takes int64, tenure int32) {
	if lo < hi {
		p.starts = append(p.starts, taking{lo, hi, takes, tenure})
	}
}

// crowd returns tenures that surely take too much at one time, or nothing.
func (p *permits) crowd() []int32 {
	free, ended := p.capacity, 0
	for _, s := range p.starts {
		for ; p.ends[ended].hi <= s.lo; ended++ {
			free += p.ends[ended].takes
		}
		if free -= s.takes; free < 0 {
			return p.largest(p.takingsIn(func(o *taking) bool { return o.lo <= s.lo && s.lo < o.hi }), p.capacity)
		}
	}
	return nil
}

func (p *permits) takingsIn(is func(*taking) bool) []taking {
	var found []taking
	for i := range p.starts {
		if is(&p.starts[i]) {
			found = append(found, p.starts[i])
		}
	}
	return found
}

// largest returns the fewest tenures of the takings that take more than limit together.
func (p *permits) largest(takings []taking, limit int64) (tenures []int32) {
	slices.SortStableFunc(takings, func(a, b taking) int { return cmp.Compare(b.takes, a.takes) })
	for _, s := range takings {
		tenures = append(tenures, s.tenure)
		if limit -= s.takes; limit < 0 {
			break
		}
	}
	return tenures
}

// sum prepares used and least.
func (p *permits) sum() {
	p.taken, p.given = make([]int64, len(p.starts)+1), make([]int64, len(p.ends)+1)
	for i := range p.starts {
		p.taken[i+1] = p.taken[i] + p.starts[i].takes
		p.given[i+1] = p.given[i] + p.ends[i].takes
	}
	p.least = newMinima(len(p.ends), func(i int) int64 { return p.used(p.ends[i].hi) })
}

// used returns how much is surely in use at an instant. It wraps around on the way to a sum that does not.
func (p *permits) used(instant int64) int64 {
	started := sort.Search(len(p.starts), func(i int) bool { return p.starts[i].lo >= instant })
	return p.taken[started] - p.given[p.endsUntil(instant)]
}

// endsUntil is how many of them have ended at an instant.
func (p *permits) endsUntil(instant int64) int {
	return sort.Search(len(p.ends), func(i int) bool { return p.ends[i].hi > instant })
}

// place finds room for a tenure that has no length, or that is downgraded at once.
func (p *permits) place(i int32, x *tenure) (culprits []int32, doubt string) {
	downgraded := x.shared < x.free
	if downgraded || p.tokened && !p.tenancy.steps[x.grant].noToken {
		return p.placeAtDeadline(i, x)
	}
	switch full := p.roomiest(x.free, x.till) > p.capacity-p.takes(x); {
	case full && x.other:
		return nil, "a writer that was perhaps downgraded has no room at its release"
	case full:
		return append(p.cover(x), i), ""
	}
	return nil, ""
}

// roomiest returns the least use between two instants. Use falls at the ends of takings only.
func (p *permits) roomiest(from, to int64) int64 {
	first := sort.Search(len(p.ends), func(i int) bool { return p.ends[i].hi >= from })
	return min(p.used(from), p.least.of(first, p.endsUntil(to)))
}

// cover returns tenures that leave no room for x.
func (p *permits) cover(x *tenure) []int32 {
	near := p.takingsIn(func(s *taking) bool { return s.lo < x.till && x.free < s.hi })
	slices.SortStableFunc(near, func(a, b taking) int { return cmp.Compare(b.hi, a.hi) })
	var chosen []int32
	for instant := x.free; instant <= x.till; {
		left, next := p.capacity-p.takes(x), int64(math.MaxInt64)
		for k := 0; k < len(near) && left >= 0; k++ {
			if s := &near[k]; s.lo < instant && instant < s.hi {
				chosen = append(chosen, s.tenure)
				left, next = left-s.takes, min(next, s.hi)
			}
		}
		if left >= 0 || next == math.MaxInt64 {
			break
		}
		instant = next
	}
	return unique(chosen)
}

func unique(tenures []int32) []int32 {
	slices.Sort(tenures)
	return slices.Compact(tenures)
}

// placeAtDeadline tries the last instant only. Before the tenure come those that begin then and have smaller tokens.
func (p *permits) placeAtDeadline(i int32, x *tenure) (culprits []int32, doubt string) {
	instant := x.till
	left := p.capacity - p.takes(x) - p.used(instant)
	crowded := false
	for k := p.startsAt(instant); k < len(p.starts) && p.starts[k].lo == instant; k++ {
		switch s := &p.starts[k]; {
		case s.tenure == i:
		case p.precedes(s.tenure, i):
			left -= s.takes
		case x.shared <= instant && p.all[s.tenure].shared <= instant:
			crowded = true
		}
	}
	switch only := instant == min(x.free, x.shared); {
	case left < 0 && only:
		return append(p.at(i, instant), i), ""
	case left < 0 || crowded:
		return nil, "a tenure of no length, with a token or downgraded at once, has no room at its last instant"
	}
	return nil, ""
}

func (p *permits) startsAt(instant int64) int {
	return sort.Search(len(p.starts), func(k int) bool { return p.starts[k].lo >= instant })
}

// at returns the tenures that take permits at an instant, or begin then and come before tenure i.
func (p *permits) at(i int32, instant int64) (tenures []int32) {
	for _, s := range p.takingsIn(func(s *taking) bool { return s.lo <= instant && instant < s.hi }) {
		if s.tenure != i && (s.lo < instant || p.precedes(s.tenure, i)) {
			tenures = append(tenures, s.tenure)
		}
	}
	return unique(tenures)
}

// precedes tells whether tenure a must be granted before tenure b, as their tokens say.
func (p *permits) precedes(a, b int32) bool {
	s, o := &p.tenancy.steps[p.all[a].grant], &p.tenancy.steps[p.all[b].grant]
	return p.tokened && !s.noToken && !o.noToken && s.token < o.token && !(s.reads && o.reads)
}

// withDeadlines asks again for overdrafts, with deadlines for till. The order is that of the tokens.
func (p *permits) withDeadlines(order []int32) (culprits []int32, doubt string) {
	if culprits = p.setDeadlines(order); culprits != nil {
		return culprits, ""
	}
	culprits, doubt = p.overdraft()
	return p.withReasons(culprits), doubt
}

// deadline is the least of some tenures' deadlines.
type deadline struct {
	at     int64
	tenure int32
}

// setDeadlines goes through the tokens from the greatest down. It returns tenures that contradict their order, or
// nothing.
func (p *permits) setDeadlines(order []int32) []int32 {
	p.all, p.why = slices.Clone(p.tenancy.all), make([]int32, len(p.tenancy.all))
	for i := range p.why {
		p.why[i] = int32(i)
	}
	anybody, writer := deadline{Forever, none}, deadline{Forever, none}
	for to := len(order); to > 0; {
		from := to - 1
		for from > 0 && p.token(order[from-1]) == p.token(order[to-1]) {
			from--
		}
		same := order[from:to]
		if w := slices.IndexFunc(same, func(k int32) bool { return !p.reads(k) }); w >= 0 && len(same) > 1 {
			return []int32{same[w], same[(w+1)%len(same)]}
		}
		for _, k := range same {
			if culprits := p.hurry(k, anybody, writer); culprits != nil {
				return culprits
			}
		}
		for _, k := range same {
			anybody, writer = p.note(k, anybody, writer)
		}
		to = from
	}
	return nil
}

func (p *permits) token(k int32) int64 { return p.tenancy.token(k) }
func (p *permits) reads(k int32) bool  { return p.tenancy.steps[p.all[k].grant].reads }

// hurry sets the deadline of one tenure: that of all that must come later, if that is sooner.
func (p *permits) hurry(k int32, anybody, writer deadline) []int32 {
	x, later := &p.all[k], anybody
	if p.reads(k) {
		later = writer
	}
	if later.at >= x.till {
		return nil
	}
	x.till, p.why[k] = later.at, later.tenure
	if x.from > x.till {
		return p.withReasons([]int32{k})
	}
	return nil
}

// note returns the least deadlines once there is tenure k's.
func (p *permits) note(k int32, anybody, writer deadline) (deadline, deadline) {
	own := deadline{p.all[k].till, k}
	if own.at < anybody.at {
		anybody = own
	}
	if !p.reads(k) && own.at < writer.at {
		writer = own
	}
	return anybody, writer
}

// withReasons adds the tenures that set the deadlines of the given ones, and so on.
func (p *permits) withReasons(tenures []int32) []int32 {
	for i := 0; i < len(tenures); i++ {
		if why := p.why[tenures[i]]; !slices.Contains(tenures, why) {
			tenures = append(tenures, why)
		}
	}
	return tenures
}

// leanMax bounds the tenures of which leanest leaves some out: it takes the square of their number.
const leanMax = 1000

// leanest leaves out tenures as long as the rest is illegal. One try for each suffices, as legal tenures stay legal
// if some are left out.
func (p *permits) leanest(tenures []int32) []int32 {
	tenures = unique(tenures)
	if len(tenures) > leanMax {
		return tenures
	}
	for i := 0; i < len(tenures); {
		if fewer := slices.Delete(slices.Clone(tenures), i, i+1); p.illegal(fewer) {
			tenures = fewer
		} else {
			i++
		}
	}
	return tenures
}

// illegal tells whether the given tenures are illegal by themselves, with or without tokens as is asked.
func (p *permits) illegal(some []int32) bool {
	t := &tenancy{steps: p.tenancy.steps}
	for _, k := range some {
		t.all = append(t.all, p.tenancy.all[k])
	}
	part := &permits{tenancy: t, capacity: p.capacity, entire: p.entire, tokened: p.tokened, all: t.all}
	if !p.tokened {
		culprits, _ := part.overdraft()
		return culprits != nil
	}
	culprits, _ := part.withDeadlines(t.byToken())
	return culprits != nil
}

// minima answers what the least of some successive numbers is, in logarithmic time.
type minima struct {
	tree []int64 // a binary tree; its leaves are the second half
}

func newMinima(n int, number func(int) int64) minima {
	m := minima{make([]int64, 2*n)}
	for i := range n {
		m.tree[n+i] = number(i)
	}
	for i := n - 1; i > 0; i-- {
		m.pull(i)
	}
	return m
}

func (m minima) pull(i int) { m.tree[i] = min(m.tree[2*i], m.tree[2*i+1]) }

func (m minima) set(at, number int64) {
	i := len(m.tree)/2 + int(at)
	m.tree[i] = number
	for i /= 2; i > 0; i /= 2 {
		m.pull(i)
	}
}

func (m minima) lower(at, number int64) {
	m.set(at, min(number, m.tree[len(m.tree)/2+int(at)]))
}

// of returns the least of the numbers from one place to before another.
func (m minima) of(from, to int) int64 {
	n, least := len(m.tree)/2, int64(math.MaxInt64)
	for from, to = from+n, to+n; from < to; from, to = from/2, to/2 {
		if from%2 == 1 {
			least = min(least, m.tree[from])
			from++
		}
		if to%2 == 1 {
			to--
			least = min(least, m.tree[to])
		}
	}
	return least
}
