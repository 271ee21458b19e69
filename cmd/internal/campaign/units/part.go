// Package units has the commands that any batch system can call: to run a unit of a campaign, and to merge what units
// gave.
package units

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/parts"
	"github.com/zktorture/zktorture/internal/escape/stream"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/internal/version"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// PartCmd runs one unit, or one after the other as they are asked for.
type PartCmd struct {
	Plan    string `required:"" placeholder:"FILE" help:"The plan of the campaign."`
	Unit    *int   `placeholder:"N" help:"Run this unit, and write its result. Default: the number in $JOB_COMPLETION_INDEX, which Kubernetes sets in an Indexed Job." xor:"what" range:"0.."`
	Units   bool   `help:"Run nothing, and print the number of units; 0 means as many as there is time for." xor:"what"`
	Resolve bool   `help:"Run nothing, and print the plan with its list of jobs, from the kinds and recipes of this program." xor:"what"`
	Serve   bool   `help:"Take requests from standard input, as a worker of a campaign does (docs/campaign.md)." xor:"what"`
	Exact   bool   `help:"With --serve: run in exact mode, for jobs that need it."`
	Out     string `placeholder:"FILE|DIR" help:"Write the result to this file, or to a file such as unit-000017.json in this folder. The file is never half written. Default: standard output."`
}

// Rules implements ruled.
func (p *PartCmd) Rules() []console.Rule {
	const why = ", because it is only for the result of a unit"
	return []console.Rule{
		console.When(p.Serve, "exact", "needs --serve"),
		console.When(!p.Units, "out", "cannot be used with --units"+why),
		console.When(!p.Resolve, "out", "cannot be used with --resolve"+why),
		console.When(!p.Serve, "out", "cannot be used with --serve"+why),
	}
}

// Run executes the command. Its status is 0 if a result was written, whatever it says: violations are for
// merge. It is 2 if there is none, or if it only says that a world froze.
func (p *PartCmd) Run(c *console.Context) error {
	memory.RelaxGC()
	plan, err := campaign.ReadPlan(c, p.Plan)
	if err != nil {
		return err
	}
	if _, err := plan.List(); err != nil {
		return fmt.Errorf("%s: %w", p.Plan, err)
	}
	switch {
	case p.Units:
		_, err := fmt.Fprintln(c.Stdout, plan.Units())
		return err
	case p.Resolve:
		recorded, err := plan.Record(plan.Programs, plan.Known)
		if err != nil {
			return err
		}
		return console.WriteJSON(c.Stdout, recorded)
	case !sim.Exact(): // a build in exact mode is made anew, of what this one was made of
		if err := plan.CheckProgram(); err != nil {
			return err
		}
	}
	if p.Serve {
		return p.serve(c, plan)
	}
	return p.one(c, plan)
}

// indexVariable is where an Indexed Job of Kubernetes says which of its pods this is.
const indexVariable = "JOB_COMPLETION_INDEX"

// number is the number of the unit to run.
func (p *PartCmd) number() (int, error) {
	if p.Unit != nil {
		return *p.Unit, nil
	}
	index := os.Getenv(indexVariable)
	if index == "" {
		return 0, fmt.Errorf("which unit? Give --unit N, or set %s", indexVariable)
	}
	n, err := strconv.Atoi(index)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not the number of a unit", indexVariable, index)
	}
	return n, nil
}

// one runs one unit.
func (p *PartCmd) one(c *console.Context, plan *campaign.Plan) error {
	n, err := p.number()
	if err != nil {
		return err
	}
	if u, ok := plan.Unit(n); ok {
		if _, exact := plan.Needs(u); exact {
			if err := c.Exactly(); err != nil {
				return err
			}
		}
	}
	out, err := parts.ClaimOutput()
	if err != nil {
		return err
	}
	result, err := plan.Run(c, n)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := console.WriteJSON(&text, result); err != nil {
		return err
	}
	if name := p.file(n); name != "" {
		err = wholefile.Write(name, text.Bytes())
	} else {
		_, err = stream.NewWriter(out).Write(text.Bytes())
	}
	if err == nil && result.Unknown != "" {
		err = fmt.Errorf("unit %d is unknown: %s", n, result.Unknown)
	}
	return err
}

// file is where the result of a unit is written, "" for standard output.
func (p *PartCmd) file(unit int) string {
	if info, err := os.Stat(p.Out); p.Out != "" && err == nil && info.IsDir() {
		return filepath.Join(p.Out, fmt.Sprintf("unit-%06d.json", unit))
	}
	return p.Out
}

// Question is what a worker is asked, by lines of JSON: to run a unit, or to conclude a job from the sum of its parts.
type Question struct {
	Unit     *int        `json:"unit,omitempty"`
	Conclude *int        `json:"conclude,omitempty"`
	Part     *tally.Part `json:"part,omitempty"`
}

// Readiness is the first line that a worker prints.
type Readiness struct {
	Ready  bool   `json:"ready"`
	Build  string `json:"build"`
	System string `json:"system"`
	Exact  bool   `json:"exact"`
}

// Refusal is the answer to a question that cannot be answered.
type Refusal struct {
	Error string `json:"error"`
}

// serve is this program as a worker of a campaign. It prints answers as lines of JSON, and ends when standard input
// does.
func (p *PartCmd) serve(c *console.Context, plan *campaign.Plan) error {
	if p.Exact {
		if err := c.Exactly(); err != nil {
			return err
		}
	}
	out, err := parts.ClaimOutput()
	if err != nil {
		return err
	}
	if err := console.WriteJSON(out, Readiness{true, version.Build(), runtime.GOOS + "/" + runtime.GOARCH, sim.Exact()}); err != nil {
		return err
	}
	return parts.Answer(c, out, func(ctx context.Context, q Question) (any, error) {
		object, err := q.answer(ctx, plan)
		if err != nil {
			return Refusal{err.Error()}, nil
		}
		return object, nil
	})
}

func (q *Question) answer(ctx context.Context, plan *campaign.Plan) (any, error) {
	switch {
	case q.Unit != nil && q.Conclude == nil:
		return plan.Run(ctx, *q.Unit)
	case q.Conclude != nil && q.Unit == nil && q.Part != nil:
		return plan.Conclude(ctx, *q.Conclude, *q.Part)
	}
	return nil, errors.New(`neither {"unit": N} nor {"conclude": JOB, "part": PART}`)
}
