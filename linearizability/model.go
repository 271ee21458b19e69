package linearizability

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/zktorture/zktorture/linearizability/operations"
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
	// conflict says what is wrong with the operations of an object taken together, and with which of them; the
	// operations are sound one by one, and no client overlaps itself. It may be nil.
	conflict func(History) (index int, problem string)
	// steps translates operations into the steps to be ordered, leaving out those that cannot make a difference.
	steps func(History) []step
	// object carries out one step.
	object porcupine.Model
	// fast is a judge that is exact where it decides, in nearly linear time; it may be nil.
	fast func([]step) (f finding, outcome Status)
	// explain names the rule that illegal steps break.
	explain func(*search, []step) finding
	// rules are those that this model has other words for than all others.
	rules map[string]string
}

// step is an operation, or a part of one, that takes effect at one instant.
type step struct {
	*Operation
	kind   *operations.Kind
	source int   // the index of the operation in the object's history
	end    int64 // the last instant at which it can have taken effect, or Forever
	// item is the hold, the value or the process that it is about, or none. A legal history stays legal if the steps of
	// one item are left out.
	item      int32
	droppable bool // it may be left out by itself, and a legal history stays legal
	optional  bool // it is legal, and without effect, where it cannot have one, as its outcome is unknown

	with any // what only its model knows
}

// none is the item of a step that is about no hold, value or process, or about none that is known.
const none int32 = -1

func newStep(o *Operation, source int, item int32) step {
	return step{Operation: o, kind: o.kind(), source: source, end: o.end(), item: item, optional: o.Outcome == Unknown}
}

// objectOf is the model of an object for porcupine. Do returns the state after a step, and whether the step is possible.
func objectOf[S comparable](first S, do func(S, *step) (S, bool)) porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, _ any) (bool, any) {
			s := input.(*step)
			if next, possible := do(state.(S), s); possible {
				return true, next
			}
			return s.optional, state
		},
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(S)) },
	}
}

// row is numbers in the form of a string, so that states that have one can be compared.
type row string

const numberBytes = 4

func numbered(n int32) row { return row([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) }

func (r row) len() int { return len(r) / numberBytes }

func (r row) at(i int) int32 {
	b := r[i*numberBytes:]
	return int32(b[0])<<24 | int32(b[1])<<16 | int32(b[2])<<8 | int32(b[3])
}

func (r row) insert(i int, n int32) row { return r[:i*numberBytes] + numbered(n) + r[i*numberBytes:] }

func (r row) remove(i int) row { return r[:i*numberBytes] + r[(i+1)*numberBytes:] }

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

// Porcupine is what porcupine is asked about the history of one object. The ClientId of an operation is its index in h.
func (m Model) Porcupine(h History) (porcupine.Model, []porcupine.Operation) {
	return m.object, asked(m.steps(h))
}

// Parameters are what models have to know of an object.
type Parameters struct {
	Parties int // of a barrier; 0 stands for 2
	Permits int // of a semaphore; 0 stands for 1
}

// ByName returns the model of that name, such as lock or queue. Parameters, of which only the first count, are for
// the models that have some.
func ByName(name string, with ...Parameters) (Model, error) {
	p := append(with, Parameters{})[0]
	for _, m := range []Model{Lock(), RWLock(), Semaphore(cmp.Or(p.Permits, 1)), Queue(), PriorityQueue(), Counter(),
		Election(), DoubleBarrier(cmp.Or(p.Parties, 2)), Barrier()} {
		if m.Name == name {
			return m, nil
		}
	}
	return Model{}, fmt.Errorf("no model is called %q; the models are: %s", name,
		strings.Join(operations.Models(), ", "))
}

// operationsOf lists the names of a model's operations.
func operationsOf(model string) (names []string) {
	for _, k := range operations.OfModel(model) {
		names = append(names, k.Name)
	}
	return names
}
