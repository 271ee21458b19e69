package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/zktorture/zktorture/internal/cycle"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/world"
)

// Counterexample is a violation in a file: everything that is needed to run it again, and what was seen, for people.
type Counterexample struct {
	Format   string          `json:"format"` // [CounterexampleFormat]
	Workload string          `json:"workload"`
	Recipe   string          `json:"recipe"`
	Faults   string          `json:"faults"`         // that were allowed
	Clients  int             `json:"clients"`        // at most so many
	Ops      int             `json:"ops"`            // at most so many a user
	Exact    bool            `json:"exact,omitzero"` // the choices have what the Go runtime decided: see [Exact]
	Property string          `json:"property"`
	Message  string          `json:"message"`
	Hash     string          `json:"hash,omitzero"` // of every step
	Choices  world.Choices   `json:"choices,omitzero"`
	Trace    []string        `json:"trace,omitzero"`
	History  json.RawMessage `json:"history,omitempty"`

	Unfinished string `json:"unfinished,omitempty"` // why it may not be minimal

	// Wire says that clients were go-zookeeper's own, see [world.WireNote].
	Wire bool `json:"wire,omitempty"`

	// Divergence says that equal choices gave different runs: a replay may need several tries, and the trace may not
	// show the violation.
	Divergence *Divergence `json:"divergence,omitempty"`
}

// CounterexampleFormat is the first field of every counterexample file.
const CounterexampleFormat = "zktorture counterexample 1"

// Lines formats a trace.
func Lines(trace []world.Step) []string {
	lines := make([]string, len(trace))
	for i, step := range trace {
		lines[i] = step.String()
	}
	return lines
}

// Folded returns the lines of a trace with what repeats itself, as in a livelock, told once.
func Folded(lines []string) (told []string) {
	shapes := make([]string, len(lines))
	for i, line := range lines {
		shapes[i] = cycle.Shape(beginOfLine.ReplaceAllString(line, ""))
	}
	next := 0
	for _, c := range cycle.Find(shapes) {
		told = append(told, lines[next:c.First+c.Length]...)
		next = c.First + c.All()
		told = append(told, cycle.Repeat(stepOf(lines[c.First]), stepOf(lines[c.First+c.Length-1]), stepOf(lines[next-1]),
			c.Times))
	}
	return append(told, lines[next:]...)
}

// beginOfLine is the step and the moment of a line.
var beginOfLine = regexp.MustCompile(`^ *(\d+) +[\d.]+s  `)

func stepOf(line string) string { return strings.Fields(line)[0] }

// Write writes the file.
func (c *Counterexample) Write(w io.Writer) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(c); err != nil {
		return err
	}
	_, err := w.Write(compactNumbers(out.Bytes()))
	return err
}

// compactNumbers puts lists of numbers, which Encode spreads over a line each, onto one line.
func compactNumbers(in []byte) []byte {
	return numberLines.ReplaceAllFunc(in, func(lines []byte) []byte {
		return bytes.Join(bytes.Fields(lines), nil)
	})
}

var numberLines = regexp.MustCompile(`(?:\n\s*-?\d+,?)+\n`)

// ReadCounterexample reads a file and says what is wrong if it is none.
func ReadCounterexample(r io.Reader) (*Counterexample, error) {
	data, err := io.ReadAll(io.LimitReader(r, counterexampleMax+1))
	if err != nil {
		return nil, err
	}
	if len(data) > counterexampleMax {
		return nil, fmt.Errorf("not a counterexample: it is larger than %d MB", counterexampleMax>>20)
	}
	var c Counterexample
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("not a counterexample, or cut off: %w", err)
	}
	if c.Format != CounterexampleFormat {
		return nil, fmt.Errorf("not a counterexample that this version can read: its format is %q, wanted is %q",
			c.Format, CounterexampleFormat)
	}
	if c.Hash == "" || c.Property == "" || len(c.Trace) == 0 {
		return nil, fmt.Errorf("the counterexample is incomplete: it needs property, hash and trace")
	}
	return &c, nil
}

const counterexampleMax = 64 << 20

// terms are those of the run in which it was found.
func (c *Counterexample) Terms() (runner.Terms, error) {
	faults, err := world.ParseFaults(c.Faults)
	if err != nil {
		return runner.Terms{}, fmt.Errorf("the counterexample cannot be run: %w", err)
	}
	return runner.Terms{Faults: faults, Clients: c.Clients, Ops: c.Ops}.WithDefaults()
}

// Replayed is what running a counterexample again gave.
type Replayed struct {
	Trace     []world.Step
	Hash      uint64
	Violation *world.Violation // nil if nothing broke
	Diverged  int              // index of the first line of the trace that differs from the file's; -1 if none
	Try       int              // at which try the runs were equal, from 1; how many were made if none was
	Record    *world.Record    // what else is known of the run
}

// Replay runs a counterexample again. If the run differs from the file's it tries again, up to twenty times: a recipe
// may decide something that is no choice, see [Divergence]. If all runs differ it returns the first that breaks the
// same property, or else the first.
//
// The error is for a file from exact mode that is run in another build, too: see [errNotExact].
func Replay(workload world.Workload, c *Counterexample) (*Replayed, error) {
	if c.Exact && !bubble.Exact {
		return nil, errNotExact
	}
	var best *Replayed
	for try := 1; try <= RepeatsMax; try++ {
		r, err := Once(workload, c)
		if err != nil {
			return nil, err
		}
		if r.Diverged < 0 || best == nil || !best.breaks(c.Property) && r.breaks(c.Property) {
			best = r
		}
		best.Try = try
		if r.Diverged < 0 {
			break
		}
	}
	return best, nil
}

// errNotExact is the error of a counterexample from exact mode that is run in an ordinary build.
var errNotExact = errors.New("the counterexample was found in exact mode and needs it: " +
	"torture replay FILE builds what it takes, and a test is run by torture test")

func (r *Replayed) breaks(property string) bool {
	return r.Violation != nil && r.Violation.Property == property
}

// Once is one try of [Replay].
func Once(workload world.Workload, c *Counterexample) (*Replayed, error) {
	terms, err := c.Terms()
	if err != nil {
		return nil, err
	}
	var trace []world.Step
	e := terms.Episode(c.Choices.Replay())
	e.Trace, e.Places = &trace, bubble.NewPlaces()
	e.Exact = c.Exact
	s := runner.NewSerial(context.Background(), workload)
	o := s.Run(e)
	if s.Frozen != nil {
		return nil, s.Frozen
	}
	r := &Replayed{Trace: trace, Hash: o.Hash, Diverged: Diverged(Lines(trace), c.Trace), Record: o.Record}
	for i := range o.Violations {
		if r.Violation == nil || o.Violations[i].Property == c.Property {
			r.Violation = &o.Violations[i]
		}
	}
	if r.Diverged < 0 && digest.Hex(o.Hash) != c.Hash {
		r.Diverged = len(trace)
	}
	return r, nil
}

func Diverged(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}
