// Package parallel cuts long histories into parts, for as many goroutines as there are processors.
// What comes of it does not depend on how many there are.
package parallel

import (
	"runtime"
	"sync"
)

// partLong is how many operations are worth a goroutine of their own.
const partLong = 1 << 13

// Parts is into how many parts to cut a history of n operations: as many as there are processors, if it is long.
func Parts(n int) int { return max(1, min(n/partLong, runtime.GOMAXPROCS(0))) }

// Do cuts 0 to n into parts and calls do for each, at the same time. What comes of it must not
// depend on how many parts there are.
func Do(n, parts int, do func(k, from, to int)) {
	if parts == 1 {
		do(0, 0, n)
		return
	}
	var all sync.WaitGroup
	for k := range parts {
		all.Go(func() { do(k, k*n/parts, (k+1)*n/parts) })
	}
	all.Wait()
}

// Joined returns what is left of parts of a slice, which is overwritten.
func Joined[T any](all []T, parts [][]T) []T {
	all = all[:0]
	for _, part := range parts {
		all = append(all, part...) // to where it is already, or before
	}
	return all
}
