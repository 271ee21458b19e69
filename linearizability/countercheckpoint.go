package linearizability

import (
	"math"
	"slices"
)

// A search for a counter that forgets goes wrong somewhere: all that it kept leads nowhere, a little later. Then it
// goes back, a little, keeps more until it is past that place, and goes on with little. If it was not enough it goes
// back further, with more, at last to the beginning.

// checkpoint is where a search was before an event.
type checkpoint struct {
	event    int
	frontier []configuration
	open     []int32
	called   []uint64
	lossy    string
	least    uint64 // what of unknown outcome happened in the configuration with the least of that
	calls    uint64 // how much was called
}

const (
	checkpointPeriod = 32 // events between two checkpoints …
	checkpointsMax   = 64 // … of which so many are kept; there are fewer of what is longer ago
	retreatPast      = 64 // how many events past the place it keeps more
	lately           = 64 // see bound
)

// retreat is how far a search goes back, in events, and what of breadths it keeps then.
type retreat struct{ distance, level int }

// retreats are tried one after the other. What is far back is looked at with little first: it is much.
var retreats = []retreat{
	{64, 1}, {256, 2}, {1 << 10, 1}, {1 << 10, 2}, {1 << 12, 1}, {1 << 12, 2},
	{math.MaxInt, 1}, {math.MaxInt, 2}, {math.MaxInt, 3},
}

// arrive is before event k.
func (s *countSearch) arrive(k int) {
	if k > s.died+retreatPast {
		s.breadth = breadths[0]
	}
	if k%checkpointPeriod != 0 {
		return
	}
	if len(s.saved) >= checkpointsMax {
		old := s.saved[1 : checkpointsMax/2]
		for i := range len(old) / 2 {
			old[i] = old[2*i]
		}
		s.saved = slices.Delete(s.saved, 1+len(old)/2, checkpointsMax/2)
	}
	c := checkpoint{event: k, frontier: slices.Clone(s.frontier.all), open: slices.Clone(s.open),
		called: slices.Clone(s.called), lossy: s.lossy}
	c.least, c.calls = math.MaxUint64, total(s.called)
	for i := range c.frontier {
		c.least = min(c.least, s.cost(&c.frontier[i]))
	}
	s.saved = append(s.saved, c)
}

func total(counts []uint64) (sum uint64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// bound is how many operations of unknown outcome may have taken effect by now: a few more than lately. A search that
// took a wrong turn often goes on by spending operations that it needs later.
func (s *countSearch) bound() uint64 {
	if s.breadth.waste == math.MaxUint64 {
		return math.MaxUint64
	}
	at := max(len(s.saved)-1-lately/checkpointPeriod, 0)
	return s.saved[at].least + s.breadth.waste + total(s.called) - s.saved[at].calls
}

// retreat goes back, as nothing is left after event k. It returns the event to go on with, or -1 if none is left to
// try.
func (s *countSearch) retreat(k int) int {
	if k > s.died+retreatPast {
		s.attempt = 0
		for level := range s.reached {
			s.reached[level] = math.MaxInt
		}
	}
	s.died = max(s.died, k)
	for ; s.attempt < len(retreats); s.attempt++ {
		r := retreats[s.attempt]
		at := len(s.saved) - 1
		for at > 0 && s.saved[at].event > k-r.distance {
			at--
		}
		if event := s.saved[at].event; event < s.reached[r.level] {
			s.reached[r.level], s.breadth = event, breadths[r.level]
			back := s.saved[at]
			s.saved = s.saved[:at] // it will be saved again
			s.restore(&back)
			return event
		}
	}
	return -1
}

func (s *countSearch) restore(c *checkpoint) {
	s.frontier.clear()
	for _, one := range c.frontier {
		s.frontier.add(one)
	}
	s.open, s.called, s.lossy = slices.Clone(c.open), slices.Clone(c.called), c.lossy
	clear(s.from)
	for _, i := range s.open {
		s.enter(i)
	}
}
