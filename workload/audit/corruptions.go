package audit

import (
	"iter"
	"math/rand/v2"
	"slices"

	lin "github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
)

// corruptions are what the clients might have seen of a broken object. Each changes a copy of a history at operation
// i of outcome ok, and perhaps k, or returns nil if that does not make sense.
var corruptions = []struct {
	kind  string
	apply func(h lin.History, i, k int) lin.History
}{
	{"swap", swapResults}, {"duplicate", duplicate}, {"drop", drop}, {"stretch", stretch}, {"rush", rush},
}

// drawsMax is how many draws there are for one corruption: most do not fit a small history.
const drawsMax = 32

// Corruption is a corrupted copy of a history.
type Corruption struct {
	Kind    string // swap, duplicate, drop, stretch or rush
	Op      string // the name of the operation that was corrupted
	History lin.History
}

// Corruptions yields corrupted copies of a history of one object, drawn from the seed. They are what the clients
// might have seen of a broken object:
//
//	swap       two operations of one name have each other's result
//	duplicate  an operation happened twice: as it returned, or later, somebody else saw the same, or,
//	           if it was a release, its process released again
//	drop       an operation happened though nobody asked for it, or did not though it was answered: it
//	           is missing
//	stretch    an operation took effect only after another, which was called when it had returned
//	rush       an operation returned before another was called, for which it had to wait
//
// Operations that change nothing are neither duplicated nor dropped. Some are legal all the same. What is no history
// any more (a value offered twice, see [lin.Model.Validate]) is drawn again, so there are as many as tries says, unless the
// history has hardly anything to corrupt.
func Corruptions(m lin.Model, h lin.History, seed uint64, tries int) iter.Seq[Corruption] {
	return func(yield func(Corruption) bool) {
		random := rand.New(rand.NewPCG(seed, 0))
		sure := sureOperations(h)
		if len(sure) == 0 {
			return
		}
		for range tries {
			if c := corrupt(m, h, sure, random); c.History != nil && !yield(c) {
				return
			}
		}
	}
}

func sureOperations(h lin.History) (sure []int) {
	for i, op := range h {
		if op.Outcome == lin.OK {
			sure = append(sure, i)
		}
	}
	return sure
}

// corrupt returns a corrupted copy of h; nothing if no draw fits.
func corrupt(m lin.Model, h lin.History, sure []int, random *rand.Rand) Corruption {
	for range drawsMax {
		c := corruptions[random.IntN(len(corruptions))]
		i, k := sure[random.IntN(len(sure))], sure[random.IntN(len(sure))]
		corrupted := c.apply(slices.Clone(h), i, k)
		if corrupted != nil && m.Validate(corrupted) == nil {
			return Corruption{c.kind, h[i].Op, corrupted}
		}
	}
	return Corruption{}
}

func swapResults(h lin.History, i, k int) lin.History {
	if h[i].Op != h[k].Op || h[i].Result == h[k].Result {
		return nil
	}
	h[i].Result, h[k].Result = h[k].Result, h[i].Result
	return h
}

func duplicate(h lin.History, i, k int) lin.History {
	if changesNothing(&h[i]) || h[k].Return < h[i].Return {
		return nil
	}
	again := h[i]
	again.Call, again.Return = h[k].Return, h[k].Return
	if !asksBack(&again) {
		again.Client, again.Process = stranger(h), lin.Null
	}
	return append(h, again)
}

// changesNothing reports whether an operation of outcome ok is one that leaves every object as it is.
func changesNothing(op *lin.Operation) bool {
	role := operations.Of(op.Op).Role
	return role == operations.Read || role == operations.Wait || op.Vain()
}

// asksBack reports whether the operation gives something back that its process was given.
func asksBack(op *lin.Operation) bool {
	switch operations.Of(op.Op).Role {
	case operations.Release, operations.Downgrade, operations.Leave:
		return true
	}
	return false
}

// stranger is the number of a client that is not in the history.
func stranger(h lin.History) int {
	number := int64(0)
	for i := range h {
		number = max(number, int64(h[i].Client)+1, h[i].Process.Int()+1)
	}
	return int(number)
}

func drop(h lin.History, i, _ int) lin.History {
	if changesNothing(&h[i]) {
		return nil
	}
	return slices.Delete(h, i, i+1)
}

func stretch(h lin.History, i, k int) lin.History {
	if h[k].Call <= h[i].Return {
		return nil
	}
	h[i].Call, h[i].Return = h[k].Return+1, h[k].Return+1
	return h
}

func rush(h lin.History, i, k int) lin.History {
	if i == k || h[k].Return > h[i].Return {
		return nil
	}
	h[i].Return = h[k].Call - 1
	h[i].Call = min(h[i].Call, h[i].Return)
	return h
}
