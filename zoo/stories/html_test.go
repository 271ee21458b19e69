package stories_test

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/stamps"
)

// pageMax bounds a page, in bytes.
const pageMax = 400 << 10

// pageOf returns a story's page, which must be small, deterministic, and load nothing.
func pageOf(t *testing.T, s *story.Story) string {
	t.Helper()
	var page, again strings.Builder
	if err := s.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := s.HTML(&again); err != nil || page.String() != again.String() {
		t.Errorf("the page is another the second time, or there is an error: %v", err)
	}
	if page.Len() > pageMax {
		t.Errorf("the page has %d bytes, and %d is the most", page.Len(), pageMax)
	}
	if loads := loading.FindAllString(page.String(), -1); loads != nil {
		t.Errorf("the page loads %q", loads)
	}
	return page.String()
}

// loading finds what makes a browser load something from elsewhere.
var loading = regexp.MustCompile(`(?i)(src|srcset|poster|action)\s*=\s*"|<link[^>]+href="[^d][^"]*"|@import|` +
	`\burl\([^#][^)]*\)|fetch\(|XMLHttpRequest|WebSocket`)

// readable is the visible text of a page.
func readable(page string) string {
	body := page[strings.Index(page, "<body>"):]
	body = body[:strings.Index(body, "<details")]
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " "))
}

