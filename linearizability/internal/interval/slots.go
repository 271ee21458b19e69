package interval

import "container/heap"

// Slots gives slots to needs, the one that ends first going first. If needs come in the order in
// which they end, and in which they begin, that is the best that can be done (Jackson, 1955): any
// other slot that could have been given can do for a later need what the one given can.
type Slots struct {
	coming []Presence // not yet admitted, by From
	ready  deadlines
}

// NewSlots returns the given slots, which it sorts.
func NewSlots(all []Presence) *Slots {
	SortBy(all, func(p Presence) int64 { return p.From })
	return &Slots{coming: all}
}

// Admit admits the slots that begin until t.
func (s *Slots) Admit(t int64) {
	for len(s.coming) > 0 && s.coming[0].From <= t {
		heap.Push(&s.ready, s.coming[0])
		s.coming = s.coming[1:]
	}
}

// Expire leaves out the slots that end before t.
func (s *Slots) Expire(t int64) {
	for len(s.ready) > 0 && s.ready[0].Until < t {
		heap.Pop(&s.ready)
	}
}

// Ready is how many slots are admitted and not taken.
func (s *Slots) Ready() int { return len(s.ready) }

// Take takes, of the slots that are ready, the one that ends first. There must be one.
func (s *Slots) Take() Presence { return heap.Pop(&s.ready).(Presence) }

// Rest returns the slots that nobody took.
func (s *Slots) Rest() []Presence { return append(s.ready, s.coming...) }

type deadlines []Presence

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, k int) bool { return d[i].Until < d[k].Until }
func (d deadlines) Swap(i, k int)      { d[i], d[k] = d[k], d[i] }
func (d *deadlines) Push(x any)        { *d = append(*d, x.(Presence)) }

func (d *deadlines) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	*d = (*d)[:last]
	return x
}

// Supply is slots that last for ever, so that each can serve all deadlines after its beginning: of the sets of slots
// that can serve them each contains the one before, and Hall's theorem ("On Representatives of Subsets", 1935) says
// that all deadlines can be met if for every i the i-th has i slots that began by then.
type Supply struct {
	Slots         []Mark // by instant
	begun, demand int
}

// Meet reports whether one more deadline, which is not before those before it, can be met with all of those.
func (s *Supply) Meet(deadline int64) bool {
	for s.begun < len(s.Slots) && s.Slots[s.begun].At <= deadline {
		s.begun++
	}
	s.demand++
	return s.begun >= s.demand
}
