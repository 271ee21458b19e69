package persistent

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ranked is an item of a plain ranking, which is a sorted slice: the reference.
type ranked struct {
	priority int64
	item     int32
}

// list is the items in the order in which they come out.
func list(r *Ranking) (all []ranked) {
	for ; r != nil; r = r.Pop() {
		least := r
		for least.left != nil {
			least = least.left
		}
		all = append(all, ranked{least.priority, r.Head()})
	}
	return all
}

// Property: a ranking does what a sorted slice does, and is never changed.
func TestRanking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r *Ranking
		var plain []ranked
		for i := range rapid.IntRange(0, 30).Draw(t, "steps") {
			before, old := r, slices.Clone(plain)
			if len(plain) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				if r.Head() != plain[0].item {
					t.Fatalf("the head is %d, not %d", r.Head(), plain[0].item)
				}
				r, plain = r.Pop(), plain[1:]
			} else {
				item := ranked{rapid.Int64Range(-3, 3).Draw(t, "priority"), int32(i)}
				r = r.With(item.priority, item.item)
				plain = append(slices.Clone(plain), item)
				slices.SortStableFunc(plain, func(a, b ranked) int { return cmp.Compare(a.priority, b.priority) })
			}
			if !slices.Equal(list(r), plain) {
				t.Fatalf("%v, not %v", list(r), plain)
			}
			if !slices.Equal(list(before), old) {
				t.Fatalf("the ranking before became %v, and was %v", list(before), old)
			}
		}
	})
}

// Property: rankings are equal if their items are, however they came to be; then so are their hashes.
func TestRankingsAreEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ranked {
			return ranked{rapid.Int64Range(0, 8).Draw(t, "priority"), rapid.Int32Range(0, 2).Draw(t, "item")}
		}), 0, 12)
		a, b := items.Draw(t, "a"), items.Draw(t, "b")
		if rapid.Bool().Draw(t, "same") { // the same in another order, with something that has gone again
			b = slices.Clone(a)
			slices.SortStableFunc(b, func(x, y ranked) int { return cmp.Compare(y.priority, x.priority) })
			b = append([]ranked{{-1, 7}}, b...)
		}
		x, y := rankingOf(a), rankingOf(b)
		if len(b) > 0 && b[0].priority < 0 {
			y = y.Pop()
		}
		if same := slices.Equal(list(x), list(y)); x.Equal(y) != same || same && x.Sum() != y.Sum() {
			t.Fatalf("%v and %v are equal: %v, %d and %d", list(x), list(y), x.Equal(y), x.Sum(), y.Sum())
		}
	})
}

func rankingOf(items []ranked) (r *Ranking) {
	for _, x := range items {
		r = r.With(x.priority, x.item)
	}
	return r
}
