package conformance_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/testkit"
)

var rewrite = flag.Bool("rewrite", false, "replace the outcomes in testdata/*.txt by what the real server says now")

// TestTranscripts plays every file on a fresh fake, on one behind a port, and on a fresh real server.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in testdata (error %v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			with := setupOf(file)
			t.Run("real", func(t *testing.T) { // first, because it may rewrite the file
				testkit.NeedServers(t)
				playFile(t, file, newReal(t, with), *rewrite)
			})
			t.Run("fake", func(t *testing.T) { playFile(t, file, newFake(with), false) })
			t.Run("served", func(t *testing.T) { playFile(t, file, newServed(t, with), false) })
		})
	}
}

func playFile(t *testing.T, file string, s *side, rewrite bool) {
	playText(t, file, newPlayer(s).play, rewrite)
}

// playText plays a transcript, which must come out as it is.
func playText(t *testing.T, file string, play func(string) (string, error), rewrite bool) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := play(string(want))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}
