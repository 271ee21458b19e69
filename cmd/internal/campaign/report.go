package campaign

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/ciformat"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
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
	Unequal []int          `json:"unequal,omitempty"` // units that were done twice, and gave different results
}

// JobReport is what came of a job.
type JobReport struct {
	Job Job `json:"job"`
	sim.Result
	Hash     string    `json:"hash"`
	Failures []Failure `json:"failures,omitempty"` // the likely root first
	Missed   string    `json:"missed,omitempty"`   // of the canary: it was not found as it has to be. If it was, its verdict is violation
}

// Failure is a property that a job broke.
type Failure struct {
	ID             string              `json:"id"` // equal for what is likely the same mistake: see [Identify]
	Property       string              `json:"property"`
	Message        string              `json:"message"`
	First          int                 `json:"first"` // episode in which it was found first
	Times          int                 `json:"times"`
	Story          string              `json:"story"` // as text
	Counterexample *sim.Counterexample `json:"counterexample"`
}

// KnownReport is what came of a known failure.
type KnownReport struct {
	ID string `json:"id"`
	Again
}

// Judged is the verdict on a job for those who want to know whether all is well: of the canary, violation if it was not
// found as it has to be.
func (r *JobReport) Judged() sim.Verdict {
	switch {
	case !r.Job.Canary:
		return r.Verdict
	case r.Reason != "":
		return sim.VerdictUnknown
	case r.Missed != "":
		return sim.VerdictViolation
	}
	return sim.VerdictOK
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

// Verdict is that of the whole campaign, for all who judge it: violation if any job or known failure has it, else
// unknown if any has that, if a unit gave no result or two, or if nothing was run but a canary.
func (r *Report) Verdict() sim.Verdict {
	verdicts := map[sim.Verdict]bool{sim.VerdictUnknown: len(r.Unknown) > 0 || len(r.Unequal) > 0 || r.episodes() == 0}
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

// episodes is how many were run of jobs that are no canaries.
func (r *Report) episodes() (n int) {
	for _, j := range r.Jobs {
		if !j.Job.Canary {
			n += j.Episodes
		}
	}
	return n
}

// Reasons says what keeps the verdict from being ok besides jobs and known failures, which say it themselves.
func (r *Report) Reasons() (reasons []string) {
	if len(r.Unequal) > 0 {
		reasons = append(reasons, fmt.Sprintf("%s gave different results: a recipe, or the simulator, depends on more than its choices",
			list(r.Unequal)))
	}
	if r.episodes() == 0 {
		reasons = append(reasons, "no episode was run of any job but the canary's")
	}
	return reasons
}

// String says in a line what came of a job.
func (r JobReport) String() string {
	verdict := string(r.Verdict)
	if r.Job.Canary {
		verdict = cmp.Or(r.Missed, "found, as it has to be")
	}
	line := fmt.Sprintf("%s %v: %d episodes, %d operations, %d steps, hash %s", verdict, r.Job, r.Episodes, r.Operations,
		r.Steps, r.Hash)
	if r.Reason != "" {
		line += "; unknown: " + r.Reason
	}
	return line
}

// ci is the report for CI services: a case for the campaign itself, for each job, and for each known failure.
func (r *Report) ci() ciformat.Report {
	self := ciformat.Case{Name: "the campaign itself", Verdict: sim.VerdictOK}
	if reasons := r.Reasons(); len(reasons) > 0 {
		self.Verdict, self.Reason = sim.VerdictUnknown, strings.Join(reasons, "; ")
	}
	report := ciformat.Report{Title: "campaign " + r.Plan.Name, Cases: []ciformat.Case{self}}
	for _, j := range r.Jobs {
		of := ciformat.Case{Name: j.Job.String(), Verdict: j.Judged(), Reason: j.Reason}
		for _, f := range j.broken() {
			of.Problems = append(of.Problems, ciformat.Problem{Property: f.Property, Message: f.Message, Story: f.Story})
		}
		if j.Missed != "" {
			of.Problems = []ciformat.Problem{{Property: canaryID, Message: j.Missed}}
		}
		report.Cases = append(report.Cases, of)
	}
	for _, k := range r.Again {
		of := ciformat.Case{Name: "known failure " + k.ID, Verdict: k.Judged(), Reason: k.Problem}
		if k.Breaks {
			of.Problems = []ciformat.Problem{{Property: k.ID, Message: k.Message}}
		}
		report.Cases = append(report.Cases, of)
	}
	return report
}

// broken are the failures of a job that are to be told: those of the canary are expected.
func (r *JobReport) broken() []Failure {
	if r.Job.Canary {
		return nil
	}
	return r.Failures
}

// ReportOf is what [sim.Run] says of a whole job, as a campaign reports it: failures are identified, and their stories
// told. The error is for a ctx that ends before, and for a plan that cannot be run.
func (p *Plan) ReportOf(ctx context.Context, job int, r sim.Result) (JobReport, error) {
	w, cfg, err := p.Config(job)
	if err != nil {
		return JobReport{}, err
	}
	report := JobReport{Job: p.list[job], Result: r, Hash: digest.Hex(r.Hash)}
	for _, found := range r.Violations {
		example, err := cfg.Counterexample(r, found)
		if err != nil {
			return JobReport{}, err
		}
		f := Failure{Property: found.Property, Message: found.Message, First: found.Episode, Times: found.Times, Counterexample: example}
		f.ID, _ = Identify(found.Violation, found.Trace)
		if s, err := story.Tell(ctx, w, example); err != nil {
			f.Story = fmt.Sprintf("%s\n\nThere is no story: %v\n", example.Message, err)
		} else {
			f.Story = s.Text(story.TextOptions{})
		}
		report.Failures = append(report.Failures, f)
	}
	if report.Job.Canary {
		if report.Missed, err = report.missed(); err != nil {
			return JobReport{}, err
		}
	}
	return report, ctx.Err()
}

// missed says why the canary was not found as it has to be.
func (r *JobReport) missed() (string, error) {
	a, err := canary()
	rate := 0.0
	for _, f := range r.Failures {
		if f.Property == a.Property {
			rate = float64(f.Times) / float64(max(r.Episodes, 1))
		}
	}
	if rate >= a.Rate/2 && rate <= a.Rate*2 {
		return "", err
	}
	return fmt.Sprintf("found in %.2f %% of the episodes, not in about %.2f %%: the harness is broken", 100*rate, 100*a.Rate), err
}
