package main

import (
	"fmt"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

type replayCmd struct {
	File string `arg:"" help:"A counterexample that torture run has written."`
}

// Run carries the command out.
func (r *replayCmd) Run(c *commandContext) error {
	example, w, err := loadExample(r.File)
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
	if err := story.Same(example, replayed); err != nil {
		return err
	}
	return verdictError(exitViolation)
}