// completePage checks that a page says what broke and names what is involved, apart from the story as text that it
// includes.
func completePage(t *testing.T, s *story.Story) {
	t.Helper()
	page := pageOf(t, s)
	text := readable(page)
	want := []string{s.Property, s.Subject}
	for _, session := range s.Sessions {
		want = append(want, session.Name+" = "+session.ID)
	}
	for _, z := range s.Znodes {
		if z.Cited && strings.Contains(s.Message, z.Path) {
			want = append(want, z.Name)
		}
	}
	if len(s.Commands) > 0 {
		want = append(want, s.Commands[0].Line)
	}
	if s.Pivot != nil {
		want = append(want, s.Pivot.Text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
	for _, z := range s.Znodes {
		entry := fmt.Sprintf(`"path":%s,"name":%s`, quoted(t, z.Path), quoted(t, z.Name))
		if z.Cited && !strings.Contains(page, entry) {
			t.Errorf("the tree of the page does not have %s", z.Path)
		}
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// island is the data of the page's script.
type island struct {
	Frames []struct {
		Step        int64
		Top, Bottom float64
	}
	Znodes []struct {
		Path  string
		Lives []struct{ From, Until int64 }
	}
}

func islandOf(t *testing.T, page string) (d island) {
	t.Helper()
	_, rest, found := strings.Cut(page, `<script type="application/json" id="data">`)
	data, _, ends := strings.Cut(rest, "</script>")
	if err := json.Unmarshal([]byte(data), &d); err != nil || !found || !ends {
		t.Fatalf("the data of the page cannot be read: %v", err)
	}
	return d
}

// The tree of the page is that of the story at each step, and the steps are in order in the diagram.
func TestPageFollowsTheStory(t *testing.T) {
	a, c := caught(t, "LK10")
	s := told(t, a, c)
	d := islandOf(t, pageOf(t, s))
	if len(d.Frames) < len(s.Curve) {
		t.Errorf("%d frames for %d steps", len(d.Frames), len(s.Curve))
	}
	for i, f := range d.Frames {
		if i > 0 && (f.Step <= d.Frames[i-1].Step || f.Top < d.Frames[i-1].Bottom) {
			t.Errorf("step %d is not below the one before: %+v", f.Step, d.Frames[i-1:i+1])
		}
		want, got := tree(s, f.Step), []string(nil)
		for _, z := range d.Znodes {
			for _, l := range z.Lives {
				if l.From <= f.Step && (l.Until < 0 || f.Step < l.Until) {
					got = append(got, z.Path)
				}
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the tree after step %d (-story +page):\n%s", f.Step, d)
		}
	}
}

// A story of something else names the operations that wait for ever, too.
func TestPageNamesWhatElseBroke(t *testing.T) {
	a, c := caught(t, "W1")
	s := told(t, a, c)
	const besides = "Besides:  c1 acquire() since step 0 waits forever:"
	if text := readable(pageOf(t, s)); strings.Contains(text, "Besides") {
		t.Errorf("what broke is named twice:\n%s", text)
	}
	s.Property, s.Message = "herd", "one deletion woke two"
	if text := readable(pageOf(t, s)); !strings.Contains(text, besides) {
		t.Errorf("the page does not say %q:\n%s", besides, text)
	}
}

// Text of recipes, clients and servers cannot become markup.
func TestPageEscapes(t *testing.T) {
	evil := `</script><script>alert(1)</script><img src=x onerror="alert(2)">'"&`
	s := &story.Story{
		Property: "exclusion", Title: evil, Message: evil, Subject: evil, Workload: evil, Recipe: evil, Clock: "steps",
		Servers: 1, Root: "/",
		Clients: []story.Client{{Name: evil, Users: 1}},
		Events: []story.Event{{Kind: "exchange", What: evil, Path: "/" + evil, Result: evil, Answer: evil,
			Step: 1, Session: 0, Operation: 0, From: -1}},
		Operations: []story.Operation{{Name: evil, Arg: evil, Result: evil, Outcome: "ok", Error: evil, Call: 1,
			Return: 1, Cited: true}},
		Sessions: []story.Session{{ID: evil, Name: evil, End: -1, Learned: -1}},
		Znodes: []story.Znode{{Path: "/" + evil, Name: evil,
			Lives: []story.Life{{Until: -1, Maker: 0, Remover: -1}}}},
		Waits:    []story.Wait{{For: []story.Awaited{{Path: "/" + evil, Owner: 0, Exists: true}}}},
		Commands: []story.Command{{Name: evil, Line: evil}},
	}
	var page strings.Builder
	if err := s.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "<script"); n != 2 {
		t.Errorf("the page has %d scripts, not its own two", n)
	}
	if strings.Contains(page.String(), "<img") {
		t.Error("a text has become an element")
	}
	islandOf(t, page.String())
}

// endless is a run that was not minimised.
func endless(events int) *story.Story {
	s := &story.Story{
		Property: "order", Title: "t", Message: strings.Repeat("m", 100_000), Workload: "queue",
		Recipe: "r", Clock: "steps", Servers: 3, Root: "/q",
		Clients: []story.Client{{Name: "c1", Users: 1}, {Name: "c2", Users: 3}, {Name: "c3", Users: 1},
			{Name: "c4", Users: 1}, {Name: "c5", Users: 1}},
		Sessions: []story.Session{{ID: "0x1", Name: "s1", End: int64(events) - 5, Expired: true, Learned: -1}},
	}
	for i := range events {
		s.Events = append(s.Events, story.Event{
			Step: int64(i), Time: int64(i), Kind: "reply", Client: i % 5, Server: i % 3, What: "create",
			Path:   fmt.Sprintf("/q/%d-%s", i, strings.Repeat("x", 3000)),
			Result: strings.Repeat("r", 3000), Answer: strings.Repeat("a", 3000), Operation: i, From: i - 1, Armed: -1,
			Sent: int64(i) - 1,
		})
		s.Operations = append(s.Operations, story.Operation{Client: i % 5, Name: "offer", Arg: fmt.Sprint(i),
			Outcome: "ok", Call: int64(i), Return: int64(i) + 3, Cited: i == events-9})
		s.Znodes = append(s.Znodes, story.Znode{Path: fmt.Sprintf("/q/%d", i), Name: fmt.Sprint(i),
			Lives: []story.Life{{From: int64(i), Until: -1, Owner: 0, Maker: i}}, Cited: i == events-9})
	}
	return s
}

// A page is small whatever the run, and shows a long one up to the end of the operation in question.
func TestPageOfLongRun(t *testing.T) {
	s := endless(5000)
	page := pageOf(t, s)
	d := islandOf(t, page)
	if last := d.Frames[len(d.Frames)-1].Step; last != 4991 {
		t.Errorf("the last step of the page is %d, not the last of the cited operation", last)
	}
	if !slices.ContainsFunc(d.Znodes, func(z struct {
		Path  string
		Lives []struct{ From, Until int64 }
	}) bool {
		return z.Path == "/q/4991"
	}) {
		t.Error("the znode involved is not in the tree")
	}
}

// The page of a recorded history has the operations of its certificate, even of 200,000 operations.
func TestPageOfHistory(t *testing.T) {
	const n, first = 200_000, int64(1_700_000_000_000_000_000)
	var h linearizability.History
	for i := range n {
		at := first + int64(i)*1000
		h = append(h, linearizability.Operation{Client: 1, Op: "offer", Outcome: linearizability.OK, Call: at,
			Return: at + 500})
	}
	asked := func(o linearizability.Operation) bool {
		return o.Call == first+1000*777 || o.Call == first+1000*100_000
	}
	s := stamps.Part(h, "order", fmt.Sprintf("one at %d and one at %d", first+1000*777,
		first+1000*100_000), 3, asked)
	s.Workload = "queue"
	page := pageOf(t, s)
	text := readable(page)
	for _, want := range []string{"order", fmt.Sprintf("one at %d and one at %d", first+1000*777, first+1000*100_000),
		fmt.Sprintf("%d operations of the history are not shown", n-14), fmt.Sprint(first + 1000*777)} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}
