package linearizability

import "testing"

// TestStreamForgetsHolds holds that what a stream of holds remembers does not grow with the length of the
// history, and that it finds a violation all the same.
func TestStreamForgetsHolds(t *testing.T) {
	for _, c := range []struct {
		model    Model
		capacity int
	}{{Lock(), 1}, {Semaphore(5), 5}} {
		s := streamed(t, c.model, longHolds(c.model, c.capacity, 20_000, 0.01), 200)
		if s.verdict != nil || len(s.added) > 1000 {
			t.Errorf("%s: after %d operations %d are remembered; the verdict is %v", c.model.Name, s.total, len(s.added), s.verdict)
		}
		if v := s.End(); v.Outcome != Ok {
			t.Errorf("%s: %v", c.model.Name, v)
		}
	}
	if v := streamed(t, Lock(), plantOverlap(longLock(20_000, 0.01)), 200).End(); v.Outcome != Violation || len(v.Operations) > 6 {
		t.Error(v)
	}
}
