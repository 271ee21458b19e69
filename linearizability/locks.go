package linearizability

import (
	"fmt"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// Lock returns the model of a lock that is held by one client at a time, with or without fencing tokens (Kleppmann,
// "How to do distributed locking", 2016).
//
//	acquire  waits for the lock; the result is the token, a number, or null if there are none
//	try      does not wait; the result is the token or true, or null, false or 0 if the lock was
//	         not granted
//	release  gives the lock back
//
// The rules: a lock is granted only while nobody holds it; every token is greater than all tokens granted earlier; a
// release is legal only while its own process, see [Operation], holds the lock, by its last grant of outcome ok
// before the release or by one of unknown outcome since then. For what is before and after in this sense, a process's
// operations are in order of call, and those called at the same instant in the order that the history has; where they
// touch they may take effect in either order nevertheless.
//
// A try that is refused is accepted always: ZooKeeper's recipe refuses also when somebody is merely waiting in the
// queue. One of unknown outcome may have been granted the lock, whatever its result.
//
// A release of unknown outcome ends its hold at any time from its call on, or never. So does the death of the
// holder's session; record it as a release of unknown outcome. After such a release, and until the process is surely
// granted the lock again, all further releases may find the hold over and are legal all the same: they are retries, of
// which nothing is asked but that the process had called for the lock before the first. An acquire of unknown outcome
// blocks nobody, unless a release of outcome ok says that it was granted.
func Lock() Model {
	return Model{
		Name:       "lock",
		Operations: operationsOf("lock"),
		problem:    lockProblem,
		conflict:   releaseWithoutAcquire,
		steps:      holdSteps,
		object:     permits(1),
		explain:    explainHolds,
	}
}

// RWLock returns the model of a lock that is held by one writer, or by any number of readers.
//
//	acquire, try, release     as of [Lock], for writers
//	racquire, rtry, rrelease  the same for readers
//
// The rules are those of [Lock], for readers and writers apart, with these differences: a reader is granted the lock
// while no writer holds it, a writer while nobody does. A writer's token is greater than all tokens granted earlier, a
// reader's than those of all writers earlier. A process that writes excludes itself as a reader.
func RWLock() Model {
	m := Lock()
	m.Name = "rwlock"
	m.Operations = operationsOf("rwlock")
	m.problem = lockProblem
	m.object = permits(whole)
	m.rules = map[string]string{"exclusion": "a writer held the lock while somebody else did"}
	return m
}

// Semaphore returns the model of a semaphore.
//
//	acquire  takes permits: its argument is how many, null for one. The result is a token, a number
//	         that grows from grant to grant, or null if there are none
//	try      does not wait; the result is the token or true, or null, false or 0 if it was refused
//	release  gives back the permits of one acquire or try: its argument is how many these were
//
// The rules are those of [Lock], with the difference that permits are granted while at most the rest of them is held.
// What a release gives back, and what it may be the retry of, is of the same number of permits.
// A user that holds the same number of permits twice is recorded as two processes.
func Semaphore(n int) Model {
	m := Lock()
	m.Name, m.Parameters = "semaphore", Parameters{Permits: n}
	m.problem = func(o *Operation) string { return semaphoreProblem(o, int64(n)) }
	m.conflict = heldTwice
	m.object = permits(int64(n))
	m.rules = map[string]string{"exclusion": fmt.Sprintf("more than the semaphore's permits (%d) were held at once", n)}
	return m
}

// Election returns the model of a leadership that one client has at a time. It is the model of [Lock] with the
// operations of an election.
//
//	elected   waits until the client leads; the result is its token, a number, or null if there
//	          are none
//	resigned  gives the leadership back; the result is the token that it was held under, or null
//
// A resigned with another token than the elected of outcome ok before it is unsound, see [Model.Validate]; otherwise its
// token says nothing.
//
// The end of a leader's session is a resigned of unknown outcome.
func Election() Model {
	m := Lock()
	m.Name = "election"
	m.Operations = operationsOf("election")
	m.problem = electionProblem
	m.conflict = electionConflict
	m.rules = map[string]string{"exclusion": "two clients led at once",
		"release": "a client resigned that did not lead"}
	return m
}

func lockProblem(o *Operation) string {
	switch {
	case !o.Arg.IsNull():
		return "operations of a lock have no argument; leave it null"
	case o.releases() && !o.Result.IsNull():
		return "a release has no result; leave it null"
	case o.kind().Result == operations.Token && !o.Result.IsNull() && !o.Result.IsInt():
		return "an acquire's result is its token, a whole number, or null"
	case o.kind().Tries && o.Result.kind == kindStr:
		return "a try's result is its token, a whole number, or true, false or null"
	}
	return ""
}

func semaphoreProblem(o *Operation, permits int64) string {
	switch n := o.permits(); {
	case !o.Arg.IsNull() && !o.Arg.IsInt() || n < 1:
		return "the argument is the number of permits, 1 or more, or null for 1"
	case n > permits:
		return fmt.Sprintf("it asks for more permits than the semaphore has, %d; give the right number of permits",
			permits)
	}
	bare := *o
	bare.Arg = Null
	return lockProblem(&bare)
}

func electionProblem(o *Operation) string {
	switch {
	case !o.Arg.IsNull():
		return "operations of an election have no argument; leave it null"
	case !o.Result.IsInt() && !o.Result.IsNull():
		return "the result is the leader's token, a whole number, or null"
	}
	return ""
}

// releaseWithoutAcquire finds a release by a process that never called for the lock.
func releaseWithoutAcquire(h History) (int, string) {
	first := map[Value]int64{} // by process: when it first called for the lock
	for i := range h {
		if o := &h[i]; !o.releases() {
			if call, found := first[o.Owner()]; !found || o.Call < call {
				first[o.Owner()] = o.Call
			}
		}
	}
	for i := range h {
		o := &h[i]
		if call, found := first[o.Owner()]; o.releases() && o.Outcome == OK && (!found || o.Call < call) {
			return i, "its client had not called acquire or try before; record these too, and under the same " +
				"client or process"
		}
	}
	return 0, ""
}

// heldTwice finds a process that holds the same number of permits twice, so that its release is ambiguous.
func heldTwice(h History) (int, string) {
	if i, problem := releaseWithoutAcquire(h); problem != "" {
		return i, problem
	}
	held := map[holder]bool{}
	for _, i := range byCall(h) {
		o := &h[i]
		switch {
		case o.Outcome == Fail:
		case o.releases():
			delete(held, o.holder())
		case o.mayGrant() && o.Outcome == OK && held[o.holder()]:
			return i, "its process has not given back the permits that it was granted before; record each hold " +
				"under a client or process of its own"
		case o.mayGrant() && o.Outcome == OK:
			held[o.holder()] = true
		}
	}
	return 0, ""
}

// electionConflict finds a client that resigned without an election, or under another token.
func electionConflict(h History) (int, string) {
	if i, problem := releaseWithoutAcquire(h); problem != "" {
		return i, "its client had not called elected before; record that too, and under the same client or process"
	}
	last := map[Value]Value{} // by process: the token of the last election; null if unknown
	for _, i := range byCall(h) {
		o := &h[i]
		switch {
		case o.Outcome == Fail:
		case o.Op == "elected" && o.Outcome == OK:
			last[o.Owner()] = o.Result
		case o.Op == "elected":
			last[o.Owner()] = Null
		case !o.Result.IsNull() && !last[o.Owner()].IsNull() && o.Result != last[o.Owner()]:
			return i, "its client was last elected with the token " + last[o.Owner()].String() +
				"; record the token of the same term, or null"
		}
	}
	return 0, ""
}

func (o *Operation) releases() bool { return o.kind().Role == operations.Release }

// mayGrant reports whether the operation gave its client the lock, or may have.
func (o *Operation) mayGrant() bool {
	return o.kind().Role == operations.Grant && o.Outcome != Fail && !o.Vain()
}

func (o *Operation) permits() int64 {
	if o.Arg.IsNull() {
		return 1
	}
	return o.Arg.Int()
}

// holder is a process and how it holds: as a reader or not, and how many permits. Releases end holds of their own kind.
type holder struct {
	process Value
	reads   bool
	permits int64
}

func (o *Operation) holder() holder { return holder{o.Owner(), o.kind().Reader, o.permits()} }

// hold is what a step of a grant or a release knows.
type hold struct {
	order    int32   // of a grant: its place in order of call
	hasToken bool    // of a grant
	shared   bool    // of a grant: it takes no permit, to see whether the other rules alone are broken
	of       []int32 // of a release: the grants, by their places, of which it ends the first that lasts
}

func (s *step) hold() *hold { return s.with.(*hold) }

func (s *step) grants() bool { return s.kind.Role == operations.Grant }

// item is what a process was granted once, and what may be about that.
type item struct {
	grants   []int32 // by their places in order of call: which of them it was is not known
	released bool    // perhaps, by a release of unknown outcome
	insisted bool    // a release says that there was the hold
	granted  bool    // a grant of it is kept
}

// holdSteps pairs grants with releases by holder, in order of call. A hold begins with a grant of outcome ok. A
// later grant of unknown outcome joins the hold: a release after it ends the one or the other. It leaves out
//
//   - what failed: it had no effect; and tries that were refused: they are accepted always;
//   - grants of unknown outcome that no release insists on: if there is an order in which they took effect, there is
//     the same order without them, as a hold only restricts others;
//   - releases that insist on nothing and have no hold to end: they have no effect.
func holdSteps(h History) []step {
	steps, items, holds := make([]step, 0, len(h)), make([]item, 0, len(h)), make([]hold, len(h))
	last := map[holder]int32{} // the item that was granted last
	for place, i := range byCall(h) {
		o := &h[i]
		s := newStep(o, i, none)
		s.with = &holds[place]
		now, held := last[o.holder()]
		switch {
		case o.mayGrant():
			if !held || o.Outcome == OK {
				now = int32(len(items))
				items, last[o.holder()] = append(items, item{}), now
			}
			items[now].grants = append(items[now].grants, int32(place))
			holds[place] = hold{order: int32(place), hasToken: o.Result.IsInt() && !(o.kind().Tries && o.Result.Int() == 0)}
			s.item = now
		case o.Outcome == Fail || !o.releases():
			continue
		case !held:
			s.droppable = true
		default:
			holds[place].of = items[now].grants
			s.item, s.optional = now, s.optional || items[now].released
			items[now].released = items[now].released || o.Outcome == Unknown
		}
		steps = append(steps, s)
	}
	return dropIdle(steps, items)
}

// dropIdle leaves out the grants of unknown outcome that no release insists on, and the releases of such holds.
func dropIdle(steps []step, items []item) []step {
	for i := len(steps) - 1; i >= 0; i-- {
		switch s := &steps[i]; {
		case s.item == none:
		case s.grants() && s.optional && !items[s.item].insisted:
			s.item = none
		case s.grants():
			items[s.item].granted = true
		default:
			items[s.item].insisted = items[s.item].insisted || !s.optional
		}
	}
	return slices.DeleteFunc(steps, func(s step) bool {
		idle := s.item == none || !items[s.item].granted
		return idle && s.optional
	})
}

// whole is how much a writer takes.
const whole = math.MaxInt64

// takes is how many of so many permits a grant takes.
func (s *step) takes(capacity int64) int64 {
	if capacity == whole && !s.kind.Reader {
		return whole
	}
	return s.permits()
}

// held is the state of what is granted: which grants last, by place, and the greatest tokens.
type held struct {
	grants         row
	taken          int64 // permits
	granted, wrote bool  // whether any token was granted, and to somebody who is no reader
	token, written int64
}

// permits is the object that grants so many permits at once.
func permits(capacity int64) porcupine.Model {
	return objectOf(held{}, func(h held, s *step) (held, bool) {
		takes := s.takes(capacity)
		if s.grants() {
			return h.grant(s, takes, takes <= capacity-h.taken)
		}
		return h.release(s, takes)
	})
}

func (h held) grant(s *step, takes int64, room bool) (held, bool) {
	g, token, reads := s.hold(), s.Result.Int(), s.kind.Reader
	fresh := !g.hasToken || reads && (!h.wrote || token > h.written) || !reads && (!h.granted || token > h.token)
	if !fresh || !room && !g.shared {
		return h, false
	}
	i := 0
	for i < h.grants.len() && h.grants.at(i) < g.order {
		i++
	}
	h.grants, h.taken = h.grants.insert(i, g.order), h.taken+takes
	if g.hasToken && (!h.granted || token > h.token) {
		h.granted, h.token = true, token
	}
	if g.hasToken && !reads {
		h.wrote, h.written = true, token
	}
	return h, true
}

func (h held) release(s *step, takes int64) (held, bool) {
	for i := range h.grants.len() {
		if slices.Contains(s.hold().of, h.grants.at(i)) {
			h.grants, h.taken = h.grants.remove(i), h.taken-takes
			return h, true
		}
	}
	return h, false
}

// explainHolds tells releases without a hold, which are illegal even if all holds are shared, from overlapping holds, and
// from what is wrong with tokens.
func explainHolds(find *search, steps []step) finding {
	for _, rule := range []struct {
		property       string
		shared, tokens bool
	}{{"release", true, false}, {"exclusion", false, false}, {"fencing", false, true}} {
		of := slices.Clone(steps)
		for i := range of {
			g := *of[i].hold()
			g.hasToken, g.shared = g.hasToken && rule.tokens, rule.shared
			of[i].with = &g
		}
		switch find.ask(of) {
		case porcupine.Illegal:
			return finding{rule.property, find.shrink(of)}
		case porcupine.Unknown:
			return unexplained(steps)
		}
	}
	return unexplained(steps) // not reached: with all rules the steps are illegal
}
