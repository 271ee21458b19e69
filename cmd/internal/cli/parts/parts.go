// Package parts runs parts of campaigns in other processes of the same program, which answer questions.
package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	idle chan *partProcess
	All  []*partProcess
}

// part asks for some episodes.
type part struct{ From, Episodes int }

type partProcess struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	Stdout *json.Decoder
}

// Start starts n processes of this program.
func Start(c *console.Context, n int, args, env []string) (*Parts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Parts{idle: make(chan *partProcess, n)}
	for range n {
		cmd := exec.Command(self, args...)
		cmd.Env = append(append(os.Environ(), "GOMAXPROCS=1"), env...)
		cmd.Stderr = c.Bare.Stderr
		one, err := startPart(cmd)
		if err != nil {
			p.End()
			return nil, fmt.Errorf("a process for a part of the campaign: %w", err)
		}
		p.All = append(p.All, one)
		p.idle <- one
	}
	return p, nil
}

func startPart(cmd *exec.Cmd) (*partProcess, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &partProcess{cmd, in, json.NewDecoder(out)}, cmd.Start()
}

// run is for [sim.Config.Elsewhere].
func (p *Parts) run(_ context.Context, from, episodes int) (result tally.Part, err error) {
	err = p.Ask(part{from, episodes}, &result)
	return result, err
}

// Ask asks a process that has nothing to do.
func (p *Parts) Ask(question, answer any) error {
	one := <-p.idle
	defer func() { p.idle <- one }()
	if err := json.NewEncoder(one.in).Encode(question); err != nil {
		return errors.Join(ErrDied, err)
	}
	if err := one.Stdout.Decode(answer); err != nil {
		return errors.Join(ErrDied, err)
	}
	return nil
}

var ErrDied = errors.New("a process that ran a part of the campaign has died; its messages are above")

// End ends the processes.
func (p *Parts) End() {
	var all sync.WaitGroup
	for _, one := range p.All {
		all.Go(func() { one.in.Close(); one.cmd.Wait() })
	}
	all.Wait()
}

// AnswerEpisodes is the part of another process: it runs what it is asked for until nobody asks any more.
func AnswerEpisodes(c *console.Context, w *workload.Workload, cfg sim.Config, seed string) (err error) {
	if cfg.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return fmt.Errorf("%s: %w", Variable, err)
	}
	out, err := ClaimOutput()
	if err != nil {
		return err
	}
	return Answer(c, out, func(ctx context.Context, asked part) (any, error) {
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
