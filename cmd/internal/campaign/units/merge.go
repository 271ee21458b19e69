package units

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/ciformat"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/cmd/internal/cli/parts"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// MergeCmd puts results of units together.
type MergeCmd struct {
	Plan           string   `required:"" placeholder:"FILE" help:"The plan of the campaign."`
	Files          []string `arg:"" help:"Results that torture-campaign part has written, sums that --partial has written, or folders of both."`
	Partial        string   `placeholder:"FILE" help:"Write only the sum of the results to this file, for another merge."`
	Out            string   `help:"A folder for the report and counterexamples, which must not exist. Default: only counterexamples are written, to counterexamples/."`
	JSON           bool     `name:"json" help:"Print the report as one JSON object, and nothing else, to standard output."`
	All            bool     `help:"Print the story of each property that broke, not only that of the likely cause."`
	output.CIFlags `embed:""`
}

// Rules implements ruled.
func (m *MergeCmd) Rules() []console.Rule {
	return []console.Rule{
		console.When(m.Partial == "", "out json all junit summary", "cannot be used with --partial, because it writes only the sum"),
		console.When(!m.JSON, "all", "cannot be used with --json, because the JSON object has all stories"),
	}
}

// Run executes the command. Its status is that of torture run over all jobs. It is 2 if units are missing or files
// cannot be read, unless what is there has a violation.
func (m *MergeCmd) Run(c *console.Context) error {
	memory.RelaxGC()
	plan, err := campaign.ReadPlan(c, m.Plan)
	if err != nil {
		return err
	}
	sum, err := campaign.NewSum(plan)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Plan, err)
	}
	if err := m.Probe(); err != nil {
		return err
	}
	trouble := m.read(c, sum, plan)
	if m.Partial != "" {
		return m.writeSum(c, sum, trouble)
	}
	out, err := output.NewFolder(m.Out)
	if err != nil {
		return err
	}
	jobs, err := m.conclude(c, plan, sum)
	if err != nil {
		out.Discard()
		return errors.Join(trouble, err)
	}
	return m.report(c, out, sum, sum.Report(jobs), trouble)
}

// read adds all files. The error names those that were left out.
func (m *MergeCmd) read(ctx context.Context, sum *campaign.Sum, plan *campaign.Plan) (trouble error) {
	for _, name := range m.Files {
		files := []string{name}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(name, "*.json")); err != nil || len(files) == 0 {
				trouble = errors.Join(trouble, fmt.Errorf("%s: there is no file *.json in this folder", name))
			}
		}
		for _, file := range files {
			if err := addFile(ctx, sum, plan, file); err != nil {
				trouble = errors.Join(trouble, fmt.Errorf("%s is left out: %w", file, err))
			}
		}
	}
	return trouble
}

// resultMax is how many bytes a file of results may have.
const resultMax = 1 << 30

// addFile adds the result of a unit, or a sum. A plan, which may lie in the same folder, is passed over.
func addFile(ctx context.Context, sum *campaign.Sum, plan *campaign.Plan, name string) error {
	text, err := wholefile.Read(ctx, name, resultMax)
	if err != nil {
		return err
	}
	var file struct{ Format string }
	if err := json.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("not JSON, or cut off: run its unit again with torture-campaign part: %w", err)
	}
	switch file.Format {
	case campaign.PlanFormat, campaign.ReportFormat:
		return nil
	case campaign.SumFormat:
		other, err := plan.ReadSum(text)
		if err != nil {
			return err
		}
		return sum.Merge(other)
	}
	var result campaign.UnitResult
	if err := json.Unmarshal(text, &result); err != nil {
		return fmt.Errorf("not the result of a unit: run its unit again with torture-campaign part: %w", err)
	}
	return sum.Add(result)
}

// writeSum writes the sum, and says what is missing.
func (m *MergeCmd) writeSum(c *console.Context, sum *campaign.Sum, trouble error) error {
	text, err := json.Marshal(sum)
	if err == nil {
		err = wholefile.Write(m.Partial, append(text, '\n'))
	}
	if err == nil {
		printUnits(c.Stdout, m.Plan, sum)
	}
	return errors.Join(trouble, err)
}

