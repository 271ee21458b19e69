package torturecli

import (
	"os"

	"github.com/zktorture/zktorture/worker"
)

// workerCmd is this program as a worker: see docs/workers.md.
type workerCmd struct {
	Recipe string `help:"Which implementation: ours, or published/… for one from the zoo." default:"ours"`
}

// Run serves the recipe until standard input ends.
func (w *workerCmd) Run(c *commandContext) error {
	return worker.ServeRecipe(c, os.Stdin, c.out, w.Recipe)
}
