package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/parts"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// question is what a child is asked. The first one has the plan.
type question struct {
	Plan     *Plan       `json:"plan,omitempty"`
	Unit     *int        `json:"unit,omitempty"`     // to run
	Conclude *int        `json:"conclude,omitempty"` // a job, from the sum of its parts
	Part     *tally.Part `json:"part,omitempty"`
}

// reply is what a child answers.
type reply struct {
	Unit  *UnitResult `json:"unit,omitempty"`
	Job   *JobReport  `json:"job,omitempty"`
	Error string      `json:"error,omitempty"`
}

// partCmd is this program as a child: it answers questions until standard input ends. Recipes may freeze, panic, or take
// all memory, and a process in exact mode runs one world at a time.
type partCmd struct {
	Exact bool `help:"Run in exact mode."`
}

// Run answers.
func (p *partCmd) Run(c *console.Context) error {
	memory.RelaxGC()
	if p.Exact {
		if err := c.Exactly(); err != nil {
			return err
		}
	}
	plan := &Plan{}
	return parts.Answer(c, func(ctx context.Context, q question) (any, error) {
		if q.Plan != nil {
			plan = q.Plan
			return reply{}, plan.ready()
		}
		r, err := q.answer(ctx, plan)
		if err != nil {
			r.Error = err.Error()
		}
		return r, nil
	})
}

func (q question) answer(ctx context.Context, plan *Plan) (reply, error) {
	switch {
	case q.Unit != nil:
		r, err := plan.Run(ctx, *q.Unit)
		return reply{Unit: &r}, err
	case q.Conclude != nil && q.Part != nil:
		r, err := plan.Conclude(ctx, *q.Conclude, *q.Part)
		return reply{Job: &r}, err
	}
	return reply{}, errors.New("neither a unit nor a job with its part")
}

// children are the processes by which one worker answers questions: one for each mode. One goroutine at a time may ask.
type children struct {
	plan *Plan
	mode map[bool]*parts.Child // by whether it is exact
}

func newChildren(p *Plan) *children { return &children{plan: p, mode: map[bool]*parts.Child{}} }

// unit has a unit run. One that fails is tried as often as the plan says, each time by a new process, and is unknown
// then. The error is that of a context that ended.
func (c *children) unit(ctx context.Context, u Unit) (UnitResult, error) {
	why := ""
	for range c.plan.Tries {
		exact, _ := c.plan.mode(u)
		r, err := c.ask(ctx, question{Unit: &u.Number}, exact)
		switch {
		case ctx.Err() != nil:
			return UnitResult{}, ctx.Err()
		case err != nil:
			why = err.Error()
		case r.Unit == nil || r.Unit.Unit != u:
			why = "its process answered another question"
		case r.Unit.Unknown == "":
			return *r.Unit, nil
		default:
			why = r.Unit.Unknown
		}
		c.end()
	}
	return c.plan.unknown(u, why), nil
}

// unknown is the result of a unit that has none.
func (p *Plan) unknown(u Unit, why string) UnitResult {
	return UnitResult{Plan: p.digest, Unit: u, Unknown: why}
}

// conclude has a job concluded. Of one that cannot be the verdict is unknown. The error is that of a context that ended.
func (c *children) conclude(ctx context.Context, job int, part tally.Part) (JobReport, error) {
	r, err := c.ask(ctx, question{Conclude: &job, Part: &part}, c.plan.list[job].Exact)
	switch {
	case ctx.Err() != nil:
		return JobReport{}, ctx.Err()
	case err != nil || r.Job == nil:
		c.end()
		why := fmt.Sprintf("it could not be concluded: %v", err)
		return JobReport{Job: c.plan.list[job], Result: sim.Result{Verdict: sim.VerdictUnknown, Reason: why}}, nil
	}
	return *r.Job, nil
}

// ask asks the child of a mode, which is started if there is none.
func (c *children) ask(ctx context.Context, q question, exact bool) (r reply, err error) {
	child := c.mode[exact]
	if child == nil {
		if child, err = c.start(ctx, exact); err != nil {
			return r, fmt.Errorf("its process could not be started: %w", err)
		}
		c.mode[exact] = child
	}
	limits := parts.Limits{Time: time.Duration(c.plan.Limit), Memory: int64(c.plan.Memory) * 1_000_000}
	if q.Conclude != nil {
		limits.Time *= 10 // minimising runs many episodes
	}
	if err = child.Ask(ctx, q, &r, limits); err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	if err != nil || child.Resident() > limits.Memory/2 {
		child.Kill()
		delete(c.mode, exact)
	}
	return r, err
}

func (c *children) start(ctx context.Context, exact bool) (*parts.Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"campaign", "part"}
	if exact {
		args = append(args, "--exact")
	}
	cmd := exec.Command(self, args...)
	// The simulator does one thing at a time, and takes up to twice the processor time if it has several processors.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", fmt.Sprintf("GOMEMLIMIT=%dKiB", c.plan.Memory*900))
	child, err := parts.StartChild(cmd)
	if err != nil {
		return nil, err
	}
	// In exact mode it compiles the standard library first, which takes minutes.
	if err := child.Ask(ctx, question{Plan: c.plan}, &reply{}, parts.Limits{Time: time.Duration(limitDefault)}); err != nil {
		child.Kill()
		return nil, err
	}
	return child, nil
}

// end ends all children.
func (c *children) end() {
	for exact, child := range c.mode {
		child.Kill()
		delete(c.mode, exact)
	}
}
