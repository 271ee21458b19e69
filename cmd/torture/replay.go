package main

import (
	"fmt"
	"os"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

type replayCmd struct {
	File string `arg:"" help:"A counterexample that torture run has written."`
}

// Run carries the command out.
func (r *replayCmd) Run(c *commandContext) error {
	file, err := os.Open(r.File)
	if err != nil {
		return err
	}
	defer file.Close()
	example, err := sim.ReadCounterexample(file)
	if err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	w, err := workload.Find(example.Workload, example.Recipe)
	if err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	replayed, err := sim.Replay(w, example)
	if err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	return showReplay(c, example, replayed)
}

func showReplay(c *commandContext, example *sim.Counterexample, replayed *sim.Replayed) error {
	for _, line := range sim.Lines(replayed.Trace) {
		fmt.Fprintln(c.out, line)
	}
	fmt.Fprintln(c.out)
	if replayed.Violation != nil {
		fmt.Fprintln(c.out, wrap(fmt.Sprintf("VIOLATION of %s: %s", replayed.Violation.Property, replayed.Violation.Message), columns))
	}
	fmt.Fprintf(c.out, "hash %s\n", sim.FormatHash(replayed.Hash))
	switch {
	case replayed.Diverged >= 0:
		return fmt.Errorf("the run differs from the recorded one at line %d of the trace; was the counterexample made by another version?\n  recorded: %s\n  now:      %s",
			replayed.Diverged+1, lineAt(example.Trace, replayed.Diverged), lineAt(sim.Lines(replayed.Trace), replayed.Diverged))
	case replayed.Violation == nil:
		return fmt.Errorf("nothing broke this time, although the trace is the same")
	}
	return verdictError(exitViolation)
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}
