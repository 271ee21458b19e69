package sim

import (
	"context"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
)

// Property is what [Check] checks, of a single episode whose choices are drawn by rapid: for [rapid.Check] and
// [rapid.MakeFuzz].
func Property(w world.Workload, opts ...Option) func(*rapid.T) {
	s := newSingle(w, opts)
	return func(t *rapid.T) { s.check(t, &rapidSource{t}) }
}

// CheckBytes is what [Check] checks, of a single episode whose choices are a fuzzer's bytes:
//
//	f.Fuzz(func(t *testing.T, data []byte) { sim.CheckBytes(t, w, data) })
//
// The go command makes an input that fails small, and says how to run it again.
func CheckBytes(t *testing.T, w world.Workload, data []byte, opts ...Option) {
	t.Helper()
	newSingle(w, opts).check(t, &byteSource{data})
}

// single is what runs one episode for somebody else's search.
type single struct {
	workload world.Workload
	cfg      Config
	err      error
}

func newSingle(w world.Workload, opts []Option) *single {
	o := optionsOf(opts)
	cfg, err := o.WithDefaults()
	if o.err != nil {
		err = o.err
	}
	return &single{w, cfg, err}
}

// tester is a test of package testing, or of rapid.
type tester interface {
	Helper()
	Log(args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Output() io.Writer
}

// check fails a test with the story if an episode breaks a property.
func (s *single) check(t tester, source world.Source) {
	t.Helper()
	if s.err != nil {
		t.Fatal(s.err)
	}
	var trace []world.Step
	e := s.cfg.episode(tally.Unnumbered, source)
	e.Trace = &trace
	serial := runner.NewSerial(context.Background(), s.workload)
	o := serial.Run(e)
	switch {
	case serial.Frozen != nil:
		t.Fatal(serial.Frozen)
	case o.Aborted != nil:
		panic(o.Aborted) // rapid's own: out of data, or stop
	case len(o.Violations) > 0:
		s.tell(t, Found{Violation: o.Violations[0], Episode: tally.Unnumbered, Choices: o.Choices, Trace: trace, Hash: o.Hash})
	case o.Unknown != "":
		t.Fatalf("%s: unknown: %s", s.workload.Name(), o.Unknown)
	}
}

// tell fails the test with the story of a violation. Rapid discards the output of all runs but the last.
func (s *single) tell(t tester, f Found) {
	t.Helper()
	if t.Output() == io.Discard {
		t.Fatal(f.Message)
	}
	example, err := s.cfg.Counterexample(Result{Workload: s.workload.Name(), Recipe: s.workload.Recipe()}, f)
	if err != nil {
		t.Fatal(f.Story(s.workload))
	}
	told, err := story.Brief(s.workload, example)
	if err != nil {
		t.Fatal(f.Story(s.workload))
	}
	t.Fatal(told.Text(inTest))
}

// rapidSource draws choices through rapid, each from few bits, simple ones being small numbers: rapid shrinks by
// deletion and by lowering.
type rapidSource struct{ t *rapid.T }

var faultDie = rapid.IntRange(0, 15)

// Choose draws a number. Rapid panics when it has run out of data.
func (s *rapidSource) Choose(n int, label string) int {
	defer func() {
		if by := recover(); by != nil {
			world.GiveUp(by)
		}
	}()
	if label == world.LabelFault && faultDie.Draw(s.t, "fault?") < 15 {
		return 0
	}
	return rapid.IntRange(0, n-1).Draw(s.t, label)
}

// byteSource makes choices of bytes. When these are used up it makes the simplest.
type byteSource struct{ rest []byte }

func (s *byteSource) Choose(n int, label string) int {
	if label == world.LabelFault && s.next()%16 < 15 {
		return 0
	}
	x := s.next()
	for most := 256; most < n; most <<= 8 {
		x = x<<8 | s.next()
	}
	return x % n
}

func (s *byteSource) next() (b int) {
	if len(s.rest) > 0 {
		b, s.rest = int(s.rest[0]), s.rest[1:]
	}
	return b
}
