package stories_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/zoo"
)

var update = flag.Bool("update", false, "write the stories that came out into testdata")

// sample are the known bugs whose stories are kept in testdata: a lost wake-up, a lost reply, lagging servers, readers
// and writers, a barrier, an election, an expired session, a bug that takes two users of a session, and a deposed leader.
var sample = []string{"W1", "L1", "DQ7", "LK10", "B13", "E7", "W7", "W16", "X5"}

// caught is a known bug's counterexample.
func caught(t *testing.T, id string) (zoo.KnownBug, *sim.Counterexample) {
	t.Helper()
	bugs, err := zoo.Find([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	a := bugs[0]
	catch, err := zoo.NewHunter(zoo.HuntConfig{Seed: 1, SkipFixed: true, Workers: 1}).Hunt(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if catch.Found == nil {
		t.Fatalf("%s got away: %s", id, catch.Problem)
	}
	c, err := catch.Counterexample()
	if err != nil {
		t.Fatal(err)
	}
	return a, c
}

func told(t *testing.T, a zoo.KnownBug, c *sim.Counterexample) *story.Story {
	t.Helper()
	s, err := story.Tell(t.Context(), a.Broken(), c)
	if err != nil {
		t.Fatalf("%s: %v", a.ID, err)
	}
	s.Commands = []story.Command{{Name: "replay", Line: "torture replay " + a.ID + ".json"}}
	return s
}

// The stories of some known bugs equal those in testdata, at any GOMAXPROCS.
func TestGolden(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, id := range sample {
		t.Run(id, func(t *testing.T) {
			a, c := caught(t, id)
			s := told(t, a, c)
			name := filepath.Join("testdata", id+".txt")
			if *update {
				if err := os.WriteFile(name, []byte(s.Text(story.TextOptions{})), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), s.Text(story.TextOptions{})); d != "" {
				t.Errorf("the story is another (-testdata, +now); go test ./zoo/stories -update writes it:\n%s", d)
			}
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			if d := cmp.Diff(s, told(t, a, c)); d != "" {
				t.Errorf("at GOMAXPROCS 1 the story is another:\n%s", d)
			}
		})
	}
}

// Every story says what broke, names the sessions and znodes involved and the pivotal step, is small, and
// contradicts neither itself nor what clients saw. The test takes every sixteenth known bug, a few with -short, and all with
// ZKTORTURE_THOROUGH=all, which takes minutes.
func TestEveryKnownBug(t *testing.T) {
	testkit.ManyWorlds(t)
	ids := sample
	all := testkit.Thorough()
	if all || !testing.Short() {
		ids = nil
		for i, a := range zoo.KnownBugs() {
			if all || i%16 == 1 {
				ids = append(ids, a.ID)
			}
		}
	}
	cores := make(chan struct{}, runtime.GOMAXPROCS(0))
	var stories sync.WaitGroup
	for _, id := range ids {
		cores <- struct{}{}
		stories.Go(func() {
			defer func() { <-cores }()
			t.Run(id, func(t *testing.T) {
				a, c := caught(t, id)
				s := told(t, a, c)
				sound(t, s)
				complete(t, a, s)
				completePage(t, s)
			})
		})
	}
	stories.Wait()
}

// storyMax bounds the JSON of a small story, in bytes for each event.
const storyMax = 600

func complete(t *testing.T, a zoo.KnownBug, s *story.Story) {
	t.Helper()
	text := s.Text(story.TextOptions{})
	words := strings.Join(strings.Fields(text), " ") + " "
	if s.Property != a.Property || !strings.Contains(words, "("+a.Property+")") {
		t.Errorf("the story is about %s, or does not say so:\n%s", s.Property, text)
	}
	if !slices.ContainsFunc(s.Operations,
		func(o story.Operation) bool { return o.Cited }) && a.Property != "goroutine-leak" {
		t.Errorf("no operation is involved:\n%s", text)
	}
	asked := 0
	for _, z := range s.Znodes {
		if z.Cited {
			asked++
		}
		if z.Cited != strings.Contains(words, " = "+z.Path+" ") ||
			strings.Contains(s.Message, z.Path+" ") && !z.Cited {
			t.Errorf("%s is involved: %v, in the text and in the sentence otherwise:\n%s", z.Path, z.Cited, text)
		}
	}
	// A client that never reaches a server asks for none.
	if asks := func(e story.Event) bool { return e.Path != "" }; asked == 0 && slices.ContainsFunc(s.Events, asks) {
		t.Errorf("no znode is involved:\n%s", text)
	}
	for _, session := range s.Sessions {
		if !strings.Contains(words, session.Name+" = "+session.ID) {
			t.Errorf("session %s is not named:\n%s", session.ID, text)
		}
		if session.Cited != strings.Contains(s.Message, session.ID) {
			t.Errorf("session %s is involved: %v, in the sentence otherwise:\n%s", session.ID, session.Cited, text)
		}
	}
	if p := s.Pivot; p == nil || len(s.Curve) == 0 || !strings.Contains(text, "pivotal step\n") {
		t.Errorf("the pivotal step is not named:\n%s", text)
	}
	if s.Cause == nil || s.Help != nil && s.Cause.Text == "" {
		t.Errorf("it does not say why:\n%s", text)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	roundTrip(t, s)
}

func roundTrip(t *testing.T, s *story.Story) {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if size := len(data); size > 2000+storyMax*len(s.Events)+1000*(len(s.Znodes)+len(s.Sources)) {
		t.Errorf("%d bytes for %d events", size, len(s.Events))
	}
	var again story.Story
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(*s, again); d != "" {
		t.Errorf("the story does not come back from JSON:\n%s", d)
	}
	if strings.Contains(string(data), ":null") && s.Pivot != nil {
		t.Errorf("a list is null in JSON:\n%s", data)
	}
}

// What a client went by and what it did are shown with their lines of code, each from the method that was called to the request.
func TestCause(t *testing.T) {
	a, c := caught(t, "W1")
	s := told(t, a, c)
	text := s.Text(story.TextOptions{Brief: true})
	for _, want := range []string{"\n  read here: ", "(*Locker).Lock", "\n  decided here: ", "ExistsW(", "^^^", strings.TrimPrefix(s.Decisive()[0], "github.com/zktorture/zktorture/")} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}
