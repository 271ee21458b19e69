package recipes

import (
	"errors"
	"math"
	"strconv"
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
		sum, err := plus([]byte(strconv.FormatInt(a, 10)), b)
		if errors.Is(err, ErrOverflow) != overflows || err == nil && string(sum) != strconv.FormatInt(a+b, 10) {
			rt.Fatalf("%d and %d: %q, %v", a, b, sum, err)
		}
	})
}
