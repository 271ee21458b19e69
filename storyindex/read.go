package storyindex

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
)

// shape is the fields by which the kinds of files are known apart.
type shape struct {
	Format   string            `json:"format"`
	Workload string            `json:"workload"`
	Verdict  string            `json:"verdict"`
	Animals  []json.RawMessage `json:"animals"`
	Op       string            `json:"op"`
	Call     *int64            `json:"call"`
}

// read puts a file into the index, or passes over it.
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
		return fmt.Errorf("it is no JSON, or cut off: %w", err)
	}
	if json.Unmarshal(first, &s) != nil {
		return nil // no object, or one of something else
	}
	switch {
	case s.Format == sim.CounterexampleFormat:
		return b.counterexample(first, path, name)
	case s.Animals != nil:
		return b.hunt(first, name)
	case s.Op != "" && s.Call != nil:
		return b.history(path, name)
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
		b.index.Runs = append(b.index.Runs, run)
		next = nil
		if err := rest.Decode(&next); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("after %d runs it is no JSON, or cut off: %w", n, err)
		}
	}
}

func (b *builder) hunt(data json.RawMessage, name string) error {
	h := Hunt{File: name}
	if err := json.Unmarshal(data, &h); err != nil {
		return err
	}
	b.index.Hunts = append(b.index.Hunts, h)
	return nil
}

// history reads what clients saw in a run on real servers. What was cut off in the middle of a line, as
// the run was killed, counts up to there.
func (b *builder) history(path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	h, err := linearizability.ReadPartial(bufio.NewReader(file))
	if len(h) > 0 {
		b.index.Courses = append(b.index.Courses, newCourse(name, h))
	}
	return err
}

// counterexample lists a violation and writes the page of its story. If the story cannot be told the
// violation is listed all the same.
func (b *builder) counterexample(data json.RawMessage, path, name string) error {
	c, err := sim.ReadCounterexample(bytes.NewReader(data))
	if err != nil {
		return err
	}
	v := Violation{File: name, Workload: c.Workload, Recipe: c.Recipe, Property: c.Property, Message: c.Message}
	if b.stories++; b.stories > storiesMax {
		err = fmt.Errorf("its page is not made: %d stories are the most", storiesMax)
	} else if err = b.page(c, path); err == nil {
		v.Story = strings.TrimSuffix(name, filepath.Ext(name)) + ".html"
	}
	b.index.Violations = append(b.index.Violations, v)
	return err
}

func (b *builder) page(c *sim.Counterexample, path string) error {
	if b.options.Progress != nil {
		b.options.Progress(path)
	}
	s, err := b.options.Tell(b.ctx, c, path)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := s.HTML(&page); err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(path, filepath.Ext(path))+".html", page.Bytes(), 0o644)
}