// conclude says what came of each job, of several at the same time.
func (m *MergeCmd) conclude(c *console.Context, plan *campaign.Plan,
	sum *campaign.Sum) ([]campaign.JobReport, error) {
	list, err := plan.List()
	if err != nil {
		return nil, err
	}
	exact, err := m.exactConcluder(c, list)
	if err != nil {
		return nil, err
	}
	defer exact.End()
	reports := make([]campaign.JobReport, len(list))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, j := range list {
		all.Go(func() (err error) {
			if j.Exact {
				reports[i], err = exact.conclude(i, sum.Part(i))
			} else {
				reports[i], err = sum.Conclude(c, i)
			}
			if err != nil {
				reason := fmt.Sprintf("it could not be concluded: %v", err)
				reports[i] = campaign.JobReport{Job: j, Result: sim.Result{Verdict: sim.VerdictUnknown, Reason: reason}}
			}
			return c.Err()
		})
	}
	if err := all.Wait(); err != nil {
		return nil, console.ErrInterrupted
	}
	return reports, nil
}

// concluder is a process that concludes jobs in exact mode.
type concluder struct{ *parts.Parts }

// exactConcluder starts such a process if any job needs one.
func (m *MergeCmd) exactConcluder(c *console.Context, list []campaign.Job) (concluder, error) {
	if !slices.ContainsFunc(list, func(j campaign.Job) bool { return j.Exact }) {
		return concluder{&parts.Parts{}}, nil
	}
	p, err := parts.Start(c, 1, []string{"part", "--plan", m.Plan, "--serve", "--exact"}, nil)
	if err != nil {
		return concluder{}, err
	}
	var began Readiness
	if err := p.All[0].Stdout.Decode(&began); err != nil {
		p.End()
		return concluder{}, errors.Join(parts.ErrDied, err)
	}
	return concluder{p}, nil
}

func (e concluder) conclude(job int, part tally.Part) (campaign.JobReport, error) {
	var answer struct {
		campaign.JobReport
		Refusal
	}
	if err := e.Ask(Question{Conclude: &job, Part: &part}, &answer); err != nil {
		return campaign.JobReport{}, err
	}
	if answer.Error != "" {
		return campaign.JobReport{}, errors.New(answer.Error)
	}
	return answer.JobReport, nil
}

// report prints the report, writes the files, and turns the verdict into an exit status.
func (m *MergeCmd) report(c *console.Context, out *output.Folder, sum *campaign.Sum, r *campaign.Report, trouble error) error {
	saved := failures(out, r)
	verdict := r.Verdict()
	if trouble != nil && verdict == sim.VerdictOK {
		verdict = sim.VerdictUnknown
	}
	if m.JSON {
		console.WriteJSON(c.Stdout, r)
	} else {
		m.printReport(c, r, saved.Files)
		printUnits(c.Stdout, m.Plan, sum)
		fmt.Fprintln(c.Stdout, reportLine(r, verdict))
	}
	trouble = errors.Join(trouble, saved.Err, writeReport(out, r))
	if m.Wanted() {
		trouble = errors.Join(trouble, m.Write(ciOfCampaign(r, verdict)))
	}
	return c.End(console.Exits[verdict], trouble)
}

// failures writes the counterexamples of all jobs but those of animals. Of each job it has the names of the files.
func failures(o *output.Folder, r *campaign.Report) (saved output.Evidence) {
	for _, j := range r.Jobs {
		if j.Hunt != nil {
			continue
		}
		for _, f := range j.Failures {
			of := sim.Result{Workload: j.Job.Kind, Recipe: j.Job.Recipe}
			found := sim.Found{Violation: sim.Violation{Property: f.Property}}
			saved.Save(o, of, found, "json", f.Counterexample.Write)
		}
	}
	return saved
}

// reportName is the file of a campaign's report.
const reportName = "report.json"

