// Package sensitivity measures what the verdict on a legal history is worth: it corrupts the history, and counts how
// often package linearizability notices.
package sensitivity

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"

	lin "github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
)

// Sensitivity says how much the verdict on a legal history is worth: how hard the history was for the object, and how
// many corruptions of it the judge detects. A history in which no two operations overlap, or in which no corruption
// is detected, says little.
type Sensitivity struct {
	Operations  int // that had an effect or may have had one
	Overlapping int // of these, those during which another client's operation ran too
	Unknown     int // of these, those of unknown outcome
	// Corruptions is how often the history was corrupted, see [Corruptions], Noticed how often the result was judged to be
	// illegal, and Undecided how often the judge could not tell.
	Corruptions, Noticed, Undecided int
	// Missed counts the corruptions that gave a legal history, by kind. That is no fault of the judge: of two offers
	// that overlapped, for example, either may have gone first.
	Missed map[string]int
	// Broken counts the noticed ones by the property that they broke first, "others" if its name would take an explanation.
	Broken map[string]int
}

// Measure returns how sensitive the judge is to what can go wrong in a history of one object. It corrupts the history
// as often as tries says, drawn from the seed, and judges each result, which may take as long as the options say. The
// same arguments give the same result, if the judge has time enough.
func Measure(m lin.Model, h lin.History, seed uint64, tries int, o lin.Options) Sensitivity {
	s := Sensitivity{Operations: len(h), Overlapping: overlapping(h), Missed: map[string]int{}, Broken: map[string]int{}}
	for _, op := range h {
		switch op.Outcome {
		case lin.Fail:
			s.Operations--
		case lin.Unknown:
			s.Unknown++
		}
	}
	o.Unexplained = true
	for c := range Corruptions(m, h, seed, tries) {
		s.Corruptions++
		verdicts := lin.Check(m, c.History, o)
		switch lin.Worst(verdicts) {
		case lin.Violation:
			s.Noticed++
			broken := slices.IndexFunc(verdicts, func(v lin.Verdict) bool { return v.Outcome == lin.Violation })
			s.Broken[cmp.Or(verdicts[broken].Property, "others")]++
		case lin.Ok:
			s.Missed[c.Kind]++
		default:
			s.Undecided++
		}
	}
	return s
}

// overlapping counts operations that overlap one of another client; one of unknown outcome ends at its return.
func overlapping(h lin.History) (n int) {
	order := slices.DeleteFunc(slices.Clone(h), func(o lin.Operation) bool { return o.Outcome == lin.Fail })
	slices.SortFunc(order, func(a, b lin.Operation) int { return cmp.Compare(a.Call, b.Call) })
	overlaps := make([]bool, len(order))
	latest := -1 // of those called so far, the one that returned last
	for i, op := range order {
		if latest >= 0 && order[latest].Return > op.Call && order[latest].Owner() != op.Owner() {
			overlaps[latest], overlaps[i] = true, true
		}
		if latest < 0 || op.Return > order[latest].Return {
			latest = i
		}
	}
	for _, o := range overlaps {
		if o {
			n++
		}
	}
	return n
}

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
