package story_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
)

// openLock is a lock that waits for nothing: it lets everybody in.
type openLock struct {
	conn recipes.Conn
	path string
}

func newOpen(c recipes.Conn, path string) workload.Locker { return openLock{c, path} }

func (l openLock) Lock(context.Context) error { return l.enter() }

func (l openLock) enter() error {
	_, err := l.conn.Create(l.path+"-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll)) // the request
	return err
}

func (l openLock) Unlock(context.Context) error { return nil }

// A story names the line of the recipe that sent a request, and its callers, in process and over the wire.
func TestCodeOfRequests(t *testing.T) {
	want, caller := lineOf(t, "// the request"), lineOf(t, "{ return l.enter() }")
	lock := workload.Lock(newOpen)
	for name, w := range map[string]*workload.Workload{"in process": lock, "over the wire": lock.OverWire()} {
		cfg := sim.Config{Episodes: 50, Seed: 1, NoFaultsAtAll: true, Until: "exclusion"}
		result, err := sim.Run(t.Context(), w, cfg)
		if err != nil || len(result.Violations) == 0 {
			t.Fatalf("%s: %v, %+v", name, err, result)
		}
		c, err := cfg.Counterexample(result, result.Violations[0])
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.Replay(w, c)
		if err != nil {
			t.Fatal(err)
		}
		requests := 0
		for _, e := range newStory(t, w, c, r).Events {
			if e.What != "create" {
				continue
			}
			if requests++; e.Code != want || e.Callers != caller {
				t.Errorf("%s: the request was sent at %q, called from %q; want %s and %s", name, e.Code, e.Callers, want, caller)
			}
		}
		if requests == 0 {
			t.Errorf("%s: no request was sent", name)
		}
	}
}

// The request that decides is told where it was sent, by the import path of the code.
func TestDecisive(t *testing.T) {
	request := func(step int64, user int, code string) story.Event {
		return story.Event{Step: step, Kind: "exchange", User: user, What: "create", Code: code}
	}
	of := func(kind story.Kind, step int64, client, user int) story.Event {
		return story.Event{Step: step, Kind: kind, Client: client, User: user, Operation: -1}
	}
	s := &story.Story{
		Clients: []story.Client{{Name: "c1", Users: 2}}, Operations: []story.Operation{{Cited: true}},
		Events: []story.Event{
			of("call", 0, 0, 0), request(1, 1, "a/u2.go:2"), request(2, 0, "a/u1.go:1"), of("time", 3, -1, -1),
			of("return", 4, 0, 1), of("call", 4, 0, 1), of("fault", 5, 0, -1),
			{Step: 6, Kind: "request", User: 1, Operation: -1, Code: "example.com/lib/u2.go:3", Callers: "a/u2.go:4, main.go:5"},
		},
	}
	mine := world.SourceModule() + "/"
	u1, u2 := story.Lines{mine + "a/u1.go:1"}, story.Lines{mine + "a/u2.go:2"}
	next := story.Lines{"example.com/lib/u2.go:3", mine + "a/u2.go:4", mine + "main.go:5"}
	for event, want := range map[int]story.Lines{1: u2, 2: u1, 3: nil, 7: next} {
		if s.Cause = (&story.Cause{Event: event}); !slices.Equal(s.Decisive(), want) {
			t.Errorf("event %d is at %v, not at %v", event, s.Decisive(), want)
		}
	}
	if world.SourceModule() != "github.com/zktorture/zktorture" {
		t.Errorf("this module is %q", world.SourceModule())
	}
}

// lineOf is the first line of this file that ends with a text.
func lineOf(t *testing.T, end string) string { return lineIn(t, "code_test.go", end) }

func lineIn(t *testing.T, name, end string) string {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(source), "\n") {
		if strings.HasSuffix(line, end) {
			return world.Place{File: "story/" + name, Line: i + 1}.String()
		}
	}
	t.Fatalf("no line ends with %q", end)
	return ""
}

// A violation has a cause: an outdated decision, a lost reply. The pivotal step, if there is one, is within it, and what helps is about it.
func TestCause(t *testing.T) {
	for b, want := range map[bug]string{
		lostWakeup:                         ", and that was gone since step ",
		{"queue", "duplicate", world.Loss}: " was carried out, and its reply was lost: ",
	} {
		s := told(t, b)
		if c := s.Cause; c == nil || !strings.Contains(c.Text, want) || s.Pivot.Step > 0 && (s.Pivot.Step < c.From || s.Pivot.Step > c.To) {
			t.Errorf("%v: the cause is %+v, want %q; the pivot is %+v", b, c, want, s.Pivot)
		}
		text := s.Text(story.TextOptions{Brief: true})
		for _, want := range []string{"\nwhy: ", "\nhelp: ", s.Help.Link(), "\n┌ ", "\n└ "} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: it does not say %q:\n%s", b, want, text)
			}
		}
	}
}

func told(t *testing.T, b bug) *story.Story {
	t.Helper()
	w, c := b.caught(t)
	s, err := story.Tell(t.Context(), w, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A story on paper that lacks what it refers to is refused, whichever reference it is; what JSON wrote is read.
func TestRead(t *testing.T) {
	s := told(t, lostWakeup)
	for name, spoil := range map[string]func(*story.Story){
		"":          func(*story.Story) {},
		"client":    func(s *story.Story) { s.Events[3].Client = 7 },
		"operation": func(s *story.Story) { s.Waits[0].Operation = -1 },
		"session":   func(s *story.Story) { s.Events[0].Session = 99 },
		"from":      func(s *story.Story) { s.Events[3].From = len(s.Events) },
		"owner":     func(s *story.Story) { s.Znodes[len(s.Znodes)-1].Lives[0].Owner = 5 },
		"event":     func(s *story.Story) { s.Cause.Event = 99 },
		"marked":    func(s *story.Story) { s.Sources = []story.Source{{Marked: 1, Lines: []string{""}}} },
		"cycle":     func(s *story.Story) { s.Cycles = []story.Cycle{{Event: 2, Length: 9, Times: 1 << 30}} },
		"curve":     func(s *story.Story) { s.Curve = nil },
	} {
		spoilt := again(t, s)
		spoil(spoilt)
		_, err := story.Read(strings.NewReader(encoded(t, spoilt)))
		if (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("spoilt in its %q: %v", name, err)
		}
	}
}

func encoded(t *testing.T, s *story.Story) string {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// again is a copy that shares nothing.
func again(t *testing.T, s *story.Story) *story.Story {
	t.Helper()
	var other story.Story
	if err := json.Unmarshal([]byte(encoded(t, s)), &other); err != nil {
		t.Fatal(err)
	}
	return &other
}
