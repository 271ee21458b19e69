package storyindex

import "github.com/zktorture/zktorture/linearizability"

// Outcomes counts the operations of a history by return and outcome, in equal slices of its time.
type Outcomes struct {
	Slice float64   // length of a slice, in stamps
	Begin []float64 // of each slice, in stamps since the first call
	OK    []int
	Fail  []int
	Lost  []int // of unknown outcome, by call: they do not return
}

// slicesMax bounds the slices of a plot's time. A short history has fewer, so that each has some operations.
const (
	slicesMax = 120
	slicesMin = 10
	perSlice  = 200 // operations
)

// newOutcomes counts operations. The history is not empty. Stamps may be any number, so their differences are
// unsigned.
func newOutcomes(h linearizability.History) Outcomes {
	first, last := h[0].Call, h[0].Call
	for _, o := range h {
		first, last = min(first, o.Call), max(last, moment(o))
	}
	since := func(t int64) uint64 { return uint64(t) - uint64(first) }
	n := min(max(len(h)/perSlice, slicesMin), slicesMax)
	width := since(last)/uint64(n) + 1
	c := Outcomes{
		Slice: float64(width),
		Begin: make([]float64, n), OK: make([]int, n), Fail: make([]int, n), Lost: make([]int, n),
	}
	for i := range c.Begin {
		c.Begin[i] = float64(i) * float64(width)
	}
	for _, o := range h {
		c.of(o.Outcome)[since(moment(o))/width]++
	}
	return c
}

// moment is the stamp at which an operation counts.
func moment(o linearizability.Operation) int64 {
	if o.Outcome == linearizability.Unknown || o.Return == linearizability.Forever {
		return o.Call
	}
	return max(o.Return, o.Call)
}

func (c *Outcomes) of(o linearizability.Outcome) []int {
	switch o {
	case linearizability.OK:
		return c.OK
	case linearizability.Fail:
		return c.Fail
	}
	return c.Lost
}
