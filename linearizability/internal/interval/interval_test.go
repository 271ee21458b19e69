package interval

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawPresences draws a few short presences, so that every instant between two stamps can be tried.
func drawPresences(t *rapid.T, most int) []Presence {
	all := make([]Presence, rapid.IntRange(0, most).Draw(t, "presences"))
	for i := range all {
		from := rapid.Int64Range(0, 12).Draw(t, "from")
		all[i] = Presence{From: from, Until: from + rapid.Int64Range(1, 6).Draw(t, "length")}
	}
	return all
}

// Property: an instant is in the union if and only if it is in one of the presences.
func TestUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawPresences(t, 8)
		SortBy(all, func(p Presence) int64 { return p.From })
		union := Union(all)
		for instant := range int64(20) {
			for _, after := range []bool{false, true} {
				in := func(all []Presence) bool {
					return slices.ContainsFunc(all, func(p Presence) bool {
						return (p.From < instant || after && p.From == instant) && instant < p.Until
					})
				}
				if in(all) != in(union) {
					t.Fatalf("%v is %v at %d, %v", all, union, instant, after)
				}
			}
		}
		for i := 1; i < len(union); i++ {
			if union[i].From < union[i-1].Until {
				t.Fatalf("%v overlaps", union)
			}
		}
	})
}

// Property: if Slots serve all needs there is a way to give each a slot of its own that it touches;
// and if there is one, and needs begin in the order in which they end, Slots serve them.
// servable tries all ways to give the first need a slot.
// Property: deadlines are met if and only if every one can have a slot of its own that began by
// then.
func TestSupply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		instants := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 6)
		begins, deadlines := instants.Draw(t, "begins"), instants.Draw(t, "deadlines")
		slices.Sort(begins)
		slices.Sort(deadlines)
		var s Supply
		var slots, needs []Presence
		for _, at := range begins {
			s.Slots = append(s.Slots, Mark{At: at})
			slots = append(slots, Presence{From: at, Until: Forever})
		}
		for i, at := range deadlines {
			needs = append(needs, Presence{Until: at})
			if got, want := s.Meet(at), servable(needs, slots); got != want {
				t.Fatalf("%v by %v: %v, want %v", begins, deadlines[:i+1], got, want)
			} else if !got {
				return
			}
		}
	})
}

// Property: Least is the least of the numbers as they are in a slice.
func TestLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Int64Range(-9, 9), 1, 20).Draw(t, "numbers")
		l := NewLeast(len(numbers), func(i int) int64 { return numbers[i] })
		for range rapid.IntRange(0, 12).Draw(t, "changes") {
			from := rapid.IntRange(0, len(numbers)-1).Draw(t, "from")
			to := rapid.IntRange(from, len(numbers)).Draw(t, "to")
			by := rapid.Int64Range(-9, 9).Draw(t, "by")
			l.Add(from, to, by)
			for i := from; i < to; i++ {
				numbers[i] += by
			}
		}
		for from := range numbers {
			for to := from; to <= len(numbers); to++ {
				want := slices.Min(append([]int64{Forever}, numbers[from:to]...))
				if got := l.Of(from, to); got != want {
					t.Fatalf("%v from %d to %d: %d, want %d", numbers, from, to, got, want)
				}
			}
		}
	})
}

// Property: what is left by Shrink is bad, and no part can be left out of it.
func TestShrink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 20).Draw(t, "all")
		most := rapid.IntRange(0, 40).Draw(t, "most")
		bad := func(some []int) bool { // so is everything that has more of them
			sum := 0
			for _, n := range some {
				sum += n
			}
			return sum > most
		}
		if !bad(all) {
			t.Skip()
		}
		more := func() bool { return true }
		left := Shrink(all, rapid.IntRange(0, 9).Draw(t, "size"), each, more, bad)
		if !bad(left) {
			t.Fatalf("%v of %v is good", left, all)
		}
		for i := range left {
			if bad(without(left, []int{i})) {
				t.Fatalf("%v of %v is bad without %d", left, all, i)
			}
		}
	})
}

// Property: BestFrom and BestUntil say what is best from a place on, and up to it.
func TestBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		what := rapid.SliceOfN(rapid.Int32Range(0, 9), 1, 9).Draw(t, "what")
		marks := make([]Mark, len(what))
		for i := range what {
			marks[i].What = what[i]
		}
		less := func(a, b int32) bool { return a < b }
		from, until := BestFrom(marks, less), BestUntil(marks, less)
		for i := range marks {
			if from[i] != slices.Min(what[i:]) || until[i] != slices.Min(what[:i+1]) {
				t.Fatalf("%v: %v from, %v until %d", what, from, until, i)
			}
		}
	})
}

// Property: SortBy sorts, and what has the same key stays in order.
func TestSortBy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		marks := make([]Mark, rapid.IntRange(0, 200).Draw(t, "marks"))
		disorder := rapid.Int64Range(0, 300).Draw(t, "disorder")
		for i := range marks {
			marks[i] = Mark{int64(i) + rapid.Int64Range(0, disorder).Draw(t, "late"), int32(i)}
		}
		Sort(marks)
		for i := 1; i < len(marks); i++ {
			if a, b := marks[i-1], marks[i]; a.At > b.At || a.At == b.At && a.What > b.What {
				t.Fatalf("%v before %v", a, b)
			}
		}
		at := rapid.Int64Range(0, 500).Draw(t, "at")
		for i, m := range marks {
			if m.At < at != (i < From(marks, at)) || m.At <= at != (i < After(marks, at)) {
				t.Fatalf("%d is at %d, %d of %v", at, From(marks, at), After(marks, at), marks)
			}
		}
	})
}

// servable tries all ways to give the first need a slot.
func servable(needs, slots []Presence) bool {
	if len(needs) == 0 {
		return true
	}
	for i, s := range slots {
		if s.From <= needs[0].Until && s.Until >= needs[0].From &&
			servable(needs[1:], slices.Delete(slices.Clone(slots), i, i+1)) {
			return true
		}
	}
	return false
}

// each is a Divide of which everything is a part of its own.
func each(all []int) [][]int {
	parts := make([][]int, len(all))
	for i := range parts {
		parts[i] = []int{i}
	}
	return parts
}
