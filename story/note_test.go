package story_test

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/story"
)

// A story whose run could differ says so, as text and as a page; others do not.
func TestStoryThatCouldDifferSaysSo(t *testing.T) {
	testkit.ManyWorlds(t)
	w, sure := lostWakeup.caught(t)
	differs, wire, exact, large := *sure, *sure, *sure, *sure
	large.Unfinished = "the time was over"
	differs.Divergence = &replay.Divergence{Step: 3, One: "this way", Other: "that way"}
	wire.Wire, exact.Wire, exact.Exact = true, true, true
	replayed, err := sim.Replay(w, sure)
	if err != nil {
		t.Fatal(err)
	}
	for says, c := range map[string]*sim.Counterexample{
		"equal choices gave different runs": &differs, "a replay may take several tries": &wire, "": sure, " ": &exact,
		"it may not be minimal: the time was over": &large,
	} {
		s, err := story.New(c, w, replayed)
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		if err := s.HTML(&page); err != nil {
			t.Fatal(err)
		}
		for _, shown := range []string{s.Text(story.TextOptions{}), page.String()} {
			words := strings.Join(strings.Fields(shown), " ")
			noted, want := strings.Contains(words, "equal choices") || strings.Contains(words, "several tries") || strings.Contains(words, "may not be minimal"), strings.TrimSpace(says)
			if noted != (want != "") || !strings.Contains(words, want) {
				t.Errorf("wanted %q:\n%.600s", says, words)
			}
		}
	}
}
