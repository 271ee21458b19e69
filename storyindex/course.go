package storyindex

import "github.com/zktorture/zktorture/linearizability"

// Course is how many operations returned when, in equal slices of the time of a history.
type Course struct {
	File  string
	Count int       // of operations
	Slice float64   // length of a slice, in seconds
	Begin []float64 // of each slice, in seconds since the first call
	OK    []int
	Fail  []int
	Lost  []int // of unknown outcome, by call: they have no return
}

// slicesMax is into how many parts the time of a history is divided.
const slicesMax = 120

// newCourse counts. Stamps are nanoseconds, as torture run records them.
func newCourse(file string, h linearizability.History) Course {
	first, last := h[0].Call, h[0].Call
	for _, o := range h {
		first, last = min(first, o.Call), max(last, moment(o))
	}
	width := max((last-first)/slicesMax+1, 1)
	c := Course{
		File: file, Count: len(h), Slice: float64(width) / 1e9,
		Begin: make([]float64, slicesMax), OK: make([]int, slicesMax), Fail: make([]int, slicesMax), Lost: make([]int, slicesMax),
	}
	for i := range c.Begin {
		c.Begin[i] = float64(int64(i)*width) / 1e9
	}
	for _, o := range h {
		c.of(o.Outcome)[(moment(o)-first)/width]++
	}
	return c
}

// moment is when an operation counts.
func moment(o linearizability.Operation) int64 {
	if o.Outcome == linearizability.Unknown || o.Return == linearizability.Forever {
		return o.Call
	}
	return max(o.Return, o.Call)
}

func (c *Course) of(o linearizability.Outcome) []int {
	switch o {
	case linearizability.OK:
		return c.OK
	case linearizability.Fail:
		return c.Fail
	}
	return c.Lost
}
