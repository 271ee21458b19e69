package sim

import (
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/internal/shellword"
)

// rapidSource draws choices through rapid, each from few bits, simple ones being small numbers: rapid shrinks by
// deletion and by lowering.
type rapidSource struct {
	t    *rapid.T
	file bool // the data are a fail file's, which once was a whole episode …
	over bool // … and is no more: the code asks for more
}

func newRapidSource(t *rapid.T) *rapidSource { return &rapidSource{t: t} }

var faultDie = rapid.IntRange(0, 15)

// Choose draws a number. Rapid panics when it has run out of data. After those of a fail file come the simplest choices,
// as after those of a counterexample: a fixed recipe often takes more steps, and the file is to remain a test of it.
func (s *rapidSource) Choose(n int, label string) (choice int) {
	if s.over {
		return 0
	}
	defer func() {
		switch by := recover(); {
		case by == nil:
		case s.file:
			s.over, choice = true, 0
		default:
			panic(givenUp{by})
		}
	}()
	if label == LabelFault && faultDie.Draw(s.t, "fault?") < 15 {
		return 0
	}
	return intBelow(n).Draw(s.t, label)
}

// intBelow returns the generator of numbers below n; generators are made once, as making them is dear.
func intBelow(n int) *rapid.Generator[int] {
	if n < len(below) {
		return below[n]
	}
	return rapid.IntRange(0, n-1)
}

var below = func() (all [32]*rapid.Generator[int]) {
	for n := 1; n < len(all); n++ {
		all[n] = rapid.IntRange(0, n-1)
	}
	return all
}()

// underRapid lets rapid check a property, and returns rapid's messages, which come after the story. It does so on a
// goroutine that the property may end. With -rapid.v rapid prints at once.
func underRapid(t *testing.T, files *failFiles, property func(*rapid.T)) (said string, failed bool) {
	t.Helper()
	quiet := &quietTB{T: t, files: files, loud: flagOf("rapid.v") == "true"}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		rapid.Check(quiet, property)
	}()
	<-ended
	return strings.Join(quiet.said, "\n"), quiet.failed
}

// quietTB keeps rapid's messages about a test. The story says that the test has failed.
type quietTB struct {
	*testing.T
	files  *failFiles
	loud   bool
	failed bool
	said   []string
}

func (q *quietTB) Logf(format string, args ...any) {
	q.T.Helper()
	text := fmt.Sprintf(format, args...)
	switch {
	case q.files.hear(text):
	case q.loud:
		q.T.Log(text)
	case strings.HasPrefix(text, "[rapid] draw "): // the story tells choices better
	case strings.HasPrefix(text, "[rapid] "):
		q.said = append(q.said, strings.TrimSuffix(text, "\nFailed test output:"))
	}
}

func (q *quietTB) Errorf(format string, args ...any) {
	q.T.Helper()
	q.failed = true
	q.Logf(format, args...)
}

// Failed tells whether this check has.
func (q *quietTB) Failed() bool { return q.failed }

// FailNow is the last that rapid calls.
func (q *quietTB) FailNow() {}

// reproduce is what rapid says about how to see a failure again.
var reproduce = regexp.MustCompile(`(?m)\nTo (?:try to )?reproduce, specify .*$`)

var (
	reproduceFile = regexp.MustCompile(`-rapid\.failfile=("(?:[^"\\]|\\.)*")`)
	reproduceSeed = regexp.MustCompile(`-rapid\.seed=\d+`)
)

// flagsAgain takes the flags with which a failure is seen again out of what rapid said. There are none if rapid was
// interrupted.
func flagsAgain(said string) (rest, flags string) {
	how := reproduce.FindString(said)
	seed := reproduceSeed.FindString(how)
	rest = strings.Replace(said, how, "", 1)
	if file := reproduceFile.FindStringSubmatch(how); file != nil {
		if name, err := strconv.Unquote(file[1]); err == nil {
			flags = "-rapid.failfile=" + shellword.Quote(name)
		}
	}
	switch {
	case flags == "":
		flags = seed
	case seed != "":
		rest += "; " + seed + " finds it, too"
	}
	return rest, flags
}

// flagsMu is held while flags of the test binary are set for one of several tests that run at the same time.
var flagsMu sync.Mutex

// setFlags sets the flags of the test binary that the user has not set, until undo is called, which may be called
// again.
func setFlags(values map[string]string) (undo func()) {
	flagsMu.Lock()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	old := map[string]string{}
	for name, value := range values {
		if f := flag.Lookup(name); f != nil && !given[name] {
			old[name] = f.Value.String()
			f.Value.Set(value)
		}
	}
	return sync.OnceFunc(func() {
		for name, value := range old {
			flag.Lookup(name).Value.Set(value)
		}
		flagsMu.Unlock()
	})
}

// flagOf returns the value of a flag of the test binary, "" if there is no such flag.
func flagOf(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}
