package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/index"
)

// explainFolder writes an index of a folder of results, and a page for each story. The status is 0 if that was made,
// whatever it lists.
func explainFolder(c *console.Context, dir string) error {
	made, err := index.Build(c, dir, index.Options{
		Tell: func(_ context.Context, e *sim.Counterexample, file string) (*story.Story, error) {
			if e.Exact {
				if err := c.Exactly(); err != nil {
					return nil, err
				}
			}
			w, err := worker.Find(e.Workload, e.Recipe)
			if err != nil {
				return nil, err
			}
			return tell(c, w, e, file)
		},
		Model:    output.ModelOf,
		Section:  serversSection,
		Command:  c.Self,
		File:     c.File,
		Progress: func(file string) { fmt.Fprintf(c.Stderr, "looking at %s\n", file) },
	})
	if err != nil {
		return err
	}
	for _, p := range made.Problems {
		fmt.Fprintf(c.Stderr, "%s: %s\n", p.File, p.Text)
	}
	reportIndex(c, dir, made)
	return nil
}

// reportIndex prints one line about the contents of an index.
func reportIndex(c *console.Context, dir string, made *index.Index) {
	histories := fmt.Sprintf("%d histories", len(made.Histories))
	if len(made.Histories) == 1 {
		histories = "1 history"
	}
	violations := "no violations"
	if n := len(made.Violations); n > 0 {
		violations = console.Count(n, "violation")
	}
	fmt.Fprintf(c.Stdout, "%s: %s, %s, %s\n", filepath.Join(dir, index.Name), console.Count(len(made.Runs), "run"), histories,
		violations)
}
