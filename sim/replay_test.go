package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// counterexamples are what campaigns on the published recipes find, as files. They are looked for
// once; nobody may change them.
func counterexamples(t *testing.T) map[string]*sim.Counterexample {
	t.Helper()
	all, err := findCounterexamples()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var findCounterexamples = sync.OnceValues(func() (map[string]*sim.Counterexample, error) {
	all := map[string]*sim.Counterexample{}
	for _, of := range [][2]string{{"lock", "broken"}, {"queue", "broken"}} {
		w, err := workload.Find(of[0], of[1])
		if err != nil {
			return nil, err
		}
		cfg := sim.Config{Episodes: 1000, Seed: 3, ShrinkTime: 1}
		if testkit.RaceDetector {
			cfg.Episodes, cfg.NoShrink = 300, true
		}
		r, err := sim.Run(context.Background(), w, cfg)
		if err != nil {
			return nil, err
		}
		for _, f := range r.Violations {
			if all[of[0]+" "+f.Property], err = cfg.Counterexample(r, f); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
})

// Every counterexample replays to the same trace, hash and property: here, and in another process
// with another GOMAXPROCS.
func TestReplayIsTheSameRun(t *testing.T) {
	all := counterexamples(t)
	if len(all) < 8 && !testkit.RaceDetector {
		t.Errorf("the published recipes broke %d properties only", len(all))
	}
	dir := t.TempDir()
	for name, c := range all {
		again, err := replayOf(c)
		if err != nil {
			t.Fatal(err)
		}
		if again.Diverged >= 0 || again.Violation == nil || again.Violation.Property != c.Property ||
			again.Violation.Message != c.Message {
			t.Errorf("%s: replay diverged at %d and broke %+v, want %s: %s", name, again.Diverged, again.Violation,
				c.Property, c.Message)
		}
		writeExample(t, filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".json"), c)
	}
	for _, procs := range []string{"1", "4"} {
		out, status := childIn(t, dir, "replay .", nil, "GOMAXPROCS="+procs)
		if want := fmt.Sprintf("%d replayed", len(all)); status != 0 || !strings.Contains(out, want) {
			t.Errorf("another process at GOMAXPROCS %s: exit %d, want %q:\n%s", procs, status, want, out)
		}
	}
}

func replayOf(c *sim.Counterexample) (*sim.Replayed, error) {
	w, err := workload.Find(c.Workload, c.Recipe)
	if err != nil {
		return nil, err
	}
	return sim.Replay(w, c)
}

func writeExample(t *testing.T, path string, c *sim.Counterexample) {
	t.Helper()
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// childReplay replays all counterexamples of a folder.
func childReplay(args []string) error {
	files, err := filepath.Glob(filepath.Join(args[0], "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := replayFile(file); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
	}
	fmt.Println(len(files), "replayed")
	return nil
}

func replayFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	c, err := sim.ReadCounterexample(bytes.NewReader(data))
	if err != nil {
		return err
	}
	again, err := replayOf(c)
	switch {
	case err != nil:
		return err
	case again.Diverged >= 0:
		return fmt.Errorf("diverged at line %d", again.Diverged+1)
	case again.Violation == nil || again.Violation.Property != c.Property:
		return fmt.Errorf("%s did not break again", c.Property)
	}
	return nil
}

// A counterexample whose choices have been tampered with is not the same run, and the first line
// that differs is named.
func TestReplayNamesTheFirstDifference(t *testing.T) {
	for name, c := range counterexamples(t) {
		tampered := *c
		tampered.Choices = append(world.Choices{}, c.Choices...)
		for i := range tampered.Choices {
			tampered.Choices[i]++
		}
		again, err := replayOf(&tampered)
		if err != nil {
			t.Fatal(err)
		}
		if again.Diverged < 0 {
			t.Errorf("%s: nobody noticed that the choices are others", name)
			continue
		}
		lines := replay.Lines(again.Trace)
		for i := range again.Diverged {
			if lines[i] != c.Trace[i] {
				t.Errorf("%s: line %d differs, reported is line %d", name, i+1, again.Diverged+1)
				break
			}
		}
		if again.Diverged < min(len(lines), len(c.Trace)) && lines[again.Diverged] == c.Trace[again.Diverged] {
			t.Errorf("%s: line %d is reported and does not differ: %s", name, again.Diverged+1, lines[again.Diverged])
		}
	}
}

// Equal lines under another hash are a divergence too: the hash covers more than is printed.
func TestReplayChecksTheHash(t *testing.T) {
	for name, c := range counterexamples(t) {
		tampered := *c
		tampered.Hash = digest.Hex(1)
		if again, err := replayOf(&tampered); err != nil || again.Diverged != len(c.Trace) {
			t.Errorf("%s: diverged at %d (error %v), want at the end, %d", name, again.Diverged, err, len(c.Trace))
		}
	}
}