// writeReport writes the report into the user's folder.
func writeReport(o *output.Folder, r *campaign.Report) error {
	if !o.Named {
		return nil
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return console.WriteNew(filepath.Join(o.Dir, reportName), append(text, '\n'))
}

// printReport prints the story of the likely root of each job, and then a line for each.
func (m *MergeCmd) printReport(c *console.Context, r *campaign.Report, files []string) {
	for _, j := range r.Jobs {
		if j.Hunt != nil || len(j.Failures) == 0 {
			continue
		}
		m.printFailures(c, j, files[:len(j.Failures)])
		files = files[len(j.Failures):]
	}
	for _, k := range r.Again {
		fmt.Fprintf(c.Stdout, "known failure %s: %s\n", k.ID, k.Outcome())
	}
	for _, j := range r.Jobs {
		fmt.Fprint(c.Stdout, console.Wrap(jobLine(j), console.Columns), "\n")
	}
}

func (m *MergeCmd) printFailures(c *console.Context, j campaign.JobReport, files []string) {
	told := 1
	if m.All {
		told = len(j.Failures)
	}
	fmt.Fprintf(c.Stdout, "%v\n\n", j.Job)
	found := make([]sim.Found, len(j.Failures))
	for i, f := range j.Failures {
		found[i] = sim.Found{Violation: sim.Violation{Property: f.Property}, Times: f.Times, Episode: f.First,
			Clients: f.Clients, Faults: f.Faults, Steps: f.Steps, Divergence: f.Counterexample.Divergence}
		if i < told {
			fmt.Fprintf(c.Stdout, "%s\n\n", strings.TrimRight(f.Story, "\n"))
			output.PrintFound(c.Stdout, found[i], j.Episodes, true, output.FollowUps("sim", sim.Result{}, c.Streams, files[i]))
		}
	}
	output.PrintLines(c.Stdout, j.Episodes, found[told:], c.Streams, files[told:])
}

// jobLine says in a line what came of a job.
func jobLine(j campaign.JobReport) string {
	verdict := string(j.Verdict)
	if h := j.Hunt; h != nil && h.Problem == "" {
		verdict = fmt.Sprintf("found %s", h.Property)
	} else if h != nil {
		verdict = fmt.Sprintf("missed %s (%s)", h.Property, h.Problem)
	}
	line := fmt.Sprintf("%s %v: %d episodes, %d operations, %d steps, hash %s", verdict, j.Job, j.Episodes, j.Operations,
		j.Steps, j.Hash)
	if j.Job.Strategy == sim.Exhaustive {
		line += ", " + j.Extent.String()
	}
	if j.Reason != "" {
		line += "; unknown: " + j.Reason
	}
	return line
}

// printUnits says which units are missing, came twice, or differed.
func printUnits(w io.Writer, plan string, sum *campaign.Sum) {
	say := func(text string) { fmt.Fprint(w, console.Wrap(text, console.Columns), "\n") }
	if missing := sum.Missing(); len(missing) > 0 {
		say(fmt.Sprintf("missing: no result of %s: run torture-campaign part --plan %s --unit N for each, and merge again",
			campaign.Ranges(missing), plan))
	}
	if sum.Twice > 0 {
		say(fmt.Sprintf("duplicates: %d results of units that were already counted are not counted again", sum.Twice))
	}
	if len(sum.Unequal) > 0 {
		say(fmt.Sprintf("not equal: two results of %s differ: a recipe is not repeatable, or a machine is broken",
			campaign.Ranges(sum.Unequal)))
	}
}

// reportLine says in a line what came of a campaign.
func reportLine(r *campaign.Report, verdict sim.Verdict) string {
	counts := map[sim.Verdict]int{}
	for _, j := range r.Jobs {
		counts[j.Judged()]++
	}
	return fmt.Sprintf("%s campaign %s: %d jobs ok, %d violation, %d unknown; %d units", verdict, r.Plan.Name,
		counts[sim.VerdictOK], counts[sim.VerdictViolation], counts[sim.VerdictUnknown], r.Units)
}

// ciOfCampaign reports a campaign: a case for each job, and for each failure that was known before.
func ciOfCampaign(r *campaign.Report, verdict sim.Verdict) ciformat.Report {
	report := ciformat.Report{Title: "campaign " + r.Plan.Name, Verdict: verdict, Facts: [][2]string{
		{"units", fmt.Sprint(r.Units)}, {"plan", r.Digest}}}
	for _, j := range r.Jobs {
		of := ciformat.Case{Name: j.Job.String(), Help: fmt.Sprintf("%d episodes", j.Episodes),
			Verdict: j.Judged(), Reason: j.Reason}
		if h := j.Hunt; h != nil && h.Problem != "" {
			of.Problems = []ciformat.Problem{{Property: h.Property, Message: h.Problem}}
		} else if h == nil {
			for i, f := range j.Failures {
				of.Problems = append(of.Problems,
					ciformat.Problem{Property: f.Property, Message: f.Message, Story: f.Story, Place: i})
			}
		}
		report.Cases = append(report.Cases, of)
	}
	for _, k := range r.Again {
		of := ciformat.Case{Name: "known failure " + k.ID, Help: k.Outcome(), Verdict: k.Judged(), Reason: k.Problem}
		if k.Breaks {
			of.Problems = []ciformat.Problem{{Property: k.ID, Message: k.Message}}
		}
		report.Cases = append(report.Cases, of)
	}
	return report
}
