package campaign

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/ciformat"
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
	Unequal []int          `json:"unequal,omitempty"` // units that were done twice, and gave different results
}

// JobReport is what came of a job.
type JobReport struct {
	Job Job `json:"job"`
	sim.Result
	Hash     string    `json:"hash"`
	Failures []Failure `json:"failures,omitempty"` // the likely root first
	Hunt     *Hunt     `json:"hunt,omitempty"`     // of the job of a known bug
}

// Hunt says whether a known bug was found. If it was, the verdict of its job is violation, and all is well.
type Hunt struct {
	Property string  `json:"property"` // that the bug is known to break
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

// Judged is the verdict on a job for those who want to know whether all is well: of the job of a known bug, violation if
// it was not found as it has to be.
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
	units := map[string][]int{} // by the reason why they have no result
	for _, n := range slices.Sorted(maps.Keys(r.Unknown)) {
		why, _, _ := strings.Cut(r.Unknown[n], "\n") // stacks may follow
		units[why] = append(units[why], n)
	}
	for _, why := range slices.Sorted(maps.Keys(units)) {
		reasons = append(reasons, fmt.Sprintf("no result of %s: %s", ranges(units[why]), why))
	}
	if len(r.Unequal) > 0 {
		reasons = append(reasons, fmt.Sprintf("%s were done twice with different results: a recipe, or the simulator, depends on "+
			"more than its choices", ranges(r.Unequal)))
	}
	if r.episodes() == 0 {
		reasons = append(reasons, "no episode was run of any job but the canary's")
	}
	return reasons
}

// String says in a line what came of a job.
func (r JobReport) String() string {
	verdict := string(r.Verdict)
	if h := r.Hunt; h != nil && h.Problem == "" {
		verdict = "found " + h.Property
	} else if h != nil {
		verdict = fmt.Sprintf("missed %s (%s)", h.Property, h.Problem)
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
	self := ciformat.Case{Name: "every unit has one result", Verdict: sim.VerdictOK}
	if reasons := r.Reasons(); len(reasons) > 0 {
		self.Verdict, self.Reason = sim.VerdictUnknown, strings.Join(reasons, "; ")
	}
	report := ciformat.Report{Title: "campaign " + r.Plan.Name, Verdict: r.Verdict(), Cases: []ciformat.Case{self}}
	for _, j := range r.Jobs {
		of := ciformat.Case{Name: j.Job.String(), Verdict: j.Judged(), Reason: j.Reason}
		for i, f := range j.broken() {
			of.Problems = append(of.Problems, ciformat.Problem{Property: f.Property, Message: f.Message, Story: f.Story, Place: i})
		}
		if h := j.Hunt; h != nil && h.Problem != "" {
			of.Problems = []ciformat.Problem{{Property: h.Property, Message: h.Problem}}
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

// broken are the failures of a job that are to be told: those of known bugs are expected.
func (r *JobReport) broken() []Failure {
	if r.Hunt != nil {
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
		f := Failure{
			Property: found.Property, Message: found.Message, First: found.Episode, Times: found.Times,
			Clients: found.Clients, Faults: found.Faults, Steps: found.Steps, Counterexample: example,
		}
		f.tell(ctx, w)
		f.ID, f.Shape = Identify(found.Violation, found.Trace)
		report.Failures = append(report.Failures, f)
	}
	if id := report.Job.Bug; id != "" {
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

// huntOf says whether a known bug was found by its job.
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
