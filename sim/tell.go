package sim

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
)

// Teller is a [Workload] that can make a page of the story of a counterexample, as that of package workload does.
// [Check] writes such a page beside the fail file of a test that fails.
type Teller interface {
	// Page returns the page as HTML. again is the command that tells the story anew. When ctx ends, the page shows
	// what is known by then.
	Page(ctx context.Context, c *Counterexample, again string) ([]byte, error)
}

// Story is a violation for people: the sentence, and what happened.
func Story(w Workload, v Violation, trace []Step) string {
	return fmt.Sprintf("%s (%s) broke %s: %s\n\n%s\n", w.Name(), w.Recipe(), v.Property, v.Message,
		strings.Join(Lines(trace), "\n"))
}

// tell fails a test with the story of a violation, and says where its page is.
func tell(t *testing.T, w Workload, cfg Config, f Found) {
	t.Helper()
	t.Error(Story(w, f.Violation, f.Trace))
	if f.Divergence != nil {
		t.Log(f.Divergence)
	}
	if f.Wire && !exactBuild {
		t.Log(WireNote)
	}
	teller, ok := w.(Teller)
	if !ok || flagOf("rapid.nofailfile") == "true" {
		return
	}
	page, err := writePage(t, teller, w, cfg, f)
	if err != nil {
		t.Logf("there is no page of this story: %v", err)
		return
	}
	t.Logf("the story as a page: %s", page)
}

// pageTime is how long the making of a page may take.
const pageTime = 10 * time.Second

func writePage(t *testing.T, teller Teller, w Workload, cfg Config, f Found) (name string, err error) {
	example, err := cfg.Counterexample(Result{Workload: w.Name(), Recipe: w.Recipe()}, f)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(t.Context(), pageTime)
	defer cancel()
	page, err := teller.Page(ctx, example, goTest(t.Name()))
	if err != nil {
		return "", err
	}
	dir := filepath.Join("testdata", "rapid", fileName(t.Name()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	name = filepath.Join(dir, "story.html")
	return name, os.WriteFile(name, page, 0o644)
}

// fileName is a test's name as the folder of its fail files is called.
func fileName(test string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' {
			return r
		}
		return '_'
	}, test)
}

var replayFile = flag.String("zktorture.replay", "", "sim.Check: run the run in this `file` again, and nothing else")

// checkAgain runs a run again that is in a file.
func checkAgain(t *testing.T, w Workload, name string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatalf("-zktorture.replay: %v", err)
	}
	defer file.Close()
	example, err := ReadCounterexample(file)
	if err != nil {
		t.Fatalf("-zktorture.replay=%s: %v", name, err)
	}
	if example.Workload != w.Name() || example.Recipe != w.Recipe() {
		t.Fatalf("-zktorture.replay=%s: it is of %s (%s), and this test is of %s (%s)",
			name, example.Workload, example.Recipe, w.Name(), w.Recipe())
	}
	r, err := Replay(w, example)
	switch {
	case err != nil:
		t.Fatalf("-zktorture.replay=%s: %v", name, err)
	case r.Violation != nil:
		t.Fatal(Story(w, *r.Violation, r.Trace))
	}
	t.Logf("-zktorture.replay=%s: nothing broke", name)
}
