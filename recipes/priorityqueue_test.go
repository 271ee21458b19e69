package recipes_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func drainPriorities(t *testing.T, q *recipes.PriorityQueue) string {
	t.Helper()
	var items []string
	for {
		data, err := q.Poll(t.Context())
		if err == recipes.ErrEmpty {
			return strings.Join(items, " ")
		}
		must(t, err)
		items = append(items, string(data))
	}
}

// Property: items come out by priority, and those of one priority as they went in.
func TestPriorityQueueOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		offered := rapid.SliceOf(rapid.OneOf(
			rapid.Int32Range(-2, 2), rapid.SampledFrom([]int32{math.MinInt32, 9, 10, math.MaxInt32}),
		)).Draw(rt, "priorities")
		servers := goclient.NewLocal(fakezk.Config{})
		q := recipes.NewPriorityQueue(connect(t, servers), "/q")
		type item struct {
			priority int32
			number   int
		}
		var items []item
		for i, priority := range offered {
			must(t, q.Offer(t.Context(), priority, fmt.Append(nil, i)))
			items = append(items, item{priority, i})
		}
		slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.priority, b.priority) })
		var want []string
		for _, i := range items {
			want = append(want, fmt.Sprint(i.number))
		}
		if got := drainPriorities(t, q); got != strings.Join(want, " ") {
			rt.Fatalf("%v came out as %s, want %s", offered, got, strings.Join(want, " "))
		}
	})
}
