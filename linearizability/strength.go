package linearizability

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
)

// Strength says how much a history that was found legal is worth: how hard it was for the object, and
// how much of what can go wrong the judge would have noticed in it. A history in which no two
// operations overlap, or that may be corrupted without anybody noticing, says little.
type Strength struct {
	Operations  int // that had an effect or may have had one
	Overlapping int // of these, those during which another client's operation ran too
	Unknown     int // of these, those of unknown outcome
	// Corruptions is how often the history was corrupted, and Noticed how often the result was judged
	// to be illegal.
	Corruptions, Noticed int
	// Missed counts the corruptions that gave a legal history, by kind: swap, duplicate, drop, stretch.
	// That is no fault of the judge: two offers that overlapped, for example, may be swapped.
	Missed map[string]int
}

// Measure returns the strength of a history of one object. It corrupts it in as many ways as tries
// says, drawn from the seed, and judges each; a corruption that is not a history at all any more (a
// release by somebody who never called for the lock) does not count. The same arguments give the same
// result, if the judge has time enough.
func Measure(m Model, h History, seed uint64, tries int, o Options) Strength {
	s := Strength{Operations: len(h), Overlapping: overlapping(h), Missed: map[string]int{}}
	for _, op := range h {
		switch op.Outcome {
		case Fail:
			s.Operations--
		case Unknown:
			s.Unknown++
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for range tries {
		corrupted, kind := corrupt(h, random)
		if corrupted == nil || Validate(m, corrupted) != nil {
			continue
		}
		s.Corruptions++
		if Worst(Check(m, corrupted, o)) == Violation {
			s.Noticed++
		} else {
			s.Missed[kind]++
		}
	}
	return s
}

// overlapping counts the operations during which an operation of another client ran. One of unknown
// outcome runs until it returned to its client.
func overlapping(h History) (n int) {
	order := slices.DeleteFunc(slices.Clone(h), func(o Operation) bool { return o.Outcome == Fail })
	slices.SortFunc(order, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
	overlaps := make([]bool, len(order))
	latest := -1 // of those called so far, the one that returned last
	for i, op := range order {
		if latest >= 0 && order[latest].Return > op.Call && order[latest].owner() != op.owner() {
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

// corruptions are what the clients might have seen of a broken object, or a broken recorder.
var corruptions = map[string]func(h History, i, k int) History{
	"swap":      swapResults,
	"duplicate": duplicate,
	"drop":      func(h History, i, _ int) History { return slices.Delete(h, i, i+1) },
	"stretch":   stretch,
}

// corrupt returns a corrupted copy of h; nil if the draw does not fit.
func corrupt(h History, random *rand.Rand) (History, string) {
	kinds := slices.Sorted(maps.Keys(corruptions))
	kind := kinds[random.IntN(len(kinds))]
	var sure []int
	for i, op := range h {
		if op.Outcome == OK {
			sure = append(sure, i)
		}
	}
	if len(sure) < 2 {
		return nil, kind
	}
	i, k := sure[random.IntN(len(sure))], sure[random.IntN(len(sure))]
	return corruptions[kind](slices.Clone(h), i, k), kind
}

// swapResults gives two operations of the same kind each other's result.
func swapResults(h History, i, k int) History {
	if h[i].Op != h[k].Op || h[i].Result == h[k].Result {
		return nil
	}
	h[i].Result, h[k].Result = h[k].Result, h[i].Result
	return h
}

// duplicate lets an operation that returned something happen once more, just after it did.
func duplicate(h History, i, _ int) History {
	again := h[i]
	if again.Result.IsNull() {
		return nil
	}
	again.Call, again.Return = again.Return+1, again.Return+1
	return append(h, again)
}

// stretch lets operation i take effect only after k, as a release that comes too late.
func stretch(h History, i, k int) History {
	if h[k].Call <= h[i].Return {
		return nil
	}
	h[i].Call, h[i].Return = h[k].Return+1, h[k].Return+1
	return h
}
