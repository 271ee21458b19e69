package linearizability

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/linearizability/internal/monitor"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// TestAWrongAccusationIsNotConfirmed: two additions between which others happened are illegal by
// themselves, but not beside what may have happened.
func TestAWrongAccusationIsNotConfirmed(t *testing.T) {
	m := Counter()
	h := counting(add(1, 5), add(1, 9))
	wrong := step.Illegal(step.Finding{Property: "sum", Steps: m.steps(h)})
	for _, delta := range []int64{4, 3} {
		wrong.Given = append(wrong.Given, step.Step{Kind: step.Add, Unknown: true, Null: true, Item: step.NoItem,
			Call: math.MinInt64, End: Forever, Source: step.None, With: &step.Amount{Delta: delta}})
	}
	if v := newJudge(&m, Options{}).confirm("monitor", wrong, h); v.Checker != "disagreement" {
		t.Errorf("the verdict is %v, not that the checkers disagree", v)
	}
}

// TestLongCounts judges many additions, of which some are not told their sums, and names few when one
// of them is told the sum of another.
func TestLongCounts(t *testing.T) {
	h := longCount(50_000)
	if v := Check(Counter(), h, Options{})[0]; v.Outcome != Ok || v.Checker != "monitor" {
		t.Error(v)
	}
	h[30_001] = h[30_000]
	h[30_001].Client++
	if v := Check(Counter(), h, Options{})[0]; v.Property != "lost-update" || len(v.Operations) != 2 {
		t.Error(v)
	}
}

// longCount is additions of 1 by 16 clients; the reply of every hundredth is lost.
func longCount(n int) (h History) {
	for i := range int64(n) {
		op := add(1, i+1)
		op.Client, op.Call, op.Return = int(i%16), 4*i, 4*i+60
		if i%100 == 7 {
			op.Outcome, op.Result, op.Return = Unknown, Null, Forever
		}
		h = append(h, op)
	}
	return h
}

func BenchmarkCounter(b *testing.B) {
	for _, ops := range []int{10_000, 1_000_000} {
		h := longCount(ops)
		benchmarkJudging(b, fmt.Sprintf("monitor/%d", ops),
			func() Status { return Status(monitor.Counter(Counter().steps(h)).Outcome) }, Ok)
	}
}

// What is not decided is named by its shape.
func TestSubsetSumsAreCounted(t *testing.T) {
	lost := func(n int64) Operation {
		return Operation{Op: "add", Arg: Int(n), Outcome: Unknown, Call: 1, Return: Forever}
	}
	get := func(n, call int64) Operation {
		return Operation{Client: 9, Op: "get", Result: Int(n), Call: call, Return: call + 1}
	}
	m := Counter()
	untold := Operation{Client: 8, Op: "add", Arg: Int(4), Call: 15, Return: 18}
	var odd History // of even amounts, and too many ways to add them up
	for range 1000 {
		odd = append(odd, lost(2), lost(4), lost(6))
	}
	for want, h := range map[string]History{
		"which of 3000 additions of 3 different amounts, whose sums nobody was told, make up 1 gaps": append(odd, get(6001, 20)),
		"": {lost(2), lost(3), lost(3), get(5, 10), get(8, 20)},
		"which of 4 additions of 3 different amounts, whose sums nobody was told, make up 2 gaps": {
			lost(2), lost(3), lost(3), untold, get(5, 10), get(8, 20)},
		"which of 9 additions of 9 different amounts, whose sums nobody was told, make up 1 gaps": {
			lost(1), lost(2), lost(3), lost(4), lost(5), lost(6), lost(7), lost(8), lost(9), get(45, 20)},
	} {
		if r := m.monitor(m.steps(h)); !strings.HasPrefix(r.Reason, want) || (r.Outcome == step.Ok) != (want == "") {
			t.Errorf("%v: %q, want %q", r.Outcome, r.Reason, want)
		}
	}
}
