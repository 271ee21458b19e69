package linearizability_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	lin "github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
)

// effort is the number of histories of each model, ZKTORTURE_AGREE or a few, and the seed, ZKTORTURE_AGREE_SEED or 3.
func effort(t *testing.T) (histories int, seed uint64) {
	number := func(name, otherwise, what string) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv(name), otherwise))
		if err != nil || n < 1 {
			t.Fatalf("%s is %q; write %s", name, os.Getenv(name), what)
		}
		return n
	}
	histories = number("ZKTORTURE_AGREE", "2000", "how many histories of each model to compare")
	return histories, uint64(number("ZKTORTURE_AGREE_SEED", "3", "the seed that they are drawn from"))
}

// operationsMax bounds the operations of a history. The judge has to decide every such history.
const operationsMax = 15

// unhurried gives the judge as long as it takes on a busy machine.
var unhurried = time.Hour

// TestTheJudgeAgrees compares the judge with the reference on histories that are correct by construction, on corrupted
// ones, and on random ones. The judge must never be wrong or undecided, and the operations that it names for a
// violation must be illegal by themselves.
func TestTheJudgeAgrees(t *testing.T) {
	n, seed := effort(t)
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			c := &comparison{model: model, seed: seed}
			for i := uint64(0); c.decided < n && i < 4*uint64(n); i++ {
				c.compare(t, i)
			}
			t.Log(c)
			if c.decided < n || c.legal*40 < n || c.illegal*40 < n {
				t.Error("that compares too little")
			}
			if c.wrong() > 0 {
				t.Error("the judge does not agree with the reference")
			}
		})
	}
}

// comparison is the result of the comparison.
type comparison struct {
	model                              string
	seed                               uint64
	decided, legal, illegal            int // by the reference
	unsound, untried                   int
	accused, missed, unknown, unproved int
}

func (c *comparison) wrong() int { return c.accused + c.missed + c.unknown + c.unproved }

func (c *comparison) String() string {
	return fmt.Sprintf("%s: %d histories, %d legal and %d illegal: %d accused, %d missed, %d unknown, %d shown by "+
		"operations that are legal (%d had too many orders to try, %d were not sound)",
		c.model, c.decided, c.legal, c.illegal, c.accused, c.missed, c.unknown, c.unproved, c.untried, c.unsound)
}

// reportsMax bounds the disagreements shown of each kind.
const reportsMax = 3

// compare draws history i and compares.
func (c *comparison) compare(t *testing.T, i uint64) {
	r := rand.New(rand.NewPCG(c.seed, i))
	with := lin.Parameters{Parties: 1 + r.IntN(3), Permits: 1 + r.IntN(3)}
	m, _ := lin.ByName(c.model, with)
	if i%2 == 1 {
		m = lin.Searched(m)
	}
	h := drawAny(r, m, with)
	if len(h) > operationsMax || m.Validate(h) != nil {
		c.unsound++
		return
	}
	answer, problem := c.judge(m, with, h)
	switch {
	case answer == Undecided:
		c.untried++
		return
	case answer == Legal:
		c.legal++
	default:
		c.illegal++
	}
	c.decided++
	if problem == "" {
		return
	}
	count := map[string]*int{
		"accused": &c.accused, "missed": &c.missed, "unknown": &c.unknown, "unproved": &c.unproved,
	}[problem]
	if *count++; *count <= reportsMax {
		small := minimised(h, func(h lin.History) bool {
			_, again := c.judge(m, with, h)
			return m.Validate(h) == nil && again == problem
		})
		t.Errorf("history %d, %+v: %s; a smallest one: %v\n%s", i, with, problem,
			lin.Check(m, small, unhurried), lines(small))
	}
}

// judge says whether the judge is wrong.
func (c *comparison) judge(m lin.Model, with lin.Parameters, h lin.History) (truth Answer, problem string) {
	for _, v := range lin.Check(m, h, unhurried) {
		ops := slices.DeleteFunc(slices.Clone(h), func(op lin.Operation) bool { return op.Object != v.Object })
		answer, _ := judgeByReference(c.model, with, ops)
		if answer == Undecided {
			return answer, ""
		}
		truth = max(truth, answer)
		shown := func() bool {
			answer, _ := judgeByReference(c.model, with, v.Operations)
			return answer == Illegal
		}
		switch {
		case v.Outcome == lin.Undetermined:
			problem = "unknown"
		case v.Outcome == lin.Violation && answer == Legal:
			problem = "accused"
		case v.Outcome == lin.Ok && answer == Illegal:
			problem = "missed"
		case v.Outcome == lin.Violation && !shown():
			problem = "unproved"
		}
	}
	return truth, problem
}

// minimised removes operations as long as the history stays bad.
func minimised(h lin.History, bad func(lin.History) bool) lin.History {
	for i := 0; i < len(h); {
		if smaller := slices.Delete(slices.Clone(h), i, i+1); bad(smaller) {
			h, i = smaller, 0
		} else {
			i++
		}
	}
	return h
}

func lines(h lin.History) string {
	var b strings.Builder
	for _, o := range h {
		fmt.Fprintf(&b, "%v process %s %s\n", o, owner(o), o.Object)
	}
	return b.String()
}

