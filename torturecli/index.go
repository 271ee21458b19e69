package torturecli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/storyindex"
)

type indexCmd struct {
	Dir string `arg:"" help:"A folder with results, written by torture run --out, or with the output of torture zoo --json."`
}

// Run executes the command. Its status is 0 if the index was made, whatever it lists.
func (x *indexCmd) Run(c *commandContext) error {
	index, err := storyindex.Build(c, x.Dir, storyindex.Options{
		Tell: func(_ context.Context, e *sim.Counterexample, file string) (*story.Story, error) {
			if e.Exact {
				if err := c.exactly(); err != nil {
					return nil, err
				}
			}
			w, err := findWorkload(e.Workload, e.Recipe)
			if err != nil {
				return nil, err
			}
			return tell(c, w, e, file)
		},
		Model:    modelOf,
		Command:  c.self,
		File:     c.file,
		Progress: func(file string) { fmt.Fprintf(c.err, "looking at %s\n", file) },
	})
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	for _, p := range index.Problems {
		fmt.Fprintf(c.err, "%s: %s\n", p.File, p.Text)
	}
	x.report(c, index)
	return nil
}

// report prints one line about the contents of the index.
func (x *indexCmd) report(c *commandContext, index *storyindex.Index) {
	told, broken := 0, 0
	for _, v := range index.Violations {
		if v.Story != "" {
			told++
		}
	}
	for _, h := range index.Histories {
		if h.Verdict == linearizability.Violation.String() {
			broken++
		}
	}
	fmt.Fprintf(c.out,
		"%s: %d violations, %d stories, %d runs, %d courses, %d hunts, %d histories (%d of them break a rule)\n",
		filepath.Join(x.Dir, storyindex.Name), len(index.Violations), told,
		len(index.Runs), len(index.ProgressLogs), len(index.Hunts), len(index.Histories), broken)
}
