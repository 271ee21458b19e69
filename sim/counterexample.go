package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/cycle"
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
	Choices  Choices         `json:"choices,omitzero"`
	Trace    []string        `json:"trace,omitzero"`
	History  json.RawMessage `json:"history,omitempty"`

	// Wire says that clients were go-zookeeper's own, see [WireNote].
	Wire bool `json:"wire,omitempty"`

	// Divergence says that equal choices gave different runs: a replay may need several tries, and the trace may not
	// show the violation.
	Divergence *Divergence `json:"divergence,omitempty"`
}

// CounterexampleFormat is the first field of every counterexample file.
const CounterexampleFormat = "zktorture counterexample 1"

// Counterexample makes the file of a violation that a campaign found.
func (cfg Config) Counterexample(r Result, f Found) (*Counterexample, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	history, err := json.Marshal(f.History)
	if err != nil {
		return nil, fmt.Errorf("sim: the history of the counterexample: %w", err)
	}
	return &Counterexample{
		Format: CounterexampleFormat, Workload: r.Workload, Recipe: r.Recipe,
		Faults: cfg.Faults.String(), Clients: cfg.Clients, Ops: cfg.Ops, Exact: exactBuild,
		Property: f.Property, Message: f.Message, Hash: FormatHash(f.Hash),
		Choices: f.Choices, Trace: Lines(f.Trace), History: history, Divergence: f.Divergence, Wire: r.Wire,
	}, nil
}

// FormatHash prints the hash of a run.
func FormatHash(h uint64) string { return fmt.Sprintf("%016x", h) }

// Lines formats a trace.
func Lines(trace []Step) []string {
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
	if err := json.Unmarshal(bytes.TrimRight(data, "\x00"), &c); err != nil { // zeros: see crashFile
		return nil, fmt.Errorf("not a counterexample, or cut off: %w", err)
	}
	if c.Format != CounterexampleFormat {
		return nil, fmt.Errorf("not a counterexample that this version can read: its format is %q, wanted is %q",
			c.Format, CounterexampleFormat)
	}
	if c.Property != PropertyCrash && (c.Hash == "" || c.Property == "" || len(c.Trace) == 0) {
		return nil, fmt.Errorf("the counterexample is incomplete: it needs property, hash and trace")
	}
	return &c, nil
}

const counterexampleMax = 64 << 20

// Plan returns what the counterexample's workload draws its episode from, for objects below a root, and the faults
// that may strike in it.
func (c *Counterexample) Plan(root string) (*Plan, error) {
	cfg, err := c.config()
	if err != nil {
		return nil, err
	}
	e := cfg.episode(c.Choices.Replay())
	e.servers = fakezk.New(fakezk.Config{})
	w := newWorld(e)
	w.drawWorld()
	return w.plan(root), nil
}

// config is the configuration of the run in which it was found.
func (c *Counterexample) config() (Config, error) {
	faults, err := ParseFaults(c.Faults)
	if err != nil {
		return Config{}, fmt.Errorf("the counterexample cannot be run: %w", err)
	}
	return Config{Faults: faults, NoFaultsAtAll: true, Clients: c.Clients, Ops: c.Ops}.withDefaults()
}

// Replayed is what running a counterexample again gave.
type Replayed struct {
	Trace     []Step
	Hash      uint64
	Violation *Violation // nil if nothing broke
	Diverged  int        // index of the first line of the trace that differs from the file's; -1 if none
	Try       int        // at which try the runs were equal, from 1; how many were made if none was
	Record    *Record    // what else is known of the run
}

// Replay runs a counterexample again. If the run differs from the file's it tries again, up to twenty times: a recipe
// may decide something that is no choice, see [Divergence]. If all runs differ it returns the first that breaks the
// same property, or else the first.
//
// The error is for a file from exact mode that is run in another build, too: see [ErrNotExact].
func Replay(workload Workload, c *Counterexample) (*Replayed, error) {
	if c.Exact && !exactBuild {
		return nil, ErrNotExact
	}
	var best *Replayed
	for try := 1; try <= repeatsMax; try++ {
		r, err := replayOnce(workload, c)
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

// ErrNotExact is the error of a counterexample from exact mode that is run in an ordinary build.
var ErrNotExact = errors.New("the counterexample was found in exact mode and needs it: " +
	"torture replay FILE builds what it takes, and a test is run by torture test")

func (r *Replayed) breaks(property string) bool {
	return r.Violation != nil && r.Violation.Property == property
}

func replayOnce(workload Workload, c *Counterexample) (*Replayed, error) {
	cfg, err := c.config()
	if err != nil {
		return nil, err
	}
	var trace []Step
	e := cfg.episode(c.Choices.Replay())
	e.trace, e.places = &trace, newPlaces()
	e.exact = c.Exact
	alone := &solo{ctx: context.Background(), workload: workload, servers: fakezk.New(fakezk.Config{})}
	o := alone.run(e)
	if alone.frozen != nil {
		return nil, alone.frozen
	}
	r := &Replayed{Trace: trace, Hash: o.hash, Diverged: diverged(Lines(trace), c.Trace), Record: o.record}
	for i := range o.Violations {
		if r.Violation == nil || o.Violations[i].Property == c.Property {
			r.Violation = &o.Violations[i]
		}
	}
	switch {
	case c.Property == PropertyCrash:
		r.Diverged = -1 // nobody could write down what would have to be the same
	case r.Diverged < 0 && FormatHash(o.hash) != c.Hash:
		r.Diverged = len(trace)
	}
	return r, nil
}

func diverged(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}