// drawAny draws a history of one of several kinds. It may be unsound.
func drawAny(r *rand.Rand, m lin.Model, with lin.Parameters) (h lin.History) {
	switch r.IntN(8) {
	case 0, 1:
		h = drawDoubtful(r, m)
	case 2:
		h = drawWild(r, m)
	default:
		h = drawNearlyCorrect(r, m, with)
	}
	coarse, objects, renamed := int64(1+max(r.IntN(8)-4, 0)), 1+r.IntN(8)/7, r.IntN(4) == 0
	for i := range h {
		o := &h[i]
		o.Call /= coarse
		if o.Return != lin.Forever {
			o.Return /= coarse
		}
		o.Object = strings.Repeat("o", r.IntN(objects))
		if renamed {
			o.Process, o.Client = lin.Str(owner(*o)), i
		}
	}
	return h
}

// drawNearlyCorrect draws a history that is correct by construction, and in most cases corrupts it.
func drawNearlyCorrect(r *rand.Rand, m lin.Model, with lin.Parameters) lin.History {
	s := drawShape(r)
	s.Operations, s.Clients = 1+r.IntN(operationsMax), 1+r.IntN(4)
	s.Unknown = []float64{0, 0.1, 0.4}[r.IntN(3)]
	h := drawLegal(r, m.Name, with, s)
	if s.Stale && slices.Contains([]string{"queue", "priorityqueue", "counter"}, m.Name) {
		h = histories.StaleReads(h)
	}
	if r.IntN(3) > 0 {
		for range 1 + r.IntN(2) {
			h = corrupt(r, m, h)
		}
	}
	return h
}

// corrupt makes one change, so that a legal history may become nearly legal.
func corrupt(r *rand.Rand, m lin.Model, h lin.History) lin.History {
	if len(h) == 0 {
		return h
	}
	i, k := r.IntN(len(h)), r.IntN(len(h))
	a, b := &h[i], &h[k]
	switch r.IntN(8) {
	case 0:
		return slices.Delete(h, i, i+1)
	case 1:
		a.Result, b.Result = b.Result, a.Result
	case 2:
		a.Call, a.Return, b.Call, b.Return = b.Call, b.Return, a.Call, a.Return
		a.Client, b.Client, a.Process, b.Process = b.Client, a.Client, b.Process, a.Process
		a.Outcome, b.Outcome = b.Outcome, a.Outcome
	case 3:
		if a.Return != lin.Forever {
			a.Return = a.Call + (a.Return-a.Call)/4
		}
	case 4:
		*a = lost(*a)
	case 5:
		value(r, m.Name, a)
	case 6:
		shift := r.Int64N(9) - 4
		if a.Call += shift; a.Return != lin.Forever {
			a.Return += shift
		}
	case 7:
		if a.Result.IsInt() {
			a.Result = lin.Int(a.Result.Int() + r.Int64N(3) - 1)
		}
	}
	slices.SortStableFunc(h, func(a, b lin.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return h
}

// drawWild draws a few arbitrary operations, with few values.
func drawWild(r *rand.Rand, m lin.Model) (h lin.History) {
	busy := make([]int64, 4)
	for range 1 + r.IntN(9) {
		o := lin.Operation{Client: r.IntN(len(busy)), Op: m.Operations[r.IntN(len(m.Operations))]}
		o.Call = max(busy[o.Client], r.Int64N(14))
		o.Return = o.Call + r.Int64N(6)
		busy[o.Client] = o.Return
		value(r, m.Name, &o)
		if r.IntN(5) == 0 {
			o = lost(o)
		}
		h = append(h, o)
	}
	slices.SortStableFunc(h, func(a, b lin.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return h
}

// drawDoubtful draws operations of two or three processes, often mostly of one, many of unknown outcome: which hold a
// release ends is seldom clear.
func drawDoubtful(r *rand.Rand, m lin.Model) (h lin.History) {
	busy, mostly := make([]int64, 3), 1+r.IntN(2)
	for range 2 + r.IntN(9) {
		o := lin.Operation{Client: r.IntN(4) / 3 * mostly, Op: m.Operations[r.IntN(len(m.Operations))]}
		if mostly == 2 {
			o.Client = r.IntN(3)
		}
		o.Call = busy[o.Client] + r.Int64N(3)
		o.Return = o.Call + r.Int64N(4)
		if value(r, m.Name, &o); r.IntN(3) > 0 {
			o.Result = lin.Null
		}
		if busy[o.Client] = o.Return; r.IntN(5) < 2 {
			busy[o.Client] = o.Call + r.Int64N(2)
			o = lost(o)
		}
		h = append(h, o)
	}
	slices.SortStableFunc(h, func(a, b lin.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return h
}

// value gives an operation an argument and a result that its model allows.
func value(r *rand.Rand, model string, o *lin.Operation) {
	some := []lin.Value{lin.Null, lin.Int(r.Int64N(4))}[r.IntN(2)]
	switch {
	case o.Op == "offer":
		o.Arg = lin.Int(r.Int64N(4))
		if model == "priorityqueue" {
			o.Arg = ranked(o.Arg.Int())
		}
	case o.Op == "add":
		o.Arg, o.Result = lin.Int([]int64{1, 1, 1, 2, -1, 3}[r.IntN(6)]), some
	case o.Op != "resigned" && releases(*o) || model == "barrier" || model == "doublebarrier":
	case model == "priorityqueue" && some.IsInt():
		o.Result = ranked(some.Int())
	default:
		o.Result = some
	}
	if model == "semaphore" && r.IntN(3) == 0 {
		o.Arg = lin.Int(2)
	}
}

// ranked is one of four values, two of which have equal priority.
func ranked(n int64) lin.Value { return lin.Str(fmt.Sprintf("%d:%d", n/2, n)) }
