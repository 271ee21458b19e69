package cli

import (
	"os"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/live/worker"
)

// WorkerCmd is this program as a worker: see docs/workers.md.
type WorkerCmd struct {
	Recipe string `help:"Implementation to serve, or published/… for a known bug. Default: the first of its kind."`
}

// Run serves the recipe until standard input ends.
func (w *WorkerCmd) Run(c *console.Context) error {
	return worker.ServeRecipe(c, os.Stdin, c.Stdout, w.Recipe)
}
