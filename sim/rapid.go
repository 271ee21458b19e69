package sim

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// rapidSource draws choices through rapid, each from few bits, simple ones being small numbers: rapid shrinks by
// deletion and by lowering.
type rapidSource struct{ t *rapid.T }

func newRapidSource(t *rapid.T) *rapidSource { return &rapidSource{t} }

var faultDie = rapid.IntRange(0, 15)

// Choose draws a number. Rapid panics when it has run out of data.
func (s *rapidSource) Choose(n int, label string) int {
	defer func() {
		if by := recover(); by != nil {
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
func underRapid(t *testing.T, property func(*rapid.T)) (said string, failed bool) {
	t.Helper()
	quiet := &quietTB{T: t, loud: flagOf("rapid.v") == "true"}
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
	loud   bool
	failed bool
	said   []string
}

func (q *quietTB) Logf(format string, args ...any) {
	q.T.Helper()
	text := fmt.Sprintf(format, args...)
	switch {
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
