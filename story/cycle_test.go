package story_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
)

// spinning is a lock that looks again and again for whether it is alone.
type spinning struct {
	workload.Locker
	conn recipes.Conn
	path string
}

func (s spinning) Lock(ctx context.Context) error {
	for {
		names, _, err := s.conn.Children(s.path)
		if err != nil || len(names) == 0 {
			return cmp.Or(err, s.Locker.Lock(ctx))
		}
	}
}

// A livelock is told as what leads to it, once what repeats, and how often.
func TestLivelockIsToldOnce(t *testing.T) {
	testkit.ManyWorlds(t)
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return spinning{broken.NewLock(c, path), c, path} },
		workload.Existing())
	c := caught(t, w, sim.Config{Seed: 1, Until: "progress"})
	r, err := sim.Replay(w, c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := story.New(c, w, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cycles) == 0 || len(s.Events) < 400 {
		t.Fatalf("%d events, cycles %+v: want a livelock", len(s.Events), s.Cycles)
	}
	text := s.Text(story.TextOptions{})
	repeats := fmt.Sprintf("× %d", s.Cycles[0].Times)
	if lines := strings.Count(text, "\n"); lines > 60 || !strings.Contains(text, repeats) {
		t.Errorf("%d lines, or not with %q:\n%s", lines, repeats, text)
	}
	var page strings.Builder
	if err := s.HTML(&page); err != nil || !strings.Contains(page.String(), repeats) {
		t.Errorf("the page does not say %q: %v", repeats, err)
	}
	data, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(data), `"cycles":[{"event":`) {
		t.Errorf("the cycle is not in JSON: %v", err)
	}
}

// Of events that are drawn at random, with a part that repeats, that part is told once, and the rest as it is.
func TestCyclesAreFound(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		prefix, cycle, suffix := drawEvents(rng, 20), drawEvents(rng, 9), drawEvents(rng, 20)
		cycle = append(cycle, story.Event{What: "once a cycle"})
		times := rng.IntN(12)
		events := slices.Concat(prefix, slices.Repeat(cycle, times), suffix)
		for i := range events { // what may differ
			events[i].Step, events[i].Time = int64(i), int64(i*i)
			events[i].Path = fmt.Sprintf("/t/lock/x-%010d", i)
			events[i].Result = fmt.Sprintf("jumps %dms to the next timer", i+1)
		}
		found := story.Cycles(events)
		whole := slices.ContainsFunc(found, func(c story.Cycle) bool {
			return c.Length == len(cycle) && c.Times >= times-1 && c.Times <= times+1
		})
		if whole != (times >= 6) && times != 5 && times != 4 {
			t.Fatalf("seed %d: %d events %d times after %d: found %+v", seed, len(cycle), times, len(prefix), found)
		}
		for _, c := range found {
			if c.Times < 5 {
				t.Fatalf("seed %d: %+v", seed, c)
			}
			repeat(t, events, c)
		}
	}
}

// repeat fails unless a cycle repeats.
func repeat(t *testing.T, events []story.Event, c story.Cycle) {
	t.Helper()
	for i := c.Event + c.Length; i < c.Event+c.Length*c.Times; i++ {
		if events[i].What != events[i-c.Length].What {
			t.Fatalf("%+v: event %d is %s, a time before it was %s", c, i, events[i].What, events[i-c.Length].What)
		}
	}
}

func drawEvents(rng *rand.Rand, most int) (events []story.Event) {
	for range rng.IntN(most) {
		events = append(events, story.Event{What: fmt.Sprint("event ", rng.IntN(1000))})
	}
	return events
}
