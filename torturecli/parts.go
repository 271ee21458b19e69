package torturecli

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

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// partVariable makes a process one of several that run the episodes of a campaign: worlds in exact mode run one at a
// time in a process. It has the same command line as the process that started it, and the variable is the seed.
const partVariable = "ZKTORTURE_PART"

// parts are such processes. They answer questions (see [part]) with a [sim.Part] each, as lines of JSON.
type parts struct {
	idle chan *partProcess
	all  []*partProcess
}

// part asks for some episodes.
type part struct{ From, Episodes int }

type partProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// startParts starts n processes of this program.
func startParts(c *commandContext, n int, args, env []string) (*parts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &parts{idle: make(chan *partProcess, n)}
	for range n {
		cmd := exec.Command(self, args...)
		cmd.Env = append(append(os.Environ(), "GOMAXPROCS=1"), env...)
		cmd.Stderr = c.bare.err
		one, err := startPart(cmd)
		if err != nil {
			p.end()
			return nil, fmt.Errorf("a process for a part of the campaign: %w", err)
		}
		p.all = append(p.all, one)
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
func (p *parts) run(_ context.Context, from, episodes int) (result sim.Part, err error) {
	err = p.ask(part{from, episodes}, &result)
	return result, err
}

// ask asks a process that has nothing to do.
func (p *parts) ask(question, answer any) error {
	one := <-p.idle
	defer func() { p.idle <- one }()
	if err := json.NewEncoder(one.in).Encode(question); err != nil {
		return errors.Join(errPartDied, err)
	}
	if err := one.out.Decode(answer); err != nil {
		return errors.Join(errPartDied, err)
	}
	return nil
}

var errPartDied = errors.New("a process that ran a part of the campaign has died; its messages are above")

// end ends the processes.
func (p *parts) end() {
	var all sync.WaitGroup
	for _, one := range p.all {
		all.Go(func() { one.in.Close(); one.cmd.Wait() })
	}
	all.Wait()
}

// answerParts is the part of another process: it runs what it is asked for until nobody asks any more.
func answerParts(c *commandContext, w *workload.Workload, cfg sim.Config, seed string) (err error) {
	if cfg.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return fmt.Errorf("%s: %w", partVariable, err)
	}
	out, err := claimOutput()
	if err != nil {
		return err
	}
	return answer(c, out, func(ctx context.Context, asked part) (any, error) {
		return sim.RunPart(ctx, w, cfg, asked.From, asked.Episodes)
	})
}

// elsewhere gives a campaign in exact mode other processes for its episodes, if there are processors for several.
func (r *runCmd) elsewhere(c *commandContext, cfg *sim.Config) (end func(), err error) {
	n := runtime.GOMAXPROCS(0)
	if !sim.Exact() || n < 2 {
		return func() {}, nil
	}
	p, err := startParts(c, n, c.args, []string{partVariable + "=" + strconv.FormatUint(*r.Seed, 10)})
	if err != nil {
		return nil, err
	}
	cfg.Elsewhere, cfg.Workers = p.run, n
	return p.end, nil
}
