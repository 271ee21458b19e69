package sim_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// crasher panics on a goroutine of its own when it is called by a second user, so that no one can recover from it.
type crasher struct {
	workload.Locker
	conn recipes.Conn
}

func newCrasher(c recipes.Conn, path string) workload.Locker {
	return crasher{recipes.NewLock(c, path), c}
}

func (c crasher) Lock(ctx context.Context) error {
	if session := c.conn.(interface{ SessionID() int64 }).SessionID(); session&0xff == 2 {
		go outOfCheese()
		<-make(chan struct{})
	}
	return c.Locker.Lock(ctx)
}

func outOfCheese() { panic("out of cheese") }

func crashing() sim.Workload { return workload.Lock(newCrasher) }

// childCrash runs a campaign on a recipe that crashes, or replays what it has left.
func childCrash(args []string) error {
	if len(args) == 1 {
		_, err := sim.Run(context.Background(), crashing(),
			sim.Config{Strategy: args[0], Episodes: 500, Seed: 7, Again: "again FILE"})
		return err
	}
	file, err := os.Open(args[1])
	if err != nil {
		return err
	}
	example, err := sim.ReadCounterexample(file)
	if err != nil {
		return err
	}
	fmt.Printf("%s %s %s %d\n", example.Workload, example.Recipe, example.Property, len(example.Choices))
	_, err = sim.Replay(crashing(), example)
	return err
}

// When the process dies in the middle of an episode a file is left that replays it, and the message names it;
// in all ways to run episodes.
func TestCrashLeavesAFile(t *testing.T) {
	ways := map[string]string{
		"crash random":   `again '?([^"']+\.json)'?`,
		"crash mix":      `again '?([^"']+\.json)'?`,
		"crash stages":   `again '?([^"']+\.json)'?`,
		"test crasher 3": `go test github.com/zktorture/zktorture/sim -run '\^TestAsChild\$/\^3\$' -zktorture\.replay='?([^"']+\.json)'?`,
	}
	for way, again := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			out, status := child(t, way, "TMPDIR="+t.TempDir())
			named := regexp.MustCompile(`(?m)^goroutine .* labels:\{"zktorture, what runs it again": "` + again +
				`"\}\]:\n.*outOfCheese`).FindStringSubmatch(out)
			if status != 2 || !strings.Contains(out, "panic: out of cheese") || named == nil {
				t.Fatalf("status %d, or no file is named:\n%s", status, out)
			}
			out, status = childIn(t, filepath.Dir(named[1]), "crash replay "+filepath.Base(named[1]), nil)
			if status != 2 || !strings.HasPrefix(out, "lock custom crash ") ||
				!strings.Contains(out, "panic: out of cheese") {
				t.Errorf("it does not crash again: status %d\n%s", status, out)
			}
			if !strings.Contains(testkit.File(t, named[1]), `"seed":`) || !strings.Contains(testkit.File(t, named[1]), `"episode":`) {
				t.Errorf("seed or episode are missing:\n%s", testkit.File(t, named[1]))
			}
			if strategy, ok := strings.CutPrefix(way, "crash "); ok {
				want := map[bool]string{false: `"faults":"all"`, true: `"faults":"none"`}[strategy == "stages"]
				if text := testkit.File(t, named[1]); strings.Count(text, `"faults":`) != 1 || !strings.Contains(text, want) {
					t.Errorf("the faults of the episode are not %s:\n%s", want, text)
				}
			}
		})
	}
}

// What the flag names is run again, and nothing else; a recipe that has been mended passes.
func TestReplayFlag(t *testing.T) {
	out, _ := child(t, "crash random", "TMPDIR="+t.TempDir())
	named := regexp.MustCompile(`"again '?([^"']+\.json)'?"`).FindStringSubmatch(out)
	if named == nil {
		t.Fatalf("there is no file:\n%s", out)
	}
	for _, c := range []struct{ recipe, file, want string }{
		{"crasher", named[1], "panic: out of cheese"},
		{"panics", named[1], "panicker: c2 panicked in acquire: "},
		{"mended", named[1], ".json failed before, and passes now: keep it"},
		{"queue/broken", named[1], "this test is of queue"},
		{"mended", "nowhere", "-zktorture.replay=nowhere: open nowhere"},
		{"mended", os.Args[0], "not a counterexample"},
	} {
		out, _ := childWith(t, "test "+c.recipe+" 1", []string{"-zktorture.replay=" + c.file})
		if !strings.Contains(out, c.want) {
			t.Errorf("%s of %s: %q is missing in:\n%s", c.recipe, c.file, c.want, out)
		}
	}
}

// Nothing is left of runs that end.
func TestNoCrashFileIsLeft(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	run(t, broken(t, "readme"), sim.Config{Episodes: 5, Seed: 1})
	run(t, find(t, "lock", "ours"), sim.Config{Strategy: "mix", Episodes: 50, Seed: 1})
	sim.Check(t, find(t, "lock", "ours"), sim.WithEpisodes(50), sim.WithSeed(1))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// Where there is no room for the file, everything else goes on.
func TestNoRoomForACrashFile(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	r := run(t, find(t, "lock", "ours"), sim.Config{Episodes: 50, Seed: 1})
	if r.Verdict != sim.VerdictOK {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}
