package torturecli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/campaign"
	"github.com/zktorture/zktorture/internal/ciformat"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
)

// ciFlags are the reports for CI services.
type ciFlags struct {
	JUnit   string `name:"junit" placeholder:"FILE" help:"Write the verdicts as JUnit XML, with the story of each failure. A file that is there is replaced."`
	Summary string `placeholder:"FILE" help:"Append a summary in Markdown, as for the summary page of a CI job ($GITHUB_STEP_SUMMARY)."`
	SARIF   string `name:"sarif" placeholder:"FILE" help:"Write the failures as SARIF 2.1.0, at the lines of the recipe that matter, for code hosts. A file that is there is replaced."`
}

// ciReport is a report that is wanted.
type ciReport struct {
	flag, file string
	write      func(ciformat.Report, io.Writer) error
	append     bool
}

// reports are those that are wanted.
func (f *ciFlags) reports() []ciReport {
	all := []ciReport{
		{"--junit", f.JUnit, ciformat.Report.JUnit, false},
		{"--summary", f.Summary, ciformat.Report.Markdown, true},
		{"--sarif", f.SARIF, ciformat.Report.SARIF, false},
	}
	return slices.DeleteFunc(all, func(r ciReport) bool { return r.file == "" })
}

// wanted tells whether any report is to be written.
func (f *ciFlags) wanted() bool { return len(f.reports()) > 0 }

// probe fails before a long run if a report could not be written after it.
func (f *ciFlags) probe() error {
	for _, r := range f.reports() {
		file, err := os.OpenFile(r.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		file.Close()
	}
	return nil
}

// write writes the reports.
func (f *ciFlags) write(report ciformat.Report) error {
	for _, r := range f.reports() {
		to := func(w io.Writer) error { return r.write(report, w) }
		if r.append {
			if err := appendTo(r.file, to); err != nil {
				return err
			}
		} else if err := writeWhole(r.file, to); err != nil {
			return fmt.Errorf("%s: %w", r.flag, err)
		}
	}
	return nil
}

// writeWhole replaces a file.
func writeWhole(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return wholefile.Write(name, text.Bytes())
}

func appendTo(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return fmt.Errorf("%s: %w", name, err)
	}
	return file.Close()
}

// ciOf reports a run: a case for each property of the workload, and for each violation of a property common to all
// recipes. An unbroken property passes only if the run was decided.
func (r *runCmd) ciOf(result sim.Result, problems []ciformat.Problem) ciformat.Report {
	report := ciformat.Report{
		Title: fmt.Sprintf("%s (%s) on %s", result.Workload, result.Recipe, r.Backend), Verdict: result.Verdict,
		Seconds: result.Elapsed.Seconds(),
		Facts: [][2]string{{"run", countLine(result)}, {"origin", originLine(result)},
			{"faults struck", faultLine(result.Struck)}},
	}
	if r.Out != "" {
		report.File = filepath.Join(r.Out, resultName)
	}
	rest := sim.VerdictOK
	if result.Reason != "" || result.Interrupted {
		rest = sim.VerdictUnknown
	}
	if kind, err := workload.KindNamed(result.Workload); err == nil {
		for _, promise := range kind.Promises {
			if name := promise.Name(); name != "" {
				report.Cases = append(report.Cases, ciformat.Case{Name: name, Help: promise.Help(), BrokenBy: promise.BrokenBy,
					Verdict: rest, Reason: result.Reason})
			}
		}
	}
	for _, p := range problems {
		report.Breaks(p)
	}
	return report
}

// problems are the violations of a run, with their stories.
func (r *runCmd) problems(c *commandContext, w *workload.Workload, result sim.Result, saved evidence) (all []ciformat.Problem) {
	for i := range result.Violations {
		all = append(all, problemOf(c, w, result, saved, i, r.Backend))
	}
	return all
}

// problemOf is a violation of a run on a backend.
func problemOf(c *commandContext, w *workload.Workload, result sim.Result, saved evidence, i int, backend string) ciformat.Problem {
	found := result.Violations[i]
	p := ciformat.Problem{Property: found.Property, Message: found.Message, Place: i, Of: named(result.Workload, result.Recipe),
		File: saved.files[i]}
	if next := followUps(backend, result, c.streams, p.File); len(next) > 0 {
		p.Again = next[0]
	}
	if i >= len(saved.examples) {
		p.Steps = storyOfHistory(found)
		p.Story = p.Steps.Text(story.TextOptions{})
		return p
	}
	if p.Steps, p.Story = storyOf(c, w, saved.examples[i], p.File); p.Steps != nil {
		p.Code = p.Steps.Pivotal()
	}
	if !result.Unshrunk {
		p.ID, _ = campaign.Identify(found.Violation, found.Trace)
	}
	return p
}

// named is what a recipe is called in a sentence.
func named(kind, recipe string) string { return fmt.Sprintf("%s (%s)", kind, recipe) }

// storyOfHistory is the story of a violation on real servers.
func storyOfHistory(found sim.Found) *story.Story {
	h, _ := found.History.(linearizability.History)
	return story.FromHistory(h, found.Property, found.Message, 3, func(o linearizability.Operation) bool {
		return slices.ContainsFunc(found.Ops, func(op *sim.Op) bool { return op.Call == o.Call })
	})
}

// ciOf reports a story: a failure.
func (e *explainCmd) ciOf(c *commandContext, s *story.Story) ciformat.Report {
	p := ciformat.Problem{Property: s.Property, Message: s.Message, Code: s.Pivotal(), Steps: s, File: e.File}
	if s.Recipe != "" {
		p.Of = named(s.Workload, s.Recipe)
	}
	if len(s.Commands) > 0 {
		p.Again = s.Commands[0].Name + ": " + s.Commands[0].Line
	}
	p.ID = e.identity(c)
	title := strings.TrimSuffix(filepath.Base(e.File), filepath.Ext(e.File))
	return ciformat.Report{Title: title, Verdict: sim.VerdictViolation, Cases: []ciformat.Case{
		{Name: title, Verdict: sim.VerdictViolation, Problems: []ciformat.Problem{p}}}}
}

// identity is that of the failure; "" of what is no counterexample.
func (e *explainCmd) identity(c *commandContext) string {
	if formatOf(e.File) != sim.CounterexampleFormat {
		return ""
	}
	example, w, err := loadExample(c, e.File)
	if err != nil {
		return ""
	}
	replayed, err := sim.Replay(w, example)
	if err != nil || replayed.Violation == nil {
		return ""
	}
	id, _ := campaign.Identify(*replayed.Violation, replayed.Trace)
	return id
}
