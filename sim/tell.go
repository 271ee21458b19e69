package sim

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/zktorture/zktorture/internal/shellword"
	"github.com/zktorture/zktorture/internal/wholefile"
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
		strings.Join(Folded(Lines(trace)), "\n"))
}

// checker is one call of [Check].
type checker struct {
	t    *testing.T
	w    Workload
	cfg  Config
	test Place // the line that calls Check
}

// fail fails the test for a reason that is no story.
func (c *checker) fail(why string) {
	c.t.Helper()
	c.t.Error(why)
	annotate(c.t.Output(), fmt.Sprintf("%s cannot be judged", c.t.Name()), why, c.test)
}

// tell fails the test with the story of a violation. What broke, the page and the command that runs it again come first,
// and once more at the end: in a long log nobody sees what is between. again are the flags of that command; if there are
// none, a counterexample is written. notes come between.
func (c *checker) tell(f Found, again string, notes []string) {
	c.t.Helper()
	example, err := c.cfg.Counterexample(Result{Workload: c.w.Name(), Recipe: c.w.Recipe(), Wire: f.Wire}, f)
	if err != nil {
		c.fail(Story(c.w, f.Violation, f.Trace) + err.Error())
		return
	}
	if f.Divergence != nil {
		notes = append(notes, f.Divergence.String())
	}
	if f.Unfinished != "" {
		notes = append(notes, "the story may not be minimal: "+f.Unfinished)
	}
	if f.Wire && !exactBuild {
		notes = append(notes, WireNote)
	}
	if again == "" && keepsFiles() {
		name, err := c.keep(example)
		if again = replayFlag(name); err != nil {
			again, notes = "", append(notes, fmt.Sprintf("there is no counterexample file: %v", err))
		}
	}
	command := goTest(c.t.Name())
	if again != "" {
		command += " " + again
	}
	where := "replay: " + command
	switch page, err := c.page(example, command); {
	case err != nil:
		notes = append(notes, fmt.Sprintf("there is no page of this story: %v", err))
	case page != "":
		where = "page:   " + fromModule(page) + "\n" + where
	}
	broke := fmt.Sprintf("%s (%s) broke %s", c.w.Name(), c.w.Recipe(), f.Property)
	sentence, more, _ := strings.Cut(f.Message, "\n")
	if more != "" {
		more += "\n\n"
	}
	c.t.Errorf("%s: %s\n%s\n\n%s%s\n", broke, sentence, where, more, strings.Join(Folded(example.Trace), "\n"))
	c.logEach(notes)
	if onGitHub() {
		annotate(c.t.Output(), broke, f.Message+"\n"+where, guilty(c.w, example), c.test)
	}
	c.t.Logf("%s: the story is above\n%s", broke, where)
}

// keepsFiles tells whether a test that fails may leave files behind.
func keepsFiles() bool { return flagOf("rapid.nofailfile") != "true" }

func replayFlag(file string) string { return "-zktorture.replay=" + shellword.Quote(file) }

// keep writes a counterexample to a file beside the test's fail files.
func (c *checker) keep(example *Counterexample) (name string, err error) {
	var text bytes.Buffer
	if err := example.Write(&text); err != nil {
		return "", err
	}
	name = filepath.Join(failDir(c.t.Name()), fmt.Sprintf("%s-%.8s.json", example.Property, example.Hash))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	return name, wholefile.Write(name, text.Bytes())
}

// pageTime is how long the making of a page may take.
const pageTime = 10 * time.Second

// page writes the page of a story and returns its name, "" if none is wanted.
func (c *checker) page(example *Counterexample, again string) (name string, err error) {
	teller, can := c.w.(Teller)
	if !can || !keepsFiles() {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), pageTime)
	defer cancel()
	page, err := teller.Page(ctx, example, again)
	if err != nil {
		return "", err
	}
	name = filepath.Join(failDir(c.t.Name()), "story.html")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	return name, os.WriteFile(name, page, 0o644)
}

// failDir is the folder of a test's fail files. go test runs a test in the folder of its package.
func failDir(test string) string { return filepath.Join("testdata", "rapid", fileName(test)) }

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

// again runs a run again that is in a file, and fails the test if it breaks a property. Otherwise it returns a sentence.
// The error is for a file that this test cannot run.
func (c *checker) again(name string) (note string, err error) {
	c.t.Helper()
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	example, err := ReadCounterexample(file)
	if err != nil {
		return "", err
	}
	if example.Workload != c.w.Name() || example.Recipe != c.w.Recipe() {
		return "", fmt.Errorf("it is of %s (%s), and this test is of %s (%s)",
			example.Workload, example.Recipe, c.w.Name(), c.w.Recipe())
	}
	r, err := Replay(c.w, example)
	switch {
	case err != nil:
		return "", err
	case r.Violation != nil:
		c.tellAgain(name, example, r)
		c.t.FailNow()
	case r.Diverged >= 0:
		return passesNow(name, fmt.Sprintf(", in another run, from line %d of its trace on", r.Diverged+1)), nil
	}
	return passesNow(name, ""), nil
}

// tellAgain tells the story of a run that was in a file, as it is now.
func (c *checker) tellAgain(name string, example *Counterexample, r *Replayed) {
	c.t.Helper()
	c.cfg, _ = example.config() // Replay has read it
	f := Found{Violation: *r.Violation, Choices: example.Choices, Hash: r.Hash, Trace: r.Trace, History: example.History,
		Wire: example.Wire}
	if r.Diverged >= 0 {
		f.Divergence = example.Divergence
	}
	c.tell(f, replayFlag(name), nil)
}
