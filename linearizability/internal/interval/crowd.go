package interval

import (
	"cmp"
	"slices"
	"sort"
)

// Crowd is presences, and how much all of them take at each instant.
type Crowd struct {
	Starts, ends []Presence // by From, and by Until
	taken, given []int64    // what the first so many of Starts take, and of ends gave back
	least        *Least     // of what they take at the ends
}

// NewCrowd returns the crowd of the given presences, which it sorts.
func NewCrowd(all []Presence) *Crowd {
	c := &Crowd{Starts: all, ends: slices.Clone(all)}
	SortBy(c.Starts, func(p Presence) int64 { return p.From })
	SortBy(c.ends, func(p Presence) int64 { return p.Until })
	return c
}

// Over returns what takes more than the capacity at one instant, the fewest of those there then; or nothing.
func (c *Crowd) Over(capacity int64) []int32 {
	free, ended := capacity, 0
	for _, s := range c.Starts {
		for ; c.ends[ended].Until <= s.From; ended++ {
			free += c.ends[ended].Weight
		}
		if free -= s.Weight; free < 0 {
			there := func(p *Presence) bool { return p.From <= s.From && s.From < p.Until }
			return fewest(c.Those(there), capacity)
		}
	}
	return nil
}

// Those returns the presences of which something is true.
func (c *Crowd) Those(is func(*Presence) bool) (those []Presence) {
	for i := range c.Starts {
		if is(&c.Starts[i]) {
			those = append(those, c.Starts[i])
		}
	}
	return those
}

// fewest returns the fewest of presences that take more than the capacity.
func fewest(all []Presence, capacity int64) (of []int32) {
	slices.SortStableFunc(all, func(a, b Presence) int { return cmp.Compare(b.Weight, a.Weight) })
	for _, p := range all {
		of = append(of, p.Of)
		if capacity -= p.Weight; capacity < 0 {
			break
		}
	}
	return of
}

// Sum prepares At and Least. No instant may be over the largest number.
func (c *Crowd) Sum() {
	c.taken, c.given = make([]int64, len(c.Starts)+1), make([]int64, len(c.ends)+1)
	for i := range c.Starts {
		c.taken[i+1] = c.taken[i] + c.Starts[i].Weight
		c.given[i+1] = c.given[i] + c.ends[i].Weight
	}
	c.least = NewLeast(len(c.ends), func(i int) int64 { return c.At(c.ends[i].Until) })
}

// At returns how much is taken at an instant. It wraps around on the way to a sum that does not.
func (c *Crowd) At(t int64) int64 { return c.taken[c.FirstFrom(t)] - c.given[c.endedBy(t)] }

// FirstFrom returns the index of the first of Starts that starts at t or later.
func (c *Crowd) FirstFrom(t int64) int {
	return sort.Search(len(c.Starts), func(i int) bool { return c.Starts[i].From >= t })
}

// endedBy is how many have ended at an instant.
func (c *Crowd) endedBy(t int64) int {
	return sort.Search(len(c.ends), func(i int) bool { return c.ends[i].Until > t })
}

// Least returns the least that is taken at an instant between two, or at these. It falls at the ends of presences only.
func (c *Crowd) Least(from, to int64) int64 {
	first := sort.Search(len(c.ends), func(i int) bool { return c.ends[i].Until >= from })
	return min(c.At(from), c.least.Of(first, c.endedBy(to)))
}
