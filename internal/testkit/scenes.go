package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Scenes plays the scenes of the files that match a pattern, each as a test of its own. One begins with a line "== TITLE". A
// line "for X in a, b" after that has the rest played for each of them, in place of $X.
func Scenes(t *testing.T, pattern string, play func(t *testing.T, lines string)) {
	files, _ := filepath.Glob(pattern)
	if len(files) == 0 {
		t.Fatalf("no file is named %s", pattern)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, scene := range strings.Split("\n"+string(text), "\n== ")[1:] {
			title, lines, _ := strings.Cut(scene, "\n")
			t.Run(name+"/"+title, func(t *testing.T) { playEach(t, lines, play) })
		}
	}
}

func playEach(t *testing.T, lines string, play func(t *testing.T, lines string)) {
	rest, found := strings.CutPrefix(lines, "for ")
	if !found {
		play(t, lines)
		return
	}
	head, rest, _ := strings.Cut(rest, "\n")
	name, values, _ := strings.Cut(head, " in ")
	for value := range strings.SplitSeq(values, ", ") {
		playEach(t, strings.ReplaceAll(rest, "$"+name, value), play)
	}
}
