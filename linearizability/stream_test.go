package linearizability

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// streamed feeds a history to a stream in order of return, of unknown outcomes in order of call, and
// advances the stream as far as it may after each. It checks every so many operations.
func streamed(t testing.TB, m Model, h History, every int) *Stream {
	t.Helper()
	s, err := NewStream(m)
	if err != nil {
		t.Fatal(err)
	}
	s.due, s.every = every, every
	h = asFed(h)
	first := make([]int64, len(h)+1) // the first call of h[i:]
	first[len(h)] = Forever
	for i := len(h) - 1; i >= 0; i-- {
		first[i] = min(first[i+1], h[i].Call)
	}
	for i := range h {
		if err := s.Add(h[i]); err != nil {
			t.Fatal(err)
		}
		if first[i+1] < Forever {
			s.Advance(first[i+1])
		}
	}
	return s
}

// asFed returns the operations in the order in which a stream gets them. A process's operations that are
// called at one instant happen in the order of the history, so that is to be judged, too.
func asFed(h History) History {
	h = slices.Clone(h)
	known := func(op *Operation) int64 {
		if op.Outcome == Unknown {
			return op.Call
		}
		return op.Return
	}
	slices.SortStableFunc(h, func(a, b Operation) int { return int(known(&a) - known(&b)) })
	return h
}

// withoutStream are the models that nobody knows how to judge piece by piece.
var withoutStream = []string{"rwlock", "counter", "barrier", "priorityqueue"}

// Nothing else is left out by TestStreamAgrees.
func TestWithoutStream(t *testing.T) {
	for _, c := range contenders {
		if _, err := NewStream(c.model); (err != nil) != slices.Contains(withoutStream, c.model.Name) {
			t.Errorf("%s: %v", c.model.Name, err)
		}
	}
}

// TestStreamAgrees compares streams that forget as soon as they can with the judgement of the whole
// history.
func TestStreamAgrees(t *testing.T) {
	each := max(1, effort(t)/4/max(1, len(contenders)))
	for _, c := range contenders {
		if slices.Contains(withoutStream, c.model.Name) {
			continue
		}
		t.Run(c.model.Name, func(t *testing.T) {
			seen, c := make(map[string]int), c
			c.ops = 60
			for i := range each {
				h := c.draw(rand.New(rand.NewPCG(agreeSeed, uint64(i))))
				if h = asFed(h); c.model.Validate(h) != nil {
					continue
				}
				whole := Status(c.model.monitor(c.model.steps(h)).Outcome)
				seen[whole.String()]++
				v := streamed(t, c.model, h, 1).End()
				if v.Outcome == Undetermined {
					seen["undetermined only by the stream"]++
				} else if whole != Undetermined && v.Outcome != whole {
					small := minimised(h, func(h History) bool {
						whole := Status(c.model.monitor(c.model.steps(h)).Outcome)
						v := streamed(t, c.model, h, 1).End()
						return whole != Undetermined && v.Outcome != Undetermined && v.Outcome != whole
					})
					t.Fatalf("history %d of seed %d: the stream says %v, but %v is right\nA smallest one:\n%s", i,
						agreeSeed, v, whole, lines(small))
				}
			}
			t.Log(seen)
			if seen["ok"] == 0 || seen["violation"] == 0 || seen["undetermined only by the stream"]*20 > each {
				t.Error("that compares too little")
			}
		})
	}
}

// TestStreamForgets holds that what a stream remembers does not grow with the length of the history.
func TestStreamForgets(t *testing.T) {
	for _, peeks := range []float64{0, 0.1} {
		h := busyQueue(1, 20_000, 8, 0, peeks)
		s := streamed(t, Queue(), h, 200)
		if s.verdict != nil || len(s.added) > 1000 {
			t.Errorf("after %d operations %d are remembered", len(h), len(s.added))
		}
		if v := s.End(); v.Outcome != Ok {
			t.Error(v)
		}
		if v := streamed(t, Queue(), overtake(h), 200).End(); v.Outcome != Violation {
			t.Error(v)
		}
	}
}

func TestStreamRefuses(t *testing.T) {
	if _, err := NewStream(Barrier()); err == nil {
		t.Error("a barrier can be judged as a stream")
	}
	for i, ops := range []History{
		{{Op: "pop", Call: 1, Return: 2}},
		{{Op: "poll", Call: 1, Return: 2, Object: "a"}, {Op: "poll", Call: 1, Return: 2, Object: "b"}},
		{{Op: "poll", Call: -1, Return: 2}},
	} {
		s, err := NewStream(Queue())
		if err != nil {
			t.Fatal(err)
		}
		s.Advance(0)
		for _, op := range ops {
			err = s.Add(op)
		}
		if v := s.End(); err == nil || v.Outcome != Undetermined || v.Checker != "assumptions" {
			t.Errorf("%d: the error is %v, and the verdict %v", i, err, v)
		}
	}
}

// TestStreamGivesUp holds that memory is bounded even if a stream is never advanced.
func TestStreamGivesUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	s, err := NewStream(Queue())
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(rememberMax + 2) {
		if err := s.Add(Operation{Op: "offer", Arg: Int(i), Call: i, Return: i}); err != nil {
			t.Fatal(err)
		}
	}
	if v := s.End(); v.Outcome != Undetermined || len(s.added) > 0 {
		t.Error(fmt.Sprint(v, len(s.added)))
	}
}
