package campaign

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/internal/version"
	"github.com/zktorture/zktorture/sim"
	_ "github.com/zktorture/zktorture/sim/prove" // strategy exhaustive
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Run runs a unit in this process. The error is for a unit that this program cannot run, or did not finish since ctx
// ended. A unit in which a world froze is a result: it is unknown.
func (p *Plan) Run(ctx context.Context, n int) (UnitResult, error) {
	if _, err := p.List(); err != nil {
		return UnitResult{}, err
	}
	u, ok := p.Unit(n)
	if !ok {
		return UnitResult{}, fmt.Errorf("the plan has no unit %d: there are %d, from 0", n, p.Units())
	}
	if err := fits(p.Needs(u)); err != nil {
		return UnitResult{}, fmt.Errorf("unit %d: %w", n, err)
	}
	r := UnitResult{Format: UnitFormat, Plan: p.Digest(), Unit: u, Done: Done{Program: version.Sum()}}
	began := time.Now()
	run := p.runPart
	if u.Job < 0 {
		run = p.runAgain
	}
	if err := run(ctx, &r); err != nil {
		return UnitResult{}, fmt.Errorf("unit %d: %w", n, err)
	}
	r.Took = Duration(time.Since(began))
	return r, nil
}

// fits returns an error unless this program is what [Plan.Needs] asks for.
func fits(version string, exact bool) error {
	built, _, _ := strings.Cut(runtime.Version(), " ")
	switch {
	case exact && !sim.Exact():
		return errors.New("it needs exact mode: add --exact")
	case !exact && sim.Exact():
		return errors.New("it is not for exact mode: leave out --exact")
	case version != "" && version != built:
		return fmt.Errorf("it is for a program built by %s, and this one was built by %s: build it with GOTOOLCHAIN=%s",
			version, built, version)
	}
	return nil
}

// CheckProgram returns an error unless this program is one of those that were noted when the campaign began.
func (p *Plan) CheckProgram() error {
	sum := version.Sum()
	if len(p.Programs) == 0 || slices.ContainsFunc(p.Programs, func(o Program) bool { return o.SHA256 == sum }) {
		return nil
	}
	return fmt.Errorf("this program is %s (SHA-256 %.12s), and the campaign was begun for %s (SHA-256 %.12s): "+
		"take that program, or begin another campaign", version.Build(), sum, p.Programs[0].Build, p.Programs[0].SHA256)
}

// ThisProgram describes the program file of this process.
func ThisProgram() Program {
	return Program{Build: version.Build(), SHA256: version.Sum(), System: runtime.GOOS + "/" + runtime.GOARCH}
}

// runPart runs episodes of a job.
func (p *Plan) runPart(ctx context.Context, r *UnitResult) error {
	w, cfg, err := p.Config(r.Unit.Job)
	if err != nil {
		return err
	}
	from := r.Unit.From
	if shares := p.made.list[r.Unit.Job].Shares; shares > 0 {
		cfg.Share, cfg.Shares, from = from, shares, 0
	}
	part, err := cfg.RunPart(ctx, w, from, r.Unit.Episodes)
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

// statesKept bounds the states that a part has, so that it is some tens of kilobytes.
const statesKept = 2048

// Config returns what package sim needs to run a job: by [sim.Config.RunPart], or whole by [sim.Run].
func (p *Plan) Config(job int) (*workload.Workload, sim.Config, error) {
	list, err := p.List()
	if err != nil {
		return nil, sim.Config{}, err
	}
	if job < 0 || job >= len(list) {
		return nil, sim.Config{}, fmt.Errorf("the plan has no job %d: there are %d, from 0", job, len(list))
	}
	j := list[job]
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
		Clients: j.Clients, Ops: j.Ops, Workers: 1,
		Coverage: j.Strategy != sim.Exhaustive, CoverageStates: statesKept,
		AtMost: j.AtMost, Plain: j.Plain, Whole: true, Near: p.near(j),
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

// near are the choices of known failures with which the episodes of a job begin, if its strategy is near.
func (p *Plan) near(j Job) (all []world.Choices) {
	for _, k := range p.Known {
		c := k.Counterexample
		if j.Strategy == sim.Near && c.Workload == j.Kind && c.Exact == j.Exact && c.Wire == j.Wire && len(c.Choices) > 0 {
			all = append(all, c.Choices)
		}
	}
	return all
}

// Conclude says what came of a job, from the sum of its parts: it minimises what was found and tells its story. That is
// what [sim.Run] and [Plan.ReportOf] say of the whole job.
func (p *Plan) Conclude(ctx context.Context, job int, part tally.Part) (JobReport, error) {
	w, cfg, err := p.Config(job)
	if err != nil {
		return JobReport{}, err
	}
	j := p.made.list[job]
	if err := fits(j.Go, j.Exact); err != nil {
		return JobReport{}, fmt.Errorf("job %d: %w", job, err)
	}
	cfg.Shares = j.Shares
	result, err := cfg.Conclude(ctx, w, part)
	if err != nil {
		return JobReport{}, err
	}
	return p.ReportOf(ctx, job, result)
}
