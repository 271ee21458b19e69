package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/bubbles"
	"github.com/zktorture/zktorture/internal/thorough"
)

// testEpisodes suffice for each bug, and for W1 and W2 to shrink as promised.
const testEpisodes = 6000

// Each hunted bug is marked in the source, and is found, with a story as small as promised. Every fourth is hunted, all
// with ZKTORTURE_THOROUGH=all (make thorough).
func TestBugs(t *testing.T) {
	bubbles.Many(t)
	marked := markedBugs(t)
	for i, b := range bugs {
		t.Run(b.ID, func(t *testing.T) {
			if !marked[b.ID] {
				t.Errorf("no line of zoo/published is marked BUG: %s", b.ID)
			}
			if i%4 != 0 && !thorough.All() {
				t.Skip("make thorough hunts it")
			}
			f, err := b.hunt(t.Context(), testEpisodes)
			if err != nil {
				t.Fatal(err)
			}
			if f.Property != b.Property || len(f.Trace) == 0 {
				t.Errorf("found %s with %d lines", f.Property, len(f.Trace))
			}
		})
	}
}

func markedBugs(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "zoo", "published", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	marked := map[string]bool{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`BUG:((?: [A-Z]+\d+,?)+)`).FindAllStringSubmatch(string(data), -1) {
			for id := range strings.FieldsSeq(strings.ReplaceAll(m[1], ",", " ")) {
				marked[id] = true
			}
		}
	}
	return marked
}

// A story larger than promised is no success, and neither is an unknown name.
func TestJudge(t *testing.T) {
	b := bugs[0]
	b.steps = 1
	if _, err := b.hunt(t.Context(), 50); err == nil {
		t.Error("a story of more steps than allowed was accepted")
	}
	b.Property = "punctuality"
	if _, err := b.hunt(t.Context(), 50); err == nil {
		t.Error("a property that nobody breaks was found")
	}
	if err := run(t.Context(), []string{"bug", "X1"}); err == nil || !strings.Contains(err.Error(), "W1, W2") {
		t.Errorf("an unknown bug gave %v", err)
	}
	if err := run(t.Context(), []string{"weather"}); err == nil || !strings.Contains(err.Error(), "million") {
		t.Errorf("an unknown report gave %v", err)
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 12: "12", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := number(n); got != want {
			t.Errorf("number(%d) = %q, want %q", n, got, want)
		}
	}
}
