package fakezk

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/internal/digest"
)

// Siblings are what a sorted list is, through many more changes than a block holds.
func TestSiblings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s siblings
		var want []*node
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			step := rapid.Uint64().Draw(t, "step") | 1
			for i := range uint64(rapid.IntRange(0, 3*blockMax).Draw(t, "added")) {
				n := &node{order: digest.Mix(i * step)}
				s.add(n)
				want = append(want, n)
			}
			removed := rapid.IntRange(0, len(want)).Draw(t, "removed")
			if rapid.Bool().Draw(t, "lowest") {
				slices.SortFunc(want, compareOrder)
			}
			for _, n := range want[:removed] {
				s.remove(n)
			}
			want = slices.Delete(want, 0, removed)
			if rapid.Bool().Draw(t, "reused") {
				s, want = s.emptied(), nil
			}
			if err := s.check(); err != nil {
				t.Fatal(err)
			}
			got := slices.Collect(s.all())
			byOrder := func(a, b *node) int { return cmp.Compare(a.order, b.order) }
			if !slices.Equal(orders(got), orders(slices.SortedFunc(slices.Values(want), byOrder))) {
				t.Fatalf("%d siblings are not the %d that there should be", len(got), len(want))
			}
		}
	})
}

func orders(nodes []*node) (list []uint64) {
	for _, n := range nodes {
		list = append(list, n.order)
	}
	return list
}
