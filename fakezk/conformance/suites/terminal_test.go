package suites_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/testkit"
)

// terminal is a client program that takes a command a line and prints what came of it, some of it later.
type terminal struct {
	t        *testing.T
	in       io.Writer
	out      <-chan string // lines; closed at the program's end
	settle   string        // commands that are sent behind each command of a transcript
	settled  func() func(line string) (behind, done bool)
	shown    func(line string) string // a line in a transcript; "" if it is not shown
	reported *regexp.Regexp           // lines that come by themselves, and are shown last
	listed   *regexp.Regexp           // lines of lists whose order is open, and which are shown sorted
}

// run starts a program that ends with the test.
func run(t *testing.T, program string, args ...string) *terminal {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		in.Close()
		for range lines { // the program reads the end of its input
			continue
		}
		r.Close()
		cmd.Wait()
	})
	return &terminal{t: t, in: in, out: lines}
}

// do carries out a command and returns what came of it.
func (c *terminal) do(command string) (shown []string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, "%s\n%s", command, c.settle); err != nil {
		c.t.Fatalf("%s: %v", command, err)
	}
	var reported []string
	settled, late := c.settled(), time.After(testkit.Hang)
	for {
		select {
		case line, more := <-c.out:
			if !more {
				return append(shown, reported...)
			}
			behind, done := settled(line)
			if done {
				return append(shown, reported...)
			}
			switch line = c.shown(line); {
			case line == "":
			case c.reported.MatchString(line):
				reported = append(reported, line)
			case !behind:
				shown = append(shown, line)
			}
		case <-late:
			c.t.Fatalf("%s: it does not end; so far: %q", command, append(shown, reported...))
		}
	}
}

// play carries out the commands of a transcript and returns it with what came of them.
func (c *terminal) play(transcript string) string {
	c.t.Helper()
	var out strings.Builder
	for line := range strings.Lines(transcript) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue // an outcome
		}
		fmt.Fprintln(&out, line)
		if line == "" || line[0] == '#' {
			continue
		}
		for _, shown := range c.sorted(c.do(line)) {
			fmt.Fprintln(&out, "  "+shown)
		}
	}
	return out.String()
}

// sorted sorts lists whose order is open.
func (c *terminal) sorted(lines []string) []string {
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && c.listed.MatchString(lines[to]) {
			to++
		}
		slices.Sort(lines[from:to])
		from = max(from, to)
	}
	return lines
}

// compareTerminal plays a transcript with a program.
func compareTerminal(t *testing.T, file string, with setup, start func(*testing.T, side) *terminal) {
	compare(t, file, with, func(t *testing.T, at side) string { return start(t, at).play(testkit.File(t, file)) })
}
