package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/runner"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/worker"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
)

// workCmd works for a campaign.
type workCmd struct {
	URL         string `arg:"" help:"The server's address, as the coordinator prints it; several with commas between them."`
	accessFlags `group:"The server:"`

	Workers  int           `help:"How many units to run at a time (default: one for each processor)." placeholder:"N"`
	Main     string        `help:"The folder that holds the plan's main package, if it has one (default: this one)." default:"." placeholder:"DIR" type:"path"`
	Programs string        `help:"The folder for programs that are built for the plan (default: a temporary one)." placeholder:"DIR" type:"path"`
	Patience time.Duration `help:"How long to wait for a coordinator that cannot be reached (default: ${default})." default:"1h"`
}

// Run works until the campaign ends.
func (w *workCmd) Run(c *console.Context) error {
	say := func(text string) { fmt.Fprintln(c.Stderr, text) }
	access, id, err := w.to(w.URL)
	if err != nil {
		return err
	}
	nc, err := access.Dial(c, w.Patience)
	if err != nil {
		return err
	}
	defer nc.Close()
	dir, err := os.MkdirTemp("", "torture-campaign-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text, err := worker.Plan(c, nc, id, say)
	if errors.Is(err, worker.ErrEnded) {
		say("The campaign has ended.")
		return nil
	}
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "plan.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	plan, err := campaign.ReadPlan(c, file)
	if err != nil {
		return err
	}
	config, err := w.config(c, plan, file, dir, say)
	if err != nil {
		return errors.Join(err, worker.Refuse(c, nc, engine.ID(plan.Digest()), config, err))
	}
	if err := worker.Work(c, nc, engine.ID(plan.Digest()), config); err != nil {
		return err
	}
	say("The campaign has ended.")
	return nil
}

// config is the worker, once its programs are those of the plan.
func (w *workCmd) config(
	ctx context.Context, plan *campaign.Plan, file, dir string, say func(string),
) (worker.Config, error) {
	self := campaign.ThisProgram()
	refused := workerConfig(0, plan, []runner.Program{{Program: self}}, file, say)
	if w.Programs != "" {
		dir = w.Programs
	}
	programs, err := runner.Programs(ctx, plan, w.Main, dir)
	if err != nil {
		return refused, err
	}
	for _, p := range programs {
		if err := runner.Check(plan, p); err != nil {
			return refused, err
		}
	}
	slots := w.Workers
	if slots < 1 {
		slots = runtime.GOMAXPROCS(0)
	}
	config := workerConfig(slots, plan, programs, file, say)
	config.Patience = w.Patience
	return config, nil
}
