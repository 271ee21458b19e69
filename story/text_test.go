package story

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// No line is too long, no word is lost, and only words that do not fit are broken.
func TestBreakLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-zß…]{1,30}`)).Draw(t, "words"), " ")
		width := rapid.IntRange(6, 40).Draw(t, "width")
		first, others := strings.Repeat("│", rapid.IntRange(0, 4).Draw(t, "first")), strings.Repeat("│",
			rapid.IntRange(0, 4).Draw(t, "others"))
		var kept string
		for i, line := range breakLines(text, width, first, others) {
			indent := others
			if i == 0 {
				indent = first
			}
			if length(line) > width || !strings.HasPrefix(line, indent) {
				t.Fatalf("line %q is longer than %d, or not indented by %q", line, width, indent)
			}
			kept += strings.TrimPrefix(line, indent) + " "
		}
		whole := strings.Fields(kept)
		for _, word := range strings.Fields(text) {
			if length(word)+4 <= width && !slices.Contains(whole, word) {
				t.Fatalf("%q would fit into %d and is broken: %q", word, width, kept)
			}
		}
		if strings.ReplaceAll(kept, " ", "") != strings.ReplaceAll(text, " ", "") {
			t.Fatalf("of %q is left %q", text, kept)
		}
	})
}

// Names are unique. They are the last parts of paths, or shorter, if those are unique.
func TestNamesAreUnique(t *testing.T) {
	part := rapid.OneOf(
		rapid.StringMatching(`(lock|n|_c)-[0-9a-f]{32}-0000000[0-9]{3}`),
		rapid.StringMatching(`[ab]-72057594037927[0-9]{3}-(-214748364[0-9]|00000000[0-9]{2})`),
		rapid.StringMatching(`[ab]-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}`),
		rapid.StringMatching(`[ab]{1,2}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) string {
			return "/t/" + rapid.SampledFrom([]string{"", "q/", "r/"}).Draw(t, "parent") + part.Draw(t, "part")
		}), rapid.ID).Draw(t, "paths")
		znodes := make([]Znode, len(paths))
		for i := range paths {
			znodes[i].Path = paths[i]
		}
		nameZnodes(znodes)
		seen := map[string]bool{}
		for _, z := range znodes {
			if seen[z.Name] || length(z.Name) > length(z.Path) {
				t.Fatalf("%q is the name of %s, and of another: %v", z.Name, z.Path, seen[z.Name])
			}
			seen[z.Name] = true
		}
	})
}

// A list names the children of its directory, also if another directory has one of the same name.
func TestListIsOfItsDirectory(t *testing.T) {
	s := newStory("order", "")
	s.Znodes = []Znode{{Path: "/q/claims/x-0000000001"}, {Path: "/q/items"}, {Path: "/q/items/x-0000000001"}}
	nameZnodes(s.Znodes)
	got := prose{s}.request(Event{What: "children", Path: "/q/items", Answer: "= [x-0000000001]"})
	got += prose{s}.short(": x-0000000001")
	if want := "children items = [items/x-0001]: x-0000000001"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAbbreviate(t *testing.T) {
	for name, want := range map[string]string{
		"x-72057594037927937-0000000012":                                         "x-…-0012",
		"_c_204391a6fd59956f7b863400bc026a40-lock-0000000001":                    "_c_…-lock-0001",
		"_c_204391a6-fd59-956f-7b86-3400bc026a40-lock-2147483647":                "_c_…-lock-2147483647",
		"x-204391a6fd59956f7b863400bc026a40--2147483648":                         "x-…--2147483648",
		"election-72057594037927938-c4858308e5949c4934e455ca854b4973-0000000001": "election-…-0001",
		"ready": "ready", "qn-0000000000": "qn-0000",
	} {
		if got := abbreviate(name, ""); got != want {
			t.Errorf("%s is abbreviated to %s, want %s", name, got, want)
		}
	}
}

// crowd is a story in which n clients take turns.
func crowd(n int) *Story {
	s := newStory("exclusion", "two hold it")
	s.Title, s.Clock, s.Servers = "lock (ours): two hold it (exclusion)", clockSteps, 1
	for i := range n {
		s.Clients = append(s.Clients, Client{fmt.Sprintf("c%d", i+1), 1})
		s.Operations = append(s.Operations, Operation{Client: i, Name: "acquire", Outcome: "ok", Call: int64(2 * i),
			Return: int64(2*i + 1), Cited: i < 2})
		for j, kind := range []Kind{kindCall, kindExchange, kindReturn} {
			s.Events = append(s.Events, Event{
				Step: int64(2*i + j/2), Kind: kind, Client: i, Session: -1, Operation: i, From: -1, Armed: -1,
				Cited: i < 2 && kind != kindExchange,
				What:  "acquire()", Path: "/lock/a-very-long-name-of-a-znode-that-has-no-place-to-be-broken",
				Result: "ok",
			})
		}
	}
	return s
}

// The text fits with any number of clients in any width, and names the client of each event.
func TestTextFits(t *testing.T) {
	for n := 1; n <= 16; n++ {
		for _, width := range []int{0, 1, 60, 72, 80, 100, 132} {
			text := crowd(n).Text(TextOptions{Width: width})
			limit := width
			if width == 0 {
				limit = WidthDefault
			}
			for line := range strings.Lines(text) {
				if length(strings.TrimSuffix(line, "\n")) > max(limit, WidthMin) {
					t.Fatalf("%d clients, width %d: a line has %d: %s", n, width, length(line), line)
				}
			}
			for i := range n {
				if !regexp.MustCompile(fmt.Sprintf(`(?m)\bc%d\b`, i+1)).MatchString(text) {
					t.Fatalf("%d clients, width %d: where is c%d?\n%s", n, width, i+1, text)
				}
			}
		}
	}
}

// With few clients each has a column; with more there is a list that names the client in each line.
func TestColumnsOrList(t *testing.T) {
	if text := crowd(4).Text(TextOptions{}); !strings.Contains(text, "c1                     c2") {
		t.Errorf("four clients have no columns:\n%s", text)
	}
	if text := crowd(5).Text(TextOptions{}); !strings.Contains(text, "     8  c5  ┌ acquire() ok\n") {
		t.Errorf("five clients have no list:\n%s", text)
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Colour changes nothing but colour, and is off by default.
func TestColor(t *testing.T) {
	for n := 1; n <= 6; n++ {
		with, without := crowd(n).Text(TextOptions{Color: true}), crowd(n).Text(TextOptions{})
		if strings.Contains(without, "\x1b") || !strings.Contains(with, "\x1b[1m") {
			t.Errorf("colour with, or none without:\n%s%s", with, without)
		}
		bare := regexp.MustCompile(`(?m) +$`).ReplaceAllString(escapes.ReplaceAllString(with, ""), "")
		if bare != without {
			t.Errorf("colour changes more than colour:\n%s%s", with, without)
		}
	}
}

func TestLongTablesAreCut(t *testing.T) {
	s := crowd(1)
	event := s.Events[1]
	for i := range 5000 {
		event.Step = int64(i)
		s.Events = append(s.Events, event)
	}
	text := s.Text(TextOptions{})
	if n := strings.Count(text, "\n"); n > rowsHead+rowsTail+20 || !strings.Contains(text, "4843 rows are left out") {
		t.Errorf("%d lines:\n%.2000s", n, text)
	}
}
