package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
)

// Story is the violation as it was recorded: the sentence, and each step with the full names of znodes.
func (f Found) Story(w world.Workload) string {
	return fmt.Sprintf("%s\n\n%s\n", story.Headline(w, f.Property, f.Message),
		strings.Join(replay.Folded(replay.Lines(f.Trace)), "\n"))
}

// checker is one call of [Check].
type checker struct {
	t   *testing.T
	w   world.Workload
	cfg Config
}

// fail fails the test for a reason that is no story.
func (c *checker) fail(why string) {
	c.t.Helper()
	c.t.Error(why)
}

// tell fails the test with the story of a violation, which ends with its page and the command that runs it again. again
// are the flags of that command; if there are none, a counterexample is written. notes come before.
func (c *checker) tell(f Found, again string, notes []string) {
	c.t.Helper()
	example, err := c.cfg.Counterexample(Result{Workload: c.w.Name(), Recipe: c.w.Recipe(), Counts: tally.Counts{Wire: f.Wire}}, f)
	if err != nil {
		c.fail(f.Story(c.w) + err.Error())
		return
	}
	if again == "" && c.passesFirst(example) {
		sentence, _, _ := strings.Cut(f.Message, "\n")
		c.fail(fmt.Sprintf("%s: unknown: %s: %s: %s", c.w.Name(), f.Property, sentence, outlives))
		c.logEach(notes)
		return
	}
	if f.Rare != world.NoFaults {
		notes = append(notes, fmt.Sprintf("rare: it was not found without %v, which hardly ever happens", f.Rare))
	}
	if again == "" {
		name, err := c.keep(example)
		if again = toReplay(name); err != nil {
			again, notes = c.draws(f), append(notes, fmt.Sprintf("there is no counterexample file: %v", err))
		}
	}
	command := goTest(c.t.Name())
	if again != "" {
		command += " " + again
	}
	told, page, err := c.page(example, command)
	if err != nil {
		notes = append(notes, fmt.Sprintf("there is no page of this story: %v", err))
	}
	defer c.logEach(notes)
	if told == nil {
		c.t.Errorf("%s\nreplay: %s", f.Story(c.w), command)
		return
	}
	told.Commands = []story.Command{{Name: "replay", Line: command}}
	if err == nil {
		told.Commands = slices.Insert(told.Commands, 0, story.Command{Name: "page", Line: absolute(page)})
	}
	c.t.Error(told.Text(inTest))
	if err := keepStory(told); err != nil {
		c.t.Log(err)
	}
}

// absolute is the whole name of a file of the package's folder: go test does not tell where it was called.
func absolute(name string) string {
	if file, err := filepath.Abs(name); err == nil {
		return file
	}
	return name
}

// storiesEnv names the variable with the folder of stories.
const storiesEnv = "ZKTORTURE_STORIES"

// keepStory writes a story as JSON into the folder that $ZKTORTURE_STORIES names, for programs that run tests.
func keepStory(told *story.Story) error {
	dir := os.Getenv(storiesEnv)
	if dir == "" {
		return nil
	}
	file, err := os.CreateTemp(dir, "*.json")
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(file).Encode(told), file.Close())
}

// inTest is how go test shows a story: indented by the testing package, within 100 columns.
var inTest = story.TextOptions{Brief: true, Width: story.WidthDefault - 8}

func toReplay(file string) string { return "-zktorture.replay=" + escape.Shell(file) }

// keep writes a counterexample to a file that the test runs first from now on.
func (c *checker) keep(example *replay.Counterexample) (name string, err error) {
	var text bytes.Buffer
	if err := example.Write(&text); err != nil {
		return "", err
	}
	return c.write(fmt.Sprintf("%s-%.8s.json", example.Property, example.Hash), text.Bytes())
}

// pageTime is how long the making of a page may take.
const pageTime = 10 * time.Second

