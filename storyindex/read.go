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
	"unicode/utf8"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/storyindex/progresslog"
)

// shape is the fields that tell the kinds of files apart.
type shape struct {
	Format   string            `json:"format"`
	Workload string            `json:"workload"`
	Verdict  string            `json:"verdict"`
	Animals  []json.RawMessage `json:"animals"`
	Op       string            `json:"op"`
	Call     *int64            `json:"call"`
	Time     *float64          `json:"t_s"`
}

// read adds a file to the index, or skips it.
func (b *builder) read(path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if filepath.Ext(path) == ".md" {
		b.index.Documents = append(b.index.Documents, Document{name, heading(file, name)})
		return nil
	}
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
	case s.Animals != nil:
		return b.hunt(first, name)
	case s.Op != "" && s.Call != nil:
		b.recorded = append(b.recorded, name)
	case s.Workload != "" && s.Verdict != "":
		return b.runs(first, decoder, name)
	case s.Time != nil:
		return b.progressLog(file, name)
	}
	return nil
}

// headingMax bounds a text's heading, in characters.
const headingMax = 200

// heading returns the first heading of a text, or else its name.
func heading(text io.Reader, name string) string {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		title, found := strings.CutPrefix(lines.Text(), "# ")
		if title = strings.TrimSpace(strings.ToValidUTF8(title, "")); found && title != "" &&
			utf8.RuneCountInString(title) <= headingMax {
			return title
		}
	}
	return name
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
			return fmt.Errorf("after %d runs it is not JSON, or cut off: %w", n, err)
		}
	}
}

func (b *builder) hunt(data json.RawMessage, name string) error {
	h := Hunt{File: name}
	err := json.Unmarshal(data, &h)
	if err == nil {
		b.index.Hunts = append(b.index.Hunts, h)
	}
	return err
}

// progressLog reads the progress log of a run up to its first invalid line.
func (b *builder) progressLog(file io.ReadSeeker, name string) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	points, err := progresslog.Read(file)
	if len(points) > 0 {
		b.index.ProgressLogs = append(b.index.ProgressLogs, newProgressLog(name, points))
	}
	return err
}

// counterexample lists a violation and writes its story's page. If the story cannot be told the violation is listed
// without it.
func (b *builder) counterexample(data json.RawMessage, path, name string) error {
	c, err := sim.ReadCounterexample(bytes.NewReader(data))
	if err != nil {
		return err
	}
	v := Violation{File: name, Workload: c.Workload, Recipe: c.Recipe, Property: c.Property, Message: c.Message}
	b.progress(name)
	v.Story, err = b.tell(name, func() (*story.Story, error) { return b.options.Tell(b.ctx, c, path) })
	b.index.Violations = append(b.index.Violations, v)
	return err
}
