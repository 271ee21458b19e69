package linearizability

import (
	"math"
	"testing"
)

// TestStreamForgetsHolds holds that what a stream of holds remembers does not grow with the length of the
// history, and that it finds a violation all the same.
func TestStreamForgetsHolds(t *testing.T) {
	for _, c := range []struct {
		model    Model
		capacity int
	}{{Lock(), 1}, {Semaphore(5), 5}} {
		s := streamed(t, c.model, longHolds(c.model, c.capacity, 20_000, 0.01), 200)
		if s.verdict != nil || len(s.added) > 1000 {
			t.Errorf("%s: after %d operations %d are remembered; the verdict is %v", c.model.Name, s.total,
				len(s.added), s.verdict)
		}
		if v := s.End(); v.Outcome != Ok {
			t.Errorf("%s: %v", c.model.Name, v)
		}
	}
	if v := streamed(t, Lock(), plantOverlap(longLock(20_000, 0.01)), 200).End(); v.Outcome != Violation ||
		len(v.Operations) > 6 {
		t.Error(v)
	}
}

// TestStreamRemembersHolds are histories that are illegal by what would be easy to forget.
func TestStreamRemembersHolds(t *testing.T) {
	for name, c := range map[string]struct {
		model   Model
		history string
	}{
		"the greatest token": {Lock(), `
			client 0 acquire → 9 [1..2]
			client 0 release [3..4]
			client 0 acquire [5..6]
			client 0 release [7..8]
			client 2 acquire [10..11]
			client 2 release [12..13]
			client 1 acquire → 5 [20..21]`},
		"holds that are over, while a grant is pending that must come before them": {Semaphore(2), `
			client 0 acquire → 2 [6..7]
			client 3 acquire → 3 [6..7]
			client 0 release [9..10]
			client 3 release [9..10]
			client 0 acquire → 4 [12..13]
			client 0 release [14..15]
			client 3 acquire → 5 [16..17]
			client 3 release [18..19]
			client 1 acquire → 1 [5..50]
			client 4 try → false [49..52]
			client 1 release [60..61]
			client 4 try → false [70..71]`},
	} {
		h := parseHistory(t, c.history)
		s, err := NewStream(c.model)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := 0, asFed(h); i < len(h); i++ {
			if err := s.Add(h[i]); err != nil {
				t.Fatal(err)
			}
			s.due = 0 // forget as soon as possible
			s.Advance(firstCall(h[i+1:]))
		}
		if v := s.End(); v.Outcome != Violation || v.Property != "fencing" {
			t.Errorf("%s: the stream says %v", name, v)
		}
	}
}

func firstCall(h History) int64 {
	first := int64(math.MinInt64)
	for i := range h {
		if i == 0 || h[i].Call < first {
			first = h[i].Call
		}
	}
	return first
}