// page tells a story, and writes its page beside the counterexample. When its time is over the page shows what is known by
// then. The story is nil if there is none.
func (c *checker) page(example *replay.Counterexample, again string) (told *story.Story, name string, err error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), pageTime)
	defer cancel()
	if told, err = story.Tell(ctx, c.w, example); err != nil {
		return nil, "", err
	}
	told.Commands = []story.Command{{Name: "run again", Line: again}}
	var page bytes.Buffer
	if err := told.HTML(&page); err != nil {
		return told, "", err
	}
	name, err = c.write("story.html", page.Bytes())
	return told, name, err
}

// write writes a file into the test's folder.
func (c *checker) write(file string, data []byte) (name string, err error) {
	name = filepath.Join(failDir(c.t.Name()), file)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	return name, wholefile.Write(name, data)
}

// failDir is the folder of what a test has found. go test runs a test in the folder of its package.
func failDir(test string) string {
	return filepath.Join("testdata", "zktorture", strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' {
			return r
		}
		return '_'
	}, test))
}

// again runs a run again that is in a file, and fails the test if it breaks a property. Otherwise it returns a sentence.
// The error is for a file that this test cannot run.
func (c *checker) again(name string) (note string, err error) {
	c.t.Helper()
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	example, err := replay.ReadCounterexample(file)
	if err != nil {
		return "", err
	}
	if example.Workload != c.w.Name() || example.Recipe != c.w.Recipe() {
		return "", fmt.Errorf("it is of %s (%s), and this test is of %s (%s)",
			example.Workload, example.Recipe, c.w.Name(), c.w.Recipe())
	}
	play := replay.Replay
	if os.Getenv(firstEnv) != "" {
		play = replay.Once
	}
	r, err := play(c.w, example)
	switch {
	case err != nil:
		return "", err
	case r.Violation != nil:
		c.tellAgain(name, example, r)
		c.t.FailNow()
	case r.Diverged >= 0:
		note = fmt.Sprintf("; the run is another one from line %d of its trace on", r.Diverged+1)
	}
	return name + passesNow + note + ": keep it as a regression test, or delete it", nil
}

// passesNow follows the name of a file.
const passesNow = " failed before, and passes now"

// tellAgain tells the story of a run that was in a file, as it is now.
func (c *checker) tellAgain(name string, example *replay.Counterexample, r *replay.Replayed) {
	c.t.Helper()
	terms, _ := example.Terms() // Replay has read them
	c.cfg.Faults, c.cfg.NoFaultsAtAll, c.cfg.Clients, c.cfg.Ops = terms.Faults, true, terms.Clients, terms.Ops
	f := Found{Violation: *r.Violation, Episode: tally.Unnumbered, Choices: example.Choices, Hash: r.Hash, Trace: r.Trace, History: example.History,
		Wire: example.Wire}
	if r.Diverged >= 0 {
		f.Divergence = example.Divergence
	}
	c.tell(f, toReplay(name), nil)
}

// Counterexample makes the file of a violation that a campaign found.
func (cfg Config) Counterexample(r Result, f Found) (*replay.Counterexample, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	history, err := json.Marshal(f.History)
	if err != nil {
		return nil, fmt.Errorf("sim: the history of the counterexample: %w", err)
	}
	return &replay.Counterexample{
		Format: replay.CounterexampleFormat, Workload: r.Workload, Recipe: r.Recipe,
		Faults: cfg.terms(f.Episode).Faults.String(), Clients: cfg.Clients, Ops: cfg.Ops, Exact: bubble.Exact,
		Property: f.Property, Message: f.Message, Hash: digest.Hex(f.Hash),
		Choices: f.Choices, Trace: replay.Lines(f.Trace), History: history, Divergence: f.Divergence, Wire: r.Wire,
		Unfinished: f.Unfinished,
	}, nil
}

// goTest is the command that runs a test of this process again, in the same mode, from any folder of its module. It names
// the package, because go test runs in the folder of the package, which need not be the user's.
func goTest(name string) string {
	command := "go test"
	if bubble.Exact {
		command = "torture test"
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" && info.Path != "command-line-arguments" {
		command += " " + strings.TrimSuffix(info.Path, ".test")
	}
	return command + " -run " + escape.Shell(onlyTest(name))
}

// onlyTest is the pattern of a test's name and no other.
func onlyTest(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return strings.Join(parts, "/")
}
