package linearizability

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Model is the sequential specification of a kind of object: what it would do if its operations were carried out one
// at a time.
type Model struct {
	// Name is how the model is called in [ByName].
	Name string
	// Operations are the names of the operations that the model knows.
	Operations []string
	// Parameters are those that it was made with; zero for models without any.
	Parameters Parameters

	// problem says what is wrong with one operation by itself, or nothing.
	problem func(*Operation) string
	// item is what an operation is about, or null: the value that is put in or taken out, or the process that holds.
	// Items are numbered once, for conflict and prepare. It may be nil.
	item func(*Operation) Value
	// conflict says what is wrong with the operations of an object taken together, and with which of them; the
	// operations are sound one by one, and no client overlaps itself. It may be nil.
	conflict func(h History, items []int32) (index int, problem string)
	// prepare translates operations into the steps to be ordered, leaving out operations that cannot make a
	// difference.
	prepare func(h History, items []int32) []step
	// spec carries out one step. A step of unknown outcome is always legal, and does nothing where it cannot take
	// effect.
	spec porcupine.Model
	// monitor decides in near-linear time whether the steps are legal, where it can. The steps of a violation's
	// finding are illegal by themselves, and few; or none, if few were not found. If the finding has no name it is to
	// be explained.
	monitor func([]step) ruling
	// search decides what the monitor cannot, where it can before the deadline; it may be nil.
	search func([]step, time.Time) ruling
	// streamer judges piece by piece; it may be nil.
	streamer *streamer
	// explain names the rule that an illegal history breaks.
	explain func(*judge, []step) finding
	// rules are those that this model has other words for than all others.
	rules map[string]string
}

// rules are the rules in words, by property.
var rules = map[string]string{
	"exclusion":       "two clients held the lock at once",
	"fencing":         "a token is not greater than every token granted earlier",
	"release":         "a client released a lock that it did not hold",
	"phantom":         "a value came out that had not been put in",
	"duplicate":       "a value came out twice",
	"false-empty":     "the queue was reported empty while it was not",
	"stale-peek":      "a peek saw a value that was not at the head",
	"order":           "a value overtook one that was offered before it",
	"lost":            "a value was passed over by a later one and never came out",
	"counted-twice":   "an addition took effect more than once",
	"lost-update":     "an addition did not last",
	"stale-get":       "a get saw a number that the counter did not have then",
	"sum":             "a sum is not that of the additions before it",
	"early-wait":      "a wait ended although the gate was shut",
	"early-enter":     "an enter succeeded although too few were there at any moment of it",
	"early-leave":     "a leave succeeded although somebody was inside at every moment of it",
	"linearizability": "no order of the operations explains what the clients saw",
}

func (m *Model) rule(property string) string { return cmp.Or(m.rules[property], rules[property]) }

// steps are the steps of a history to be ordered.
func (m Model) steps(h History) []step { return m.prepare(h, numberItems(h, m.item)) }

// step is an operation as a model sees it.
type step struct {
	kind      stepKind
	unknown   bool // may never have happened; then it can always be carried out, with or without effect
	noToken   bool // lock: the grant's token is not known; queue: the result is null
	excused   bool // lock: the hold may have been released already, by a release of unknown outcome
	droppable bool // may be left out of a history by itself, and a legal history stays legal
	reads     bool // read/write lock: the grant is a reader's
	item      int32
	// item is the hold that is granted or released, or the value that is put in, seen or taken out; it is negative if
	// there is none. The steps of one item may be left out together, and a legal history stays legal.
	order     int32  // lock: place in order of call; double barrier: likewise, from 1
	previous  int32  // double barrier: the order of its process's call before this one, 0 if there is none
	doubt     *doubt // read/write lock: what it may be about if that is not clear; else nil
	permits   int64  // semaphore: how many permits are granted
	token     int64  // priority queue: the priority of what is offered
	delta     int64  // counter: what is added …
	sum       int64  // … and the number after it
	call, end int64  // the instants between which it takes effect; end is Forever if it may be never
	source    int    // index of the operation in the object's history
}

type stepKind uint8

const (
	stepGrant stepKind = iota
	stepRelease
	stepShare // a hold becomes a reader's
	stepOffer
	stepRemove
	stepPeek
	stepAdd
	stepGet
	stepArrive // barrier: calls enter
	stepPass   // barrier: enters
	stepDepart // barrier: calls leave
	stepVanish // barrier: leaves, perhaps
	stepPart   // barrier: has left
	stepShut
	stepOpen
	stepWait
)

// newStep is the step of operation i, without what only the model knows.
func newStep(op *Operation, i int, kind stepKind, item int32) step {
	return step{
		kind: kind, unknown: op.Outcome == Unknown, item: item,
		call: op.Call, end: op.end(), source: i,
	}
}

// empty tells whether the step found a queue empty.
func (s *step) empty() bool {
	return s.noToken && !s.unknown && (s.kind == stepRemove || s.kind == stepPeek)
}

// ruling is what a checker says of a history.
type ruling struct {
	outcome Status
	finding finding // of a violation
	// given are steps that stand for whatever else may have happened: beside these, too, the finding's are illegal.
	// They matter where a legal history can become illegal by what is left out.
	given  []step
	reason string // why undetermined
}

func legal() ruling                     { return ruling{outcome: Ok} }
func illegal(f finding) ruling          { return ruling{outcome: Violation, finding: f} }
func undetermined(reason string) ruling { return ruling{outcome: Undetermined, reason: reason} }

// finding is a rule that is broken, and steps that break it by themselves.
type finding struct {
	property string // see rules
	steps    []step
}

// selectSteps returns the steps for which keep is true.
func selectSteps(steps []step, keep func(*step) bool) []step {
	var kept []step
	for i := range steps {
		if keep(&steps[i]) {
			kept = append(kept, steps[i])
		}
	}
	return kept
}

func stepsAt(steps []step, indices []int32) []step {
	some := make([]step, len(indices))
	for k, i := range indices {
		some[k] = steps[i]
	}
	return some
}

// itemsOf returns how many items the steps have, one more than the greatest.
func itemsOf(steps []step) (n int32) {
	for i := range steps {
		n = max(n, steps[i].item+1)
	}
	return n
}

// sortBy sorts by a key, and keeps the order of what has the same. It takes linear time if all is nearly in order, as
// histories are.
func sortBy[T any](all []T, key func(T) int64) {
	moves := 32 * len(all)
	for i := 1; i < len(all) && moves >= 0; i++ {
		x, k := all[i], i
		for at := key(x); k > 0 && key(all[k-1]) > at; k-- {
			all[k] = all[k-1]
			moves--
		}
		all[k] = x
	}
	if moves < 0 {
		slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	}
}
