package index

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

// shape is the fields that tell the kinds of files apart.
type shape struct {
	Format   string `json:"format"`
	Workload string `json:"workload"`
	Verdict  string `json:"verdict"`
	Op       string `json:"op"`
	Call     *int64 `json:"call"`
}

// read adds a file to the index, or skips it.
func (b *builder) read(path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReader(file))
	var first json.RawMessage
	var s shape
	if err := decoder.Decode(&first); err != nil {
		return fmt.Errorf("it is not JSON, or cut off: %w", err)
	}
	if json.Unmarshal(first, &s) != nil {
		return nil // no object, or an unrelated one
	}
	switch {
	case s.Format == sim.CounterexampleFormat:
		return b.counterexample(first, path, name)
	case s.Format == BeginFormat:
		return b.begun(first, name)
	case s.Op != "" && s.Call != nil:
		b.recorded = append(b.recorded, name)
	case s.Workload != "" && s.Verdict != "":
		return b.runs(first, decoder, name)
	}
	return nil
}

// runs reads runs: one, or one a line.
func (b *builder) runs(first json.RawMessage, rest *json.Decoder, name string) error {
	for n, next := 1, first; ; n++ {
		run := Run{File: name}
		if err := json.Unmarshal(next, &run); err != nil {
			return err
		}
		for _, limit := range run.Thresholds {
			if limit.Verdict == "violation" || run.Verdict == "ok" && limit.Verdict != "ok" {
				run.Verdict, run.Reason = limit.Verdict, "operations took longer than a threshold allows, or that is not known"
			}
		}
		b.index.Runs = append(b.index.Runs, run)
		next = nil
		if err := rest.Decode(&next); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("after %d runs it is not JSON, or cut off: %w", n, err)
		}
	}
}

// counterexample lists a violation and writes its story's page. If the story cannot be told the violation is listed
// without it.
func (b *builder) counterexample(data json.RawMessage, path, name string) error {
	c, err := sim.ReadCounterexample(bytes.NewReader(data))
	if err != nil {
		return err
	}
	v := Violation{File: name, Workload: c.Workload, Recipe: c.Recipe, Property: c.Property, Message: c.Message, steps: len(c.Trace)}
	b.progress(name)
	v.Story, err = b.tell(name, func() (*story.Story, error) { return b.options.Tell(b.ctx, c, path) })
	b.index.Violations = append(b.index.Violations, v)
	return err
}
