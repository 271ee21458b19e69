package linearizability

import (
	"cmp"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// Model is one of this package's specifications of a kind of object; users cannot write one. It says what
// the object would do if its operations were carried out one at a time.
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
	// prepare translates operations into the steps to be ordered, leaving out operations that cannot make a difference.
	prepare func(h History, items []int32) []step.Step
	// spec carries out one step. A step of unknown outcome is always legal, and does nothing where it cannot take
	// effect.
	spec porcupine.Model
	// monitor decides in near-linear time whether the steps are legal, where it can. The steps of a violation's
	// finding are illegal by themselves, and few; or none, if few were not found. If the finding has no name it is to
	// be explained.
	monitor func([]step.Step) step.Ruling
	// streamer judges piece by piece; it may be nil.
	streamer *streamer
	// explain names the rule that an illegal history breaks.
	explain func(*judge, []step.Step) step.Finding
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
	"lost":            "a value was lost: a later one came out, it never did",
	"counted-twice":   "an addition took effect more than once",
	"lost-update":     "an addition did not last",
	"stale-get":       "a get saw a number that the counter did not have then",
	"sum":             "a sum is not that of the additions before it",
	"early-wait":      "a wait ended although the gate was shut",
	"early-enter":     "an enter succeeded although too few were present throughout",
	"early-leave":     "a leave succeeded although somebody was inside throughout",
	"linearizability": "no order of the operations explains what the clients saw",
}

func (m *Model) rule(property string) string { return cmp.Or(m.rules[property], rules[property]) }

// steps are the steps of a history to be ordered.
func (m Model) steps(h History) []step.Step { return m.prepare(h, numberItems(h, m.item)) }

// Porcupine is what porcupine is asked about the history of one object. The ClientId of an operation is its index in h.
func (m Model) Porcupine(h History) (porcupine.Model, []porcupine.Operation) {
	return m.spec, asked(m.steps(h))
}

// specOf is the spec of an object with states of one type, which take a step each, for porcupine. Without equal they are
// compared.
func specOf[S any](first S, take func(S, *step.Step) (legal bool, next S), hash func(S) uint64, equal func(a, b S) bool) porcupine.Model {
	m := porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, _ any) (bool, any) {
			legal, next := take(state.(S), input.(*step.Step))
			return legal, next
		},
		Hash: func(state any) uint64 { return hash(state.(S)) },
	}
	if equal != nil {
		m.Equal = func(a, b any) bool { return equal(a.(S), b.(S)) }
	}
	return m
}

// newStep is the step of operation i, without what only the model knows.
func newStep(op *Operation, i int, kind step.Kind, item int32) step.Step {
	return step.Step{Kind: kind, Unknown: op.Outcome == Unknown, Item: item, Call: op.Call, End: op.end(), Source: i}
}
