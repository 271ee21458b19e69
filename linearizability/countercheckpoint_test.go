package linearizability

import (
	"slices"
	"testing"
	"time"
)

// A search that has gone far has few checkpoints, the first of which is the beginning, and many of late.
func TestCheckpointsAreThinnedOut(t *testing.T) {
	steps := Counter().steps(busyCounter(1, 200, 4, 0))
	s := newCountSearch(steps, time.Now().Add(time.Hour), eventsOf(steps))
	s.frontier.add(configuration{s.spec.Init(), make([]uint64, s.layout.words())})
	for k := range 100_000 {
		s.arrive(k)
	}
	if len(s.saved) > checkpointsMax || len(s.saved) < checkpointsMax/2 || s.saved[0].event != 0 {
		t.Errorf("%d checkpoints from event %d on", len(s.saved), s.saved[0].event)
	}
	if !slices.IsSortedFunc(s.saved, func(a, b checkpoint) int { return a.event - b.event }) {
		t.Error("they are not in order")
	}
	late := s.saved[len(s.saved)-checkpointsMax/2+1:]
	if late[0].event < 100_000-checkpointPeriod*checkpointsMax {
		t.Errorf("the last %d begin with event %d", len(late), late[0].event)
	}
}

// A search that has been everywhere with the greatest breadth gives up, from the beginning, and knows no way on.
func TestRetreatsEnd(t *testing.T) {
	steps := Counter().steps(busyCounter(1, 200, 4, 0))
	s := newCountSearch(steps, time.Now().Add(time.Hour), eventsOf(steps))
	s.frontier.add(configuration{s.spec.Init(), make([]uint64, s.layout.words())})
	went := 0
	for k := 0; went <= 2*len(retreats); went++ {
		for ; k < 5000; k++ {
			s.arrive(k)
		}
		if k = s.retreat(5000); k < 0 {
			break
		}
	}
	if went < 3 || went > len(retreats) || s.breadth != breadths[len(breadths)-1] {
		t.Errorf("it went back %d times, the last time with %+v", went, s.breadth)
	}
}
