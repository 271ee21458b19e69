package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

// failed is a counterexample that a test has written, in the folder testdata/zktorture/TEST of its package. Its recipe is
// the test's own, so go test runs it again.
type failed struct {
	file, dir string   // absolute names: of the counterexample, and of the package
	tests     []string // for go test -run: the first one that there is
}

// failedTest returns the test that has written a file; false: none has.
func failedTest(name string) (f failed, ok bool) {
	file, err := filepath.Abs(name)
	at := filepath.Dir(file)
	in := filepath.Dir(at)
	if err != nil || !strings.HasSuffix(filepath.ToSlash(in), "/testdata/zktorture") {
		return f, false
	}
	return failed{file, filepath.Dir(filepath.Dir(in)), testsCalled(filepath.Base(at))}, true
}

// testsCalled match the test of a folder, in whose name each sign that is neither a letter nor a digit is an underscore:
// also a slash before the name of a subtest.
func testsCalled(folder string) (patterns []string) {
	exactly := func(part string) string {
		return "^" + strings.ReplaceAll(regexp.QuoteMeta(part), "_", ".") + "$"
	}
	patterns = append(patterns, exactly(folder))
	for i, r := range folder {
		if r == '_' {
			patterns = append(patterns, exactly(folder[:i])+"/"+exactly(folder[i+1:]))
		}
	}
	return patterns
}

// noTests is how go test says that there is none.
const noTests = "no tests to run"

// run has the test run its counterexample again. It returns what go test says, and the story; nil: it passes now. The error
// is for one that could not be run.
func (f failed) run(c *console.Context) (said string, told *story.Story, err error) {
	example, err := readFile(f.file, sim.ReadCounterexample)
	if err != nil {
		return "", nil, err
	}
	stories, err := os.MkdirTemp("", "torture-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(stories)
	program := "go"
	if example.Exact {
		if program, err = os.Executable(); err != nil {
			return "", nil, err
		}
	}
	for _, test := range f.tests {
		cmd := exec.CommandContext(c, program, "test", "-v", "-count=1", "-run", test, ".", "-zktorture.replay="+f.file)
		cmd.Dir, cmd.Env = f.dir, append(os.Environ(), "ZKTORTURE_STORIES="+stories)
		var out []byte
		out, err = cmd.CombinedOutput()
		if said = string(out); !strings.Contains(said, noTests) {
			break
		}
	}
	names, _ := filepath.Glob(filepath.Join(stories, "*.json")) // the pattern is right
	switch {
	case len(names) > 0:
		told, err = readFile(names[0], story.Read)
		return said, told, err
	case err != nil:
		return said, nil, fmt.Errorf("go test could not run it again: %w\n%s", err, said)
	case strings.Contains(said, noTests):
		return said, nil, errors.New("the test that has written it is not there any more")
	}
	return said, nil, nil
}

// story is the story that the test tells.
func (f failed) story(c *console.Context) (*story.Story, error) {
	_, told, err := f.run(c)
	if err == nil && told == nil {
		err = errors.New("there is no story: its test passes now")
	}
	return told, err
}

// replay shows what the test says of its counterexample. The status is 1 if it breaks a property still.
func (f failed) replay(c *console.Context) error {
	said, told, err := f.run(c)
	if err != nil {
		return err
	}
	fmt.Fprint(c.Stdout, said)
	if told != nil {
		return console.VerdictError(console.ExitViolation)
	}
	return nil
}
