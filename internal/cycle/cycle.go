// Package cycle finds what repeats in what a run did, as in a livelock.
package cycle

import (
	"fmt"
	"regexp"
)

// Cycle is a part of a list that repeats at once, again and again.
type Cycle struct {
	First  int // index of its first element
	Length int // of each time
	Times  int // at least five
}

// All is how many elements there are in all times together.
func (c Cycle) All() int { return c.Length * c.Times }

// Repeat says in words that steps repeat.
func Repeat(from, until, last any, times int) string {
	if from == until {
		return fmt.Sprintf("step %v repeats, × %d, up to step %v", from, times, last)
	}
	return fmt.Sprintf("steps %v to %v repeat, × %d, up to step %v", from, until, times, last)
}

const (
	least   = 5   // times; fewer can be read
	longest = 200 // length that is looked for
)

// Find finds what repeats, from the begin on: of all that begins at an element the one that goes on for longest.
func Find[T comparable](all []T) (found []Cycle) {
	for i := 0; i < len(all); i++ {
		if c := at(all, i); c.Times > 0 {
			found = append(found, c)
			i += c.All() - 1
		}
	}
	return found
}

func at[T comparable](all []T, from int) (best Cycle) {
	for length := 1; length <= longest; length++ {
		n := from
		for n+length < len(all) && all[n] == all[n+length] {
			n++
		}
		c := Cycle{from, length, 1 + (n-from)/length}
		if c.Times >= least && c.All() > best.All() {
			best = c
		}
	}
	return best
}

// sequence is the number of a sequential znode in its name, duration what has passed.
var (
	sequence = regexp.MustCompile(`-?\b\d{10}\b|-\d{10}\b`)
	duration = regexp.MustCompile(`\b(\d+(\.\d+)?(h|ms|µs|m|s))+\b`)
)

// Shape is a text without what differs between the times of a cycle: numbers of sequential znodes, and durations.
func Shape(text string) string {
	return duration.ReplaceAllString(sequence.ReplaceAllString(text, "#"), "t")
}
