package monitor

import (
	"cmp"
	"math"
	"slices"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
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
// grant is the least till among itself and all that must come after it, and no order can do better for any of them; all
// grants at their deadlines are in the order of their tokens. So the above is asked again with the deadlines for till.
// (A reader must be granted after the writers with smaller tokens, a writer after everybody with a smaller one.)
//
// A tenure of no length with a token has a place among the others of its instant, and a writer that is downgraded at
// once stays as a reader. These are tried at their deadlines only. If there is no room, and they could go elsewhere,
// the answer is undetermined: going there moves the deadlines of others.
//
// The time is O(n log n) for n operations: there is nothing but sorting, sweeping and searching.

// Permits judges the steps of a read/write lock, of which the capacity is [step.Whole], or of a semaphore.
func Permits(steps []step.Step, capacity int64) step.Ruling {
	r := clearPermits(steps, capacity)
	if r.Outcome == step.Undetermined {
		if likely, apart := likelyHolds(steps); apart && clearPermits(likely, capacity).Outcome == step.Ok {
			return step.Legal()
		}
	}
	return r
}

// clearPermits judges what is clear. The answer is undetermined if the rest matters.
func clearPermits(steps []step.Step, capacity int64) step.Ruling {
	if clear := step.Select(steps, func(s *step.Step) bool { return s.Hold().Doubt == nil }); len(clear) < len(steps) {
		if r := clearPermits(clear, capacity); r.Outcome == step.Violation {
			return r
		}
		return step.Undecided("a release may be about one of several holds of its process, as a downgrade, or what " +
			"came before it, is of unknown outcome")
	}
	t := Tenures(steps)
	if t.stray != nil {
		return step.Illegal(t.strayFinding())
	}
	p := newPermits(t, capacity)
	overdraft, doubt := p.overdraft()
	if overdraft != nil {
		return step.Illegal(step.Finding{Property: "exclusion", Steps: t.certificate(p.leanest(overdraft)...)})
	}
	order := t.byToken()
	if t.unclear == "" && len(order) > 0 {
		p.tokened = true
		culprits, late := p.withDeadlines(order)
		if culprits != nil {
			return step.Illegal(step.Finding{Property: "fencing", Steps: t.certificate(p.leanest(culprits)...)})
		}
		doubt = cmp.Or(doubt, late)
	}
	if doubt = cmp.Or(t.unclear, doubt); doubt != "" {
		return step.Undecided(doubt)
	}
	return step.Legal()
}

// permits are the tenures of a lock or a semaphore with permits.
type permits struct {
	tenancy  *tenancy
	capacity int64
	entire   int64    // what a writer takes
	tokened  bool     // whether tokens count
	all      []tenure // the tenancy's, with deadlines for till if tokens count
	why      []int32  // by tenure: the one that set its deadline, or itself

	takings []interval.Presence // when tenures surely take permits
	crowd   *interval.Crowd     // of these
}

func newPermits(t *tenancy, capacity int64) *permits {
	p := &permits{tenancy: t, capacity: capacity, entire: 1, all: t.all}
	if capacity == step.Whole { // a read/write lock
		p.entire += int64(len(t.all))
		p.capacity = p.entire
	}
	return p
}

// takes returns how many permits a tenure takes at first.
func (p *permits) takes(x *tenure) int64 {
	if n := p.tenancy.steps[x.grant].Takes(); n != step.Whole || p.entire == 1 {
		return n
	}
	return p.entire
}

// overdraft returns tenures that take too much, with others that decide when they do, or why that is not known.
func (p *permits) overdraft() (culprits []int32, doubt string) {
	p.findTakings()
	if culprits = p.crowd.Over(p.capacity); culprits != nil {
		return culprits, ""
	}
	p.crowd.Sum()
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
	p.takings = p.takings[:0]
	for i := range p.all {
		x := &p.all[i]
		if x.shared == interval.Forever {
			p.during(x.till, x.free, p.takes(x), int32(i))
			continue
		}
		p.during(x.till, x.free, 1, int32(i))
		p.during(x.till, min(x.free, x.shared), p.takes(x)-1, int32(i))
	}
	p.crowd = interval.NewCrowd(p.takings)
}

func (p *permits) during(from, until, takes int64, tenure int32) {
	if from < until {
		p.takings = append(p.takings, interval.Presence{From: from, Until: until, Weight: takes, Of: tenure})
	}
}

// place finds room for a tenure that has no length, or that is downgraded at once.
func (p *permits) place(i int32, x *tenure) (culprits []int32, doubt string) {
	downgraded := x.shared < x.free
	if downgraded || p.tokened && !p.tenancy.steps[x.grant].Null {
		return p.placeAtDeadline(i, x)
	}
	switch full := p.crowd.Least(x.free, x.till) > p.capacity-p.takes(x); {
	case full && x.other:
		return nil, "a writer that was perhaps downgraded has no room at its release"
	case full:
		return append(p.cover(x), i), ""
	}
	return nil, ""
}

// cover returns tenures that leave no room for x.
func (p *permits) cover(x *tenure) []int32 {
	near := p.crowd.Those(func(s *interval.Presence) bool { return s.From < x.till && x.free < s.Until })
	slices.SortStableFunc(near, func(a, b interval.Presence) int { return cmp.Compare(b.Until, a.Until) })
	var chosen []int32
	for instant := x.free; instant <= x.till; {
		left, next := p.capacity-p.takes(x), int64(math.MaxInt64)
		for k := 0; k < len(near) && left >= 0; k++ {
			if s := &near[k]; s.From < instant && instant < s.Until {
				chosen = append(chosen, s.Of)
				left, next = left-s.Weight, min(next, s.Until)
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
	left := p.capacity - p.takes(x) - p.crowd.At(instant)
	crowded, starts := false, p.crowd.Starts
	for k := p.crowd.FirstFrom(instant); k < len(starts) && starts[k].From == instant; k++ {
		switch s := &starts[k]; {
		case s.Of == i:
		case p.precedes(s.Of, i):
			left -= s.Weight
		case x.shared <= instant && p.all[s.Of].shared <= instant:
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

// at returns the tenures that take permits at an instant, or begin then and come before tenure i.
func (p *permits) at(i int32, instant int64) (tenures []int32) {
	for _, s := range p.crowd.Those(func(s *interval.Presence) bool { return s.From <= instant && instant < s.Until }) {
		if s.Of != i && (s.From < instant || p.precedes(s.Of, i)) {
			tenures = append(tenures, s.Of)
		}
	}
	return unique(tenures)
}

// precedes reports whether tenure a must be granted before tenure b, as their tokens say.
func (p *permits) precedes(a, b int32) bool {
	s, o := &p.tenancy.steps[p.all[a].grant], &p.tenancy.steps[p.all[b].grant]
	return p.tokened && !s.Null && !o.Null && s.Hold().Token < o.Hold().Token && !(s.Hold().Reads && o.Hold().Reads)
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
	anybody, writer := deadline{interval.Forever, step.None}, deadline{interval.Forever, step.None}
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
func (p *permits) reads(k int32) bool  { return p.tenancy.steps[p.all[k].grant].Hold().Reads }

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
	few := func() bool { return len(tenures) <= leanMax }
	return interval.Shrink(tenures, 1, interval.Each, few, p.illegal)
}

// illegal reports whether the given tenures are illegal by themselves, with or without tokens as is asked.
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
