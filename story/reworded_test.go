package story_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

// The story of a run with all words replaced is the same, except for quoted words.
func TestStoryReadsNoWords(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, b := range sample {
		t.Run(b.kind+" "+b.property, func(t *testing.T) {
			w, c := b.caught(t)
			r, err := sim.Replay(w, c)
			if err != nil {
				t.Fatal(err)
			}
			want, other := newStory(t, w, c, r), newStory(t, w, c, inOtherWords(r))
			rewordQuotes(w, want)
			if d := cmp.Diff(want, other); d != "" {
				t.Errorf("the story of the reworded run is another (-quotes reworded, +run reworded):\n%s", d)
			}
		})
	}
}

func newStory(t *testing.T, w sim.Workload, c *sim.Counterexample, r *sim.Replayed) *story.Story {
	t.Helper()
	s, err := story.New(c, w, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rewordQuotes replaces the words that a story quotes.
func rewordQuotes(w sim.Workload, s *story.Story) {
	s.Message = otherWords(s.Message)
	s.Title = story.Headline(w, s.Property, s.Message)
	for i := range s.Events {
		e := &s.Events[i]
		if e.Kind == "shared" {
			e.What = otherWords(e.What)
		}
		e.Result, e.Fate = otherWords(e.Result), otherWords(e.Fate)
		if several(e.What) || several(e.Subject) {
			e.Path = otherWords(e.Path)
		}
	}
	s.Cause = story.CauseOf(s)
}

// otherWords returns other words for a text, equal ones for equal texts. The empty text stays.
func otherWords(text string) string {
	if text == "" {
		return ""
	}
	h := fnv.New32a()
	h.Write([]byte(text))
	return fmt.Sprintf("other words, no. %d", h.Sum32())
}

// inOtherWords is the same run with all words replaced. A program that handles it as it does the original depends on facts
// only, and on no text for people.
func inOtherWords(r *sim.Replayed) *sim.Replayed {
	other := *r
	other.Trace = slices.Clone(r.Trace)
	for i := range other.Trace {
		s := &other.Trace[i]
		s.Event, s.Result, s.Fate = otherWords(s.Event), otherWords(s.Result), otherWords(s.Fate)
		if several(s.Request) {
			s.Path = otherWords(s.Path)
		}
	}
	if r.Violation != nil {
		v := *r.Violation
		v.Message = otherWords(v.Message)
		other.Violation = &v
	}
	return &other
}

// several reports whether a request is about several znodes. Then the path of its line is a list in words.
func several(request string) bool { return request == "multi" || request == "setWatches" }
