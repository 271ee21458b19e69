package recipes

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Sums overflow exactly where numbers of 64 bits do.
func TestPlusOverflows(t *testing.T) {
	near := rapid.Int64Range(-3, 3)
	rapid.Check(t, func(rt *rapid.T) {
		from := []int64{0, math.MaxInt64, math.MinInt64}
		a := rapid.SampledFrom(from).Draw(rt, "from") + near.Draw(rt, "a")
		b := rapid.SampledFrom(from).Draw(rt, "from") + near.Draw(rt, "b")
		overflows := b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b
		sum, err := plus(a, b)
		if errors.Is(err, ErrOverflow) != overflows || err == nil && sum != a+b {
			rt.Fatalf("%d and %d: %d, %v", a, b, sum, err)
		}
	})
}
