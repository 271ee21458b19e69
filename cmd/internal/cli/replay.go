package cli

import (
	"fmt"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/live/confirm"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
)

type ReplayCmd struct {
	File string `arg:"" help:"A counterexample that torture run or a test has written."`
	Live bool   `help:"Ask three real servers, started on this machine, the same, and compare the answers."`
}

func (r *ReplayCmd) Run(c *console.Context) error {
	if test, ok := failedTest(r.File); ok && !r.Live {
		return console.OfFile(r.File, test.replay(c))
	}
	example, w, err := loadExample(c, r.File)
	if err != nil {
		return console.OfFile(r.File, err)
	}
	if r.Live {
		return r.confirm(c, w, example)
	}
	defer c.EndSoon(func() int { return console.ExitUnknown })()
	replayed, err := console.Interruptible(c, func() (*sim.Replayed, error) { return sim.Replay(w, example) })
	if err != nil {
		return console.OfFile(r.File, err)
	}
	return showReplay(c, example, replayed)
}

// confirm says whether real servers behave as the simulated ones did. The status is 1 if they do.
func (r *ReplayCmd) confirm(c *console.Context, w *workload.Workload, example *sim.Counterexample) error {
	confirmed, err := confirmExample(c, w, example)
	if err != nil {
		return console.OfFile(r.File, err)
	}
	if confirmed.Difference != "" {
		fmt.Fprintln(c.Stdout, console.Wrap(fmt.Sprintf("real servers differed at step %d: %s", confirmed.Step,
			confirmed.Difference), console.Columns))
	}
	switch {
	case confirmed.Untried != "":
		return fmt.Errorf("%s was not tried on real servers: %s", r.File, confirmed.Untried)
	case confirmed.Violation == nil:
		fmt.Fprintf(c.Stdout, "not confirmed: real servers do not answer so that %s breaks\n", example.Property)
		return console.VerdictError(console.ExitUnknown)
	}
	output.PrintBroken(c.Stdout, fmt.Sprintf("confirmed%s, as real servers answer exactly so: ", Tries(confirmed)), *confirmed.Violation)
	return console.VerdictError(console.ExitViolation)
}

// triesLine is the number of tries, if there were several.
func triesLine(r *sim.Replayed) string {
	switch {
	case r.Try == 1:
		return ""
	case r.Diverged < 0:
		return fmt.Sprintf("not repeatable: this is try %d, the first that took the recorded steps", r.Try)
	}
	return fmt.Sprintf("not repeatable: none of %d tries took the recorded steps", r.Try)
}

func showReplay(c *console.Context, example *sim.Counterexample, replayed *sim.Replayed) error {
	for _, line := range replay.Folded(replay.Lines(replayed.Trace)) {
		fmt.Fprintln(c.Stdout, line)
	}
	fmt.Fprintln(c.Stdout)
	if replayed.Violation != nil {
		output.PrintBroken(c.Stdout, "", *replayed.Violation)
	}
	fmt.Fprintf(c.Stdout, "hash %s\n", digest.Hex(replayed.Hash))
	if line := triesLine(replayed); line != "" {
		fmt.Fprintln(c.Stdout, line)
	}
	if err := story.Same(example, replayed); err != nil {
		return err
	}
	return console.VerdictError(console.ExitViolation)
}

// confirmExample confirms a counterexample on real servers started for it.
func confirmExample(c *console.Context, w *workload.Workload,
	example *sim.Counterexample) (*confirm.Confirmation, error) {
	replayed, err := sim.Replay(w, example)
	if err != nil {
		return nil, err
	}
	e, err := confirm.StartServers(c)
	if err != nil {
		return nil, err
	}
	defer e.Stop()
	return confirm.On(c, e, w, example, replayed)
}

// Tries names the try that succeeded, unless it was the first.
func Tries(f *confirm.Confirmation) string {
	if f.Tries < 2 {
		return ""
	}
	return fmt.Sprintf(" at try %d", f.Tries)
}
