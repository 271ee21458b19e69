package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/zktorture/zktorture/linearizability"
)

type checkCmd struct {
	File       string        `arg:"" help:"A history: one JSON object a line; - is standard input."`
	Model      string        `required:"" help:"What the history is judged against, as lock or queue; a wrong name lists them."`
	Parties    int           `help:"How many parties the barrier has, for the model barrier." default:"2"`
	Permits    int           `help:"How many permits the semaphore has, for the model semaphore." default:"1"`
	StaleReads bool          `help:"Allow peeks, gets and empty polls to answer from the past, as ZooKeeper's reads may without a sync."`
	Timeout    time.Duration `help:"How long the history of one object may take; after that its verdict is unknown." default:"1m"`
}

// Run carries the command out.
func (k *checkCmd) Run(c *commandContext) error {
	model, err := linearizability.ByName(k.Model, linearizability.Parameters{Parties: k.Parties, Permits: k.Permits})
	if err != nil {
		return err
	}
	history, err := k.read()
	if err != nil {
		return fmt.Errorf("%s: %w", k.File, err)
	}
	if len(history) == 0 {
		return fmt.Errorf("%s: the history is empty, so there is nothing to judge", k.File)
	}
	if k.StaleReads {
		history = linearizability.StaleReads(history)
	}
	verdicts := linearizability.Check(model, history, linearizability.Options{Timeout: k.Timeout})
	for _, v := range verdicts {
		if v.Outcome != linearizability.Ok {
			fmt.Fprintln(c.out, v)
		}
	}
	worst := linearizability.Worst(verdicts)
	fmt.Fprintf(c.out, "%s: %d operations on %d objects, judged as %s\n", worst, len(history), len(verdicts), k.Model)
	switch worst {
	case linearizability.Violation:
		return verdictError(exitViolation)
	case linearizability.Undetermined:
		return verdictError(exitUnknown)
	}
	return nil
}

func (k *checkCmd) read() (linearizability.History, error) {
	var in io.Reader = os.Stdin
	if k.File != "-" {
		file, err := os.Open(k.File)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return linearizability.Read(in)
}
