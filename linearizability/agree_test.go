package linearizability

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// TestAgree compares every model's monitor with porcupine, which knows nothing but the model: on
// random histories, on legal ones that were made with an object, and on those with something
// changed. They are small, because porcupine has to decide them, with many ties, unknown outcomes
// and wide intervals.

// contender is a model whose monitor is compared with porcupine. Files of tests enter theirs with
// enter, in an init function.
type contender struct {
	model Model
	// fresh returns a new object that runs operations one at a time.
	fresh func() sequential
	// wild draws an operation (Op, Arg and Result) with no regard to what is legal; few different
	// ones, so that they meet.
	wild func(r *rand.Rand) Operation
	// own draws histories for what those of the other kinds hardly ever contain; it may be nil.
	own func(r *rand.Rand) History
	// doubts is for how many of 100 histories the monitor may have no answer; 0 stands for 1.
	doubts int
	// ops is how many operations the largest histories have; more than ten take porcupine long.
	ops int
}

// sequential is an object that runs operations one at a time.
type sequential interface {
	// run carries out one operation of the client, chosen at random, and returns Op, Arg and Result.
	// It is not done if the client would have to wait.
	run(r *rand.Rand, client int) (op Operation, done bool)
}

// forgetful is a sequential object that also draws operations whose requests are lost. Objects
// that are not are given wild ones.
type forgetful interface {
	ghost(r *rand.Rand) Operation
}

var contenders []contender

// enter adds a contender to TestAgree.
func enter(c contender) { contenders = append(contenders, c) }

// effort is how many histories to compare: ZKTORTURE_AGREE, or 20,000.
func effort(t *testing.T) int {
	text := os.Getenv("ZKTORTURE_AGREE")
	if text == "" {
		return 20_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("ZKTORTURE_AGREE is %q; write how many histories to compare", text)
	}
	return n
}

// agreeSeed is the seed of all histories; history i of a model is drawn from the stream i of it.
const agreeSeed = 1

func TestAgree(t *testing.T) {
	each := (effort(t) + len(contenders) - 1) / len(contenders) // rounded up
	for _, c := range contenders {
		t.Run(c.model.Name, func(t *testing.T) {
			if c.model.monitor == nil {
				t.Fatal("the model has no monitor")
			}
			var seen tally
			for i := 0; seen.decided() < each && i < 3*each; i++ {
				seen.compare(t, &c, i)
			}
			t.Log(seen.String())
			if seen.decided() < each || seen.legal == 0 || seen.illegal == 0 ||
				seen.undetermined*100 > each*max(c.doubts, 1) {
				t.Error("that compares too little")
			}
		})
	}
}

// tally counts what came of the comparisons.
type tally struct {
	unsound, legal, illegal, undetermined, slow int
	longest                                     int // certificate
}

// decided is how many were judged by both.
func (n *tally) decided() int { return n.legal + n.illegal }

func (n *tally) String() string {
	return fmt.Sprintf("%d legal, %d illegal, %d undetermined, %d too slow for porcupine, %d unsound; the longest "+
		"certificate has %d operations",
		n.legal, n.illegal, n.undetermined, n.slow, n.unsound, n.longest)
}

// compare draws history i and compares.
func (n *tally) compare(t *testing.T, c *contender, i int) {
	h := c.draw(rand.New(rand.NewPCG(agreeSeed, uint64(i))))
	if c.model.Validate(h) != nil {
		n.unsound++
		return
	}
	if problem := n.dispute(c, h); problem != "" {
		small := minimised(h, func(h History) bool { return new(tally).dispute(c, h) != "" })
		t.Fatalf("history %d of seed %d: %s\nA smallest one: %s\n%s", i, agreeSeed, problem,
			new(tally).dispute(c, small), lines(small))
	}
}

// dispute says in what monitor and porcupine differ, or nothing.
func (n *tally) dispute(c *contender, h History) string {
	steps := c.model.steps(h)
	j := newJudge(&c.model, Options{Timeout: 5 * time.Second})
	r, truth := c.model.monitor(slices.Clone(steps)), j.ask(steps)
	switch {
	case truth == porcupine.Unknown:
		n.slow++
	case Status(r.Outcome) == Undetermined:
		n.undetermined++
	case Status(r.Outcome) == Ok && truth == porcupine.Ok:
		n.legal++
	case Status(r.Outcome) == Ok:
		return "the monitor finds nothing wrong, porcupine does"
	case truth == porcupine.Ok:
		return "the monitor says " + r.Finding.Property + ", porcupine finds an order"
	default:
		n.illegal++
		n.longest = max(n.longest, len(r.Finding.Steps))
		return disputeFinding(j, h, steps, r.Finding)
	}
	return ""
}

// disputeFinding says what is wrong with a finding on an illegal history, or nothing: its steps must
// be some of the history's, and illegal by themselves.
func disputeFinding(j *judge, h History, steps []step.Step, f step.Finding) string {
	for _, s := range f.Steps {
		if !slices.ContainsFunc(steps, func(o step.Step) bool { return o.Source == s.Source && o.Kind == s.Kind }) {
			return fmt.Sprintf("the certificate has a step that is not one of the history: %v", h[s.Source])
		}
	}
	if j.model.Name == "counter" && f.Property == "" { // a search found it, and it is explained later
		f = j.model.explain(j, f.Steps)
	}
	if j.model.rule(f.Property) == "" {
		return "the violation has no name"
	}
	if j.ask(f.Steps) == porcupine.Ok {
		return "the certificate is in order: " + j.model.violation("monitor", f.Property, named(&f, h)).String()
	}
	return ""
}

