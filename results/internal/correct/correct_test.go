package correct

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	lin "github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/results/internal/exhaustive"
)

// TestShortOnesAreLegal draws histories short enough to try all orders. All must be legal.
func TestShortOnesAreLegal(t *testing.T) {
	with := lin.Parameters{Parties: 2, Permits: 3}
	for _, model := range Models {
		undecided := 0
		for i := range uint64(2000) {
			r := rand.New(rand.NewPCG(2, i))
			s := DrawShape(r)
			s.Operations, s.Clients, s.Unknown = 4+r.IntN(12), 2+r.IntN(3), 3*s.Unknown
			h := Draw(r, model, with, s)
			if s.Stale && reads(model) {
				h = histories.StaleReads(h)
			}
			switch answer, err := exhaustive.Judge(model, with, h); {
			case answer == exhaustive.Illegal || err != nil:
				t.Fatalf("%s, history %d of shape %+v: %v, %v: %v", model, i, s, answer, err, h)
			case answer == exhaustive.Undecided:
				undecided++
			}
		}
		if undecided > 20 {
			t.Errorf("%s: %d of 2000 histories had too many orders", model, undecided)
		}
	}
}

// TestVariety checks that the cases vary as documented.
func TestVariety(t *testing.T) {
	for _, model := range Models {
		var unknown, ties, stale, own int
		seen := map[string]bool{}
		for i := range uint64(12) {
			c, err := New(model, i)
			if err != nil {
				t.Fatal(err)
			}
			stale += count(c.Stale())
			h := c.History
			slices.SortFunc(h, func(a, b lin.Operation) int { return cmp.Compare(a.Call, b.Call) })
			for k, op := range h {
				unknown += count(op.Outcome == lin.Unknown)
				ties += count(k > 0 && h[k-1].Call == op.Call)
				own += count(!op.Process.IsNull())
				seen[op.Op] = true
			}
		}
		for _, op := range operations(model) {
			if !seen[op] {
				t.Errorf("%s: nobody ever did %s", model, op)
			}
		}
		if unknown < 50 || ties < 50 || reads(model) != (stale > 0) || model != "doublebarrier" && own < 50 {
			t.Errorf("%s: %d of unknown outcome, %d ties, %d stale histories, %d operations of processes", model,
				unknown, ties, stale, own)
		}
	}
}

func operations(model string) []string {
	m, _ := lin.ByName(model)
	return m.Operations
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func TestCasesAreDeterministic(t *testing.T) {
	for _, model := range Models {
		a, _ := New(model, 7)
		b, _ := New(model, 7)
		if !reflect.DeepEqual(a.History, b.History) {
			t.Errorf("%s: two draws of one case differ", model)
		}
	}
	if _, err := New("stack", 0); err == nil {
		t.Error("a stack was drawn")
	}
}
