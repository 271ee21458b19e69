package exhaustive

import (
	"cmp"
	"math"
	"slices"

	lin "github.com/zktorture/zktorture/linearizability"
)

// held is the state of what is granted and given back: a lock, read-write lock, semaphore or election.
type held struct {
	grants set // those that hold, by place
	// downgrade is the place of that which made a writer's hold a reader's, or 0. There is one such hold at most: a
	// writer is granted the lock while nobody holds it. What made it is not at place 0, as its grant is before it.
	downgrade       int
	greatest, wrote int64 // tokens: of all grants, and of writers
}

// holds are the operations in order of call; the place of an operation is its index.
type holds struct {
	ops      lin.History
	rw       bool
	capacity int64
}

func holdEvents(model string, permits int, h lin.History) (events []event[held]) {
	x := &holds{rw: model == "rwlock", capacity: map[string]int64{"rwlock": eventsMax, "semaphore": int64(permits)}[model]}
	x.capacity = max(x.capacity, 1)
	for _, op := range h {
		refused := (op.Op == "try" || op.Op == "rtry") && !grantedByTry(op.Result)
		if op.Outcome != lin.Fail && (op.Outcome == lin.Unknown || !refused) {
			x.ops = append(x.ops, op)
		}
	}
	slices.SortStableFunc(x.ops, func(a, b lin.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for i, op := range x.ops {
		do := x.grant
		switch {
		case releases(op):
			do = x.release
		case op.Op == "downgrade":
			do = x.share
		}
		events = append(events, newEvent(op, func(s held) (held, bool) { return do(s, i) }))
	}
	return events
}

func nothingHeld() held { return held{greatest: math.MinInt64, wrote: math.MinInt64} }

func grantedByTry(result lin.Value) bool {
	return !result.IsNull() && result != lin.Bool(false) && result != lin.Int(0)
}

func releases(op lin.Operation) bool {
	return slices.Contains([]string{"release", "rrelease", "resigned"}, op.Op)
}

// kind is what a release has in common with the grants that it may end.
type kind struct {
	reader  bool
	permits int64
}

func kindOf(op lin.Operation) kind {
	k := kind{slices.Contains([]string{"racquire", "rtry", "rrelease", "downgrade"}, op.Op), 1}
	if op.Arg.IsInt() {
		k.permits = op.Arg.Int()
	}
	return k
}

// takes is how much of the capacity a grant takes: a writer's all.
func (x *holds) takes(s held, g int) int64 {
	if k := kindOf(x.ops[g]); !x.rw || k.reader || s.grants.has(g) && s.downgrade > 0 {
		return k.permits
	}
	return x.capacity
}

func (x *holds) grant(s held, i int) (held, bool) {
	op, taken := x.ops[i], x.takes(s, i)
	for g := range x.ops {
		if s.grants.has(g) {
			taken += x.takes(s, g)
		}
	}
	legal, t := taken <= x.capacity, op.Result.Int()
	s.grants = s.grants.with(i)
	switch {
	case !op.Result.IsInt() || op.Outcome == lin.Unknown && t == 0 && (op.Op == "try" || op.Op == "rtry"): // no token
	case kindOf(op).reader:
		legal = legal && t > s.wrote
		s.greatest = max(s.greatest, t)
	default:
		legal = legal && t > s.greatest
		s.greatest, s.wrote = t, t
	}
	return s, legal
}

// share makes the hold of its process as a writer a reader's.
func (x *holds) share(s held, d int) (held, bool) {
	for g := range d {
		if s.grants.has(g) && !kindOf(x.ops[g]).reader && s.downgrade == 0 && x.last(g, d) {
			s.downgrade = d
			return s, true
		}
	}
	return s, false
}

// release ends the first hold that it is about. If there is none it may be a retry.
func (x *holds) release(s held, r int) (held, bool) {
	for g := range r {
		if s.grants.has(g) && x.about(s, g, r) {
			if s.grants = s.grants.without(g); !kindOf(x.ops[g]).reader {
				s.downgrade = 0
			}
			return s, true
		}
	}
	return s, x.retry(r)
}

// last reports whether what was granted at g is, at its process's later operation at i, the last of its kind that was
// surely granted, or may have been granted since then.
func (x *holds) last(g, i int) bool {
	return g < i && owner(x.ops[g]) == owner(x.ops[i]) && !slices.ContainsFunc(x.ops[g+1:i], func(op lin.Operation) bool {
		return owner(op) == owner(x.ops[i]) && op.Outcome == lin.OK && !releases(op) && kindOf(op) == kindOf(x.ops[g])
	})
}

// may reports whether the release at r may be about what was granted at g, or became a reader's by a downgrade since.
func (x *holds) may(g, r int) bool {
	if releases(x.ops[g]) || x.ops[g].Op == "downgrade" {
		return false
	}
	if kindOf(x.ops[g]) == kindOf(x.ops[r]) {
		return x.last(g, r)
	}
	for d := g + 1; d < r && kindOf(x.ops[r]).reader; d++ {
		if x.ops[d].Op == "downgrade" && x.last(g, d) && x.last(d, r) {
			return true
		}
	}
	return false
}

// about reports whether the release at r ends the hold of g. After a downgrade a reader's does; so does a writer's that
// was called before it, and any after one of unknown outcome.
func (x *holds) about(s held, g, r int) bool {
	switch {
	case !x.rw || kindOf(x.ops[g]).reader:
		return x.may(g, r)
	case kindOf(x.ops[r]).reader:
		return x.may(g, r) && s.downgrade > 0
	}
	return x.may(g, r) && (s.downgrade == 0 || r < s.downgrade || x.ops[s.downgrade].Outcome == lin.Unknown)
}

// retry reports whether the release at r may find its hold ended by one of unknown outcome, at q.
func (x *holds) retry(r int) bool {
	for q, op := range x.ops[:r] {
		for g := range q {
			if releases(op) && op.Outcome == lin.Unknown && x.may(g, q) && x.may(g, r) &&
				(kindOf(op) == kindOf(x.ops[r]) && x.last(q, r) || x.blurred(g, q, r)) {
				return true
			}
		}
	}
	return false
}

// blurred reports whether a downgrade of unknown outcome, before the release at q or after it if
// that is a writer's, left its process in doubt which release to call, until that at r.
func (x *holds) blurred(g, q, r int) bool {
	for d := g + 1; d < r; d++ {
		known := func(op lin.Operation) bool { return op.Outcome == lin.OK && owner(op) == owner(x.ops[r]) }
		if x.ops[d].Op == "downgrade" && x.last(g, d) && (d < q || !kindOf(x.ops[q]).reader) &&
			!slices.ContainsFunc(x.ops[min(d, q):r], known) {
			return true
		}
	}
	return false
}
