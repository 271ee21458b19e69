// Package measure is what programs that measure share: statistics of hunts (Efron, Tibshirani), records, memory.
package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Ratio is a quotient with its 95 % confidence interval.
type Ratio struct{ Value, Low, High float64 }

func (r Ratio) String() string { return fmt.Sprintf("%.2f (%.2f–%.2f)", r.Value, r.Low, r.High) }

const resamplings = 2000

// Bootstrap is how a statistic of hunts relates to that of others, the zero ratio if there are none. Each is a list of
// the animals' episodes; the interval comes from drawing the hunts of each animal anew, with replacement (Efron,
// Tibshirani: An Introduction to the Bootstrap, 13.3). It depends on the hunts alone.
func Bootstrap(statistic func([][]int) float64, some, others [][]int) Ratio {
	if len(some) == 0 || len(others) == 0 {
		return Ratio{}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	all := make([]float64, resamplings)
	for i := range all {
		all[i] = statistic(drawnAnew(rng, some)) / statistic(drawnAnew(rng, others))
	}
	slices.Sort(all)
	return Ratio{statistic(some) / statistic(others), all[resamplings/40], all[resamplings-1-resamplings/40]}
}

func drawnAnew(rng *rand.Rand, all [][]int) [][]int {
	drawn := make([][]int, len(all))
	for i, hunts := range all {
		for range hunts {
			drawn[i] = append(drawn[i], hunts[rng.IntN(len(hunts))])
		}
	}
	return drawn
}

// GeometricMean is that of the episodes, in which each animal counts the same.
func GeometricMean(all [][]int) float64 {
	sum := 0.0
	for _, hunts := range all {
		for _, n := range hunts {
			sum += math.Log(float64(n)) / float64(len(hunts)*len(all))
		}
	}
	return math.Exp(sum)
}

func SumOfMedians(all [][]int) float64 {
	sum := 0
	for _, hunts := range all {
		sum += MedianOf(hunts, func(n int) int { return n })
	}
	return float64(sum)
}

// MedianOf is the median of a number of each, 0 if there are none.
func MedianOf[T any](all []T, of func(T) int) int {
	if len(all) == 0 {
		return 0
	}
	var values []int
	for _, one := range all {
		values = append(values, of(one))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
