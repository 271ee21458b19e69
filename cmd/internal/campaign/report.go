package campaign

import (
	"context"
	"fmt"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/zoo"
)

// ReportFormat is the first field of every report.
const ReportFormat = "zktorture report 1"

// Report is what a campaign found. It does not depend on who ran which unit, or when, so it has no times.
type Report struct {
	Format  string         `json:"format"` // [ReportFormat]
	Plan    *Plan          `json:"plan"`
	Digest  string         `json:"digest"` // of the plan
	Jobs    []JobReport    `json:"jobs"`
	Again   []KnownReport  `json:"again,omitempty"`
	Units   int            `json:"units"`             // that the campaign had
	Unknown map[int]string `json:"unknown,omitempty"` // units that gave no result, and why
}

// JobReport is what came of a job.
type JobReport struct {
	Job Job `json:"job"`
	sim.Result
	Hash     string    `json:"hash"`
	Failures []Failure `json:"failures,omitempty"` // the likely root first
	Hunt     *Hunt     `json:"hunt,omitempty"`     // of the job of an animal
}

// Hunt says whether an animal was found. If it was, the verdict of its job is violation, and all is well.
type Hunt struct {
	Property string  `json:"property"` // that the animal is known to break
	Found    bool    `json:"found"`
	Rate     float64 `json:"rate,omitempty"`  // of a canary: the share of the episodes …
	Known    float64 `json:"known,omitempty"` // … and what it has to be, within a factor of two
	Problem  string  `json:"problem,omitempty"`
}

// Failure is a property that a job broke.
type Failure struct {
	ID             string              `json:"id"` // equal for what is likely the same mistake: see [Identify]
	Shape          []string            `json:"shape"`
	Property       string              `json:"property"`
	Message        string              `json:"message"`
	First          int                 `json:"first"` // episode in which it was found first
	Times          int                 `json:"times"`
	Clients        int                 `json:"clients"`
	Faults         int                 `json:"faults"`
	Steps          int                 `json:"steps"`
	Story          string              `json:"story"`          // as text
	Code           []string            `json:"code,omitempty"` // lines of the recipe at the pivotal step, innermost first
	Counterexample *sim.Counterexample `json:"counterexample"`
}

// KnownReport is what came of a known failure.
type KnownReport struct {
	ID string `json:"id"`
	Again
}

// Judged is the verdict on a job for those who want to know whether all is well: of the job of an animal, violation if
// the animal was not found as it has to be.
func (r *JobReport) Judged() sim.Verdict {
	switch decided := r.Reason == ""; {
	case r.Hunt == nil:
		return r.Verdict
	case r.Hunt.Found && !r.Job.Canary, r.Hunt.Problem == "" && decided:
		return sim.VerdictOK
	case !decided:
		return sim.VerdictUnknown
	}
	return sim.VerdictViolation
}

// Judged is the verdict on a known failure: unknown if it could not be run again.
func (k *KnownReport) Judged() sim.Verdict {
	switch {
	case k.Breaks:
		return sim.VerdictViolation
	case k.Problem != "":
		return sim.VerdictUnknown
	}
	return sim.VerdictOK
}

// Outcome says in words what came of a known failure.
func (k *KnownReport) Outcome() string {
	switch {
	case k.Problem != "":
		return "not run again: " + k.Problem
	case k.Breaks && k.Same:
		return "breaks still, the same run: " + k.Message
	case k.Breaks:
		return "breaks still, another run: " + k.Message
	}
	return "does not break any more"
}

// Verdict is that of the whole campaign: violation if any job or known failure has it, else unknown if any has that or
// a unit gave no result.
func (r *Report) Verdict() sim.Verdict {
	verdicts := map[sim.Verdict]bool{sim.VerdictUnknown: len(r.Unknown) > 0}
	for _, j := range r.Jobs {
		verdicts[j.Judged()] = true
	}
	for _, k := range r.Again {
		verdicts[k.Judged()] = true
	}
	for _, v := range []sim.Verdict{sim.VerdictViolation, sim.VerdictUnknown} {
		if verdicts[v] {
			return v
		}
	}
	return sim.VerdictOK
}

// ReportOf is what [sim.Run] says of a whole job, as a campaign reports it: failures are identified, and their stories
// told. The error is for a ctx that ends before, and for a plan that cannot be run.
func (p *Plan) ReportOf(ctx context.Context, job int, r sim.Result) (JobReport, error) {
	w, cfg, err := p.Config(job)
	if err != nil {
		return JobReport{}, err
	}
	report := JobReport{Job: p.made.list[job], Result: r, Hash: digest.Hex(r.Hash)}
	for _, found := range r.Violations {
		example, err := cfg.Counterexample(r, found)
		if err != nil {
			return JobReport{}, err
		}
		f := Failure{
			Property: found.Property, Message: found.Message, First: found.Episode, Times: found.Times,
			Clients: found.Clients, Faults: found.Faults, Steps: found.Steps, Counterexample: example,
		}
		f.tell(ctx, w)
		f.ID, f.Shape = Identify(found.Violation, found.Trace)
		report.Failures = append(report.Failures, f)
	}
	if id := report.Job.Animal; id != "" {
		if report.Hunt, err = huntOf(id, &report); err != nil {
			return JobReport{}, err
		}
	}
	return report, ctx.Err()
}

// tell adds the story of a failure, or the reason why there is none, which is no failure.
func (f *Failure) tell(ctx context.Context, w sim.Workload) {
	s, err := story.Tell(ctx, w, f.Counterexample)
	if err != nil {
		f.Story = fmt.Sprintf("%s\n\nThere is no story: %v\n", f.Counterexample.Message, err)
		return
	}
	f.Story, f.Code = s.Text(story.TextOptions{}), s.Decisive()
}

// Workload is what a job runs; nil if this program does not know it, as the recipe is of another one.
func (r *Report) Workload(job int) sim.Workload {
	if r.Plan == nil {
		return nil
	}
	if list, err := r.Plan.List(); err != nil || job >= len(list) {
		return nil
	}
	w, _, err := r.Plan.Config(job)
	if err != nil {
		return nil
	}
	return w
}

// huntOf says whether an animal was found by its job.
func huntOf(id string, r *JobReport) (*Hunt, error) {
	found, err := zoo.Find([]string{id})
	if err != nil {
		return nil, err
	}
	a := found[0]
	h := &Hunt{Property: a.Property}
	for _, f := range r.Failures {
		if f.Property == a.Property {
			h.Found = true
			h.Rate = float64(f.Times) / float64(max(r.Episodes, 1))
		}
	}
	switch h.Known = a.Rate; {
	case a.Rate == 0:
		h.Rate = 0
	case !h.Found || h.Rate < a.Rate/2 || h.Rate > a.Rate*2:
		h.Problem = fmt.Sprintf("found in %.2f %% of the episodes, not in about %.2f %%: the harness is broken",
			100*h.Rate, 100*a.Rate)
	}
	if !h.Found && h.Problem == "" {
		h.Problem = fmt.Sprintf("not found in %d episodes", r.Episodes)
	}
	return h, nil
}
