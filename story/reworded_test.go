package story_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/reworded"
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
			want, other := newStory(t, w, c, r), newStory(t, w, c, reworded.Replay(r))
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
	s.Message = reworded.Text(s.Message)
	s.Title = story.Headline(w, s.Property, s.Message)
	for i := range s.Events {
		e := &s.Events[i]
		if e.Kind == "shared" {
			e.What = reworded.Text(e.What)
		}
		e.Result, e.Fate = reworded.Text(e.Result), reworded.Text(e.Fate)
		if reworded.Several(e.What) || reworded.Several(e.Subject) {
			e.Path = reworded.Text(e.Path)
		}
	}
	s.Cause = story.CauseOf(s)
}
