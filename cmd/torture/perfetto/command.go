package perfetto

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zktorture/zktorture/cmd/torture/operators"
	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/index"
	"github.com/zktorture/zktorture/story/reading"
)

func init() {
	cli.Extend(func() any { return new(commands) }, nil)
}

type commands struct {
	Trace traceCmd `cmd:"" hidden:"" help:"Write a counterexample, a story a recorded history, or a run on servers with its faults, as a trace, which Perfetto opens."`
}

type traceCmd struct {
	File string `arg:"" help:"A counterexample, a story that torture explain --json has written, a history as for torture check, or the folder that torture live --out wrote, which has faults, too."`
	Out  string `placeholder:"FILE" default:"trace.json" help:"The file to write, in Google's Trace Event Format, for https://ui.perfetto.dev; - is standard output."`
}

func (t *traceCmd) Run(c *console.Context) error {
	defer c.EndSoon(func() int { return console.ExitUnknown })()
	write, err := console.Interruptible(c, func() (func(io.Writer) error, error) { return t.read(c) })
	if err != nil {
		return fmt.Errorf("%s: %w", t.File, err)
	}
	if t.Out == "-" {
		return write(c.Stdout)
	}
	if err := wholefile.WriteBy(t.Out, write); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err = fmt.Fprintf(c.Stdout, "%s: open it at https://ui.perfetto.dev\n", t.Out)
	return err
}

// read reads the file, and returns what writes its trace.
func (t *traceCmd) read(c *console.Context) (func(io.Writer) error, error) {
	if info, err := os.Stat(t.File); err == nil && info.IsDir() {
		return ofRun(c, t.File)
	}
	data, err := wholefile.Read(c, t.File, fileMax)
	if err != nil {
		return nil, err
	}
	head := data[:min(len(data), 200)]
	switch {
	case bytes.Contains(head, []byte(`"`+story.Format+`"`)):
		s, err := reading.Read(bytes.NewReader(data))
		return func(w io.Writer) error { return writeStory(w, s) }, err
	case bytes.Contains(head, []byte(`"`+sim.CounterexampleFormat+`"`)):
		s, err := replayed(c, data)
		return func(w io.Writer) error { return writeStory(w, s) }, err
	}
	h, err := histories.Read(bytes.NewReader(data))
	return func(w io.Writer) error { return writeHistory(w, h, nil) }, err
}

// ofRun reads the folder of a run on servers, and says what it lacks.
func ofRun(c *console.Context, dir string) (func(io.Writer) error, error) {
	begin, err := index.ReadBegin(dir)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(dir, index.HistoryName))
	if err != nil {
		return nil, fmt.Errorf("a run on servers that has finished a round has a history: %w", err)
	}
	defer file.Close()
	whole, _, err := index.WholeRounds(file)
	if err != nil {
		return nil, err
	}
	h, err := histories.Read(whole)
	run := operators.Read(dir, begin)
	for _, what := range run.Missing {
		fmt.Fprintf(c.Stderr, "%s: %s\n", dir, what)
	}
	return func(w io.Writer) error { return writeHistory(w, h, run) }, err
}

// fileMax bounds a file, in bytes.
const fileMax = 1 << 30

// replayed is the story of a counterexample, without what takes experiments.
func replayed(c *console.Context, data []byte) (*story.Story, error) {
	example, err := sim.ReadCounterexample(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if example.Exact {
		if err := c.Exactly(); err != nil {
			return nil, err
		}
	}
	w, err := worker.Find(example.Workload, example.Recipe)
	if err != nil {
		return nil, err
	}
	if example.Wire {
		w = w.OverWire()
	}
	r, err := sim.Replay(w, example)
	if err != nil {
		return nil, err
	}
	return story.Of(example, w, r), nil
}
