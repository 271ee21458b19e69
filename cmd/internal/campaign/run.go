package campaign

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// UnitResult is what came of a unit.
type UnitResult struct {
	Plan    string      `json:"plan"` // the digest of the plan
	Unit    Unit        `json:"unit"`
	Part    *tally.Part `json:"part,omitempty"`    // of a job
	Again   *Again      `json:"again,omitempty"`   // of a known failure
	Unknown string      `json:"unknown,omitempty"` // why there is no result
}

// Again is what came of a known failure that was run again.
type Again struct {
	Breaks  bool   `json:"breaks"` // it breaks its property still
	Same    bool   `json:"same"`   // and the run is the same, step by step
	Message string `json:"message,omitempty"`
	Problem string `json:"problem,omitempty"` // why it could not be run, as a recipe that is there no more
}

// digest covers what has to be equal when a unit is run again. It is the same before and after the result went through a
// file.
func (r *UnitResult) digest() (string, error) {
	text, err := json.Marshal([]any{r.Part, r.Again})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), err
}

// Run runs a unit in this process. The error is for a unit that this program cannot run, or did not finish since ctx
// ended. A unit in which a world froze is a result: it is unknown.
func (p *Plan) Run(ctx context.Context, n int) (UnitResult, error) {
	u, ok := p.Unit(n)
	if !ok {
		return UnitResult{}, fmt.Errorf("the plan has no unit %d", n)
	}
	r := UnitResult{Plan: p.digest, Unit: u}
	run := p.runPart
	if u.Job < 0 {
		run = p.runAgain
	}
	if err := run(ctx, &r); err != nil {
		return UnitResult{}, fmt.Errorf("unit %d: %w", n, err)
	}
	return r, nil
}

// runPart runs episodes of a job.
func (p *Plan) runPart(ctx context.Context, r *UnitResult) error {
	w, cfg, err := p.Config(r.Unit.Job)
	if err != nil {
		return err
	}
	part, err := cfg.RunPart(ctx, w, r.Unit.From, r.Unit.Episodes)
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return fmt.Errorf("not finished: %w", err)
	case err != nil:
		return err
	}
	if r.Unknown = part.Frozen; r.Unknown == "" {
		r.Part = &part
	}
	return nil
}

// Config returns what package sim needs to run a job: by [sim.Config.RunPart], or whole by [sim.Run].
func (p *Plan) Config(job int) (*workload.Workload, sim.Config, error) {
	if job < 0 || job >= len(p.list) {
		return nil, sim.Config{}, fmt.Errorf("the plan has no job %d: there are %d, from 0", job, len(p.list))
	}
	j := p.list[job]
	w, err := workload.Find(j.Kind, j.Recipe)
	if err != nil {
		return nil, sim.Config{}, err
	}
	if j.Wire {
		w = w.OverWire()
	}
	faults, err := world.ParseFaults(j.Faults)
	return w, sim.Config{
		Strategy: j.Strategy, Seed: j.Seed, Episodes: j.Episodes, Faults: faults, NoFaultsAtAll: true,
		Clients: j.Clients, Ops: j.Ops, Workers: 1, Coverage: true,
	}, err
}

// runAgain runs a known failure again.
func (p *Plan) runAgain(_ context.Context, r *UnitResult) error {
	known := p.Known[r.Unit.Known].Counterexample
	r.Again = &Again{}
	w, err := workload.Find(known.Workload, known.Recipe)
	if err != nil {
		r.Again.Problem = err.Error()
		return nil
	}
	if known.Wire {
		w = w.OverWire()
	}
	replayed, err := sim.Replay(w, known)
	if err != nil {
		r.Again.Problem = err.Error()
		return nil
	}
	r.Again.Same = replayed.Diverged < 0
	if v := replayed.Violation; v != nil && v.Property == known.Property {
		r.Again.Breaks, r.Again.Message = true, v.Message
	}
	return nil
}

// Conclude says what came of a job, from the sum of its parts: it minimises what was found and tells its story. That is
// what [sim.Run] and [Plan.ReportOf] say of the whole job.
func (p *Plan) Conclude(ctx context.Context, job int, part tally.Part) (JobReport, error) {
	w, cfg, err := p.Config(job)
	if err != nil {
		return JobReport{}, err
	}
	result, err := cfg.Conclude(ctx, w, part)
	if err != nil {
		return JobReport{}, err
	}
	return p.ReportOf(ctx, job, result)
}