// minimised leaves out operations as long as the history stays bad and sound.
func minimised(h History, bad func(History) bool) History {
	for i := 0; i < len(h); {
		if smaller := slices.Delete(slices.Clone(h), i, i+1); bad(smaller) {
			h, i = smaller, 0
		} else {
			i++
		}
	}
	return h
}

// draw draws a history of one of several kinds. It may be unsound.
func (c *contender) draw(r *rand.Rand) History {
	if c.own != nil && r.IntN(5) == 0 {
		return c.own(r)
	}
	switch r.IntN(4) {
	case 0:
		return c.drawWild(r)
	case 1:
		return c.drawLegal(r, drawShape(r, c.ops))
	}
	h := c.drawLegal(r, drawShape(r, c.ops))
	for range 1 + r.IntN(2) {
		h = c.mutate(r, h)
	}
	return h
}

// drawWild draws operations with no regard to what is legal.
func (c *contender) drawWild(r *rand.Rand) History {
	var h History
	busy := make([]int64, 4)
	for range 1 + r.IntN(min(c.ops, 8)) {
		op := c.wild(r)
		op.Client = r.IntN(len(busy))
		op.Call = max(busy[op.Client], r.Int64N(14))
		op.Return = op.Call + r.Int64N(6)
		busy[op.Client] = op.Return
		if r.IntN(5) == 0 {
			c.lose(r, &op)
		}
		h = append(h, op)
	}
	sortByCall(h)
	return h
}

// lose makes the outcome of an operation unknown.
func (c *contender) lose(r *rand.Rand, op *Operation) {
	op.Outcome, op.Return = Unknown, Forever
	if r.IntN(4) > 0 {
		op.Result = Null
	}
}

// shape is how a history looks like.
type shape struct {
	ops, clients int
	pace         int64   // stamps between the instants at which operations take effect
	spread       int64   // stamps by which calls are early and returns late, at most
	unknown      float64 // the share of operations whose reply is lost, and of those whose request is
}

func drawShape(r *rand.Rand, opsMax int) shape {
	return shape{
		ops: 1 + r.IntN(opsMax), clients: 1 + r.IntN(4), pace: 1 + r.Int64N(3), spread: 1 + r.Int64N(12),
		unknown: []float64{0, 0.1, 0.3}[r.IntN(3)],
	}
}

// drawLegal lets an object run operations, and widens each around the instant at which it took effect.
// Some replies are lost; and some requests, which may be any operation, as they have no effect.
func (c *contender) drawLegal(r *rand.Rand, s shape) History {
	object, busy := c.fresh(), make([]int64, s.clients)
	var h History
	for instant := s.spread; len(h) < s.ops && instant < s.spread+s.pace*int64(4*s.ops+20); instant += s.pace {
		client := r.IntN(s.clients)
		if busy[client] > instant {
			continue
		}
		op, done := object.run(r, client)
		if !done {
			continue
		}
		op.Client = client
		op.Call = max(busy[client], instant-r.Int64N(s.spread))
		op.Return = instant + r.Int64N(s.spread)
		busy[client] = op.Return
		if r.Float64() < s.unknown {
			c.lose(r, &op)
		}
		h = append(h, op)
		if r.Float64() < s.unknown/2 {
			h = append(h, c.ghost(r, object, client, instant))
		}
	}
	sortByCall(h)
	return h
}

// ghost is an operation whose request was lost.
func (c *contender) ghost(r *rand.Rand, object sequential, client int, instant int64) Operation {
	op := c.wild(r)
	if f, ok := object.(forgetful); ok {
		op = f.ghost(r)
	}
	op.Client, op.Call = client, instant
	c.lose(r, &op)
	return op
}

// mutate changes one thing, so that a legal history may become an illegal one that hardly differs.
func (c *contender) mutate(r *rand.Rand, h History) History {
	if len(h) == 0 {
		return h
	}
	i, k := r.IntN(len(h)), r.IntN(len(h))
	a, b := &h[i], &h[k]
	switch r.IntN(7) {
	case 0:
		return slices.Delete(h, i, i+1)
	case 1:
		a.Result, b.Result = b.Result, a.Result
	case 2:
		a.Call, a.Return, b.Call, b.Return = b.Call, b.Return, a.Call, a.Return
		a.Client, b.Client = b.Client, a.Client
		a.Outcome, b.Outcome = b.Outcome, a.Outcome
	case 3:
		if a.Return != Forever {
			a.Return = a.Call + (a.Return-a.Call)/4
		}
	case 4:
		c.lose(r, a)
	case 5:
		w := c.wild(r)
		a.Op, a.Arg, a.Result = w.Op, w.Arg, w.Result
	case 6:
		shift := r.Int64N(9) - 4
		a.Call += shift
		if a.Return != Forever {
			a.Return += shift
		}
	}
	sortByCall(h)
	return h
}

func sortByCall(h History) {
	slices.SortStableFunc(h, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
}

func lines(h History) string {
	var s string
	for _, op := range h {
		s += op.String() + "\n"
	}
	return s
}
