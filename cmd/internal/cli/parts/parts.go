// Package parts runs parts of campaigns in other processes of the same program, which answer questions.
package parts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/workload"
)

// Variable makes a process one of several that run the episodes of a campaign: worlds in exact mode run one at a
// time in a process. It has the same command line as the process that started it, and the variable is the seed.
const Variable = "ZKTORTURE_PART"

// Parts are such processes. They answer questions (see [part]) with a [tally.Part] each, as lines of JSON.
type Parts struct {
	idle chan *Child
	all  []*Child
}

// part asks for some episodes.
type part struct{ From, Episodes int }

// Start starts n processes of this program.
func Start(c *console.Context, n int, args, env []string) (*Parts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Parts{idle: make(chan *Child, n)}
	for range n {
		cmd := exec.Command(self, args...)
		cmd.Env = append(append(os.Environ(), "GOMAXPROCS=1"), env...)
		cmd.Stderr = c.Bare.Stderr
		one, err := StartChild(cmd)
		if err != nil {
			p.End()
			return nil, fmt.Errorf("a process for a part of the campaign: %w", err)
		}
		p.all = append(p.all, one)
		p.idle <- one
	}
	return p, nil
}

// run is for [sim.Config.Elsewhere]. What is under way when a run is interrupted counts.
func (p *Parts) run(ctx context.Context, from, episodes int) (result tally.Part, err error) {
	one := <-p.idle
	defer func() { p.idle <- one }()
	err = one.Ask(context.WithoutCancel(ctx), part{from, episodes}, &result, Limits{})
	return result, err
}

// End ends the processes.
func (p *Parts) End() {
	var all sync.WaitGroup
	for _, one := range p.all {
		all.Go(one.End)
	}
	all.Wait()
}

// AnswerEpisodes is the part of another process: it runs what it is asked for until nobody asks any more.
func AnswerEpisodes(c *console.Context, w *workload.Workload, cfg sim.Config, seed string) (err error) {
	if cfg.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return fmt.Errorf("%s: %w", Variable, err)
	}
	return Answer(c, func(ctx context.Context, asked part) (any, error) {
		return cfg.RunPart(ctx, w, asked.From, asked.Episodes)
	})
}

// Elsewhere gives a campaign in exact mode other processes for its episodes, if there are processors for several.
func Elsewhere(c *console.Context, cfg *sim.Config) (end func(), err error) {
	n := runtime.GOMAXPROCS(0)
	if !sim.Exact() || n < 2 {
		return func() {}, nil
	}
	p, err := Start(c, n, c.Args, []string{Variable + "=" + strconv.FormatUint(cfg.Seed, 10)})
	if err != nil {
		return nil, err
	}
	cfg.Elsewhere, cfg.Workers = p.run, n
	return p.End, nil
}
