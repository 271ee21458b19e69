package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/zktorture/zktorture/internal/ciformat"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
)

// ciFlags are the reports for CI services.
type ciFlags struct {
	JUnit   string `name:"junit" placeholder:"FILE" help:"Write the verdicts as JUnit XML, with the story of each failure. Overwrites FILE."`
	Summary string `placeholder:"FILE" help:"Append a summary in Markdown, as for the summary page of a CI job ($GITHUB_STEP_SUMMARY)."`
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
	}
	return slices.DeleteFunc(all, func(r ciReport) bool { return r.file == "" })
}

// wanted reports whether any report is to be written.
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
		Facts: [][2]string{{"run", output.CountLine(result)}, {"origin", output.OriginLine(result)},
			{"faults struck", output.FaultLine(result.Struck)}},
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
func (r *runCmd) problems(c *console.Context, w *workload.Workload, result sim.Result, saved output.Evidence) (all []ciformat.Problem) {
	for i, found := range result.Violations {
		p := ciformat.Problem{Property: found.Property, Message: found.Message, Place: i}
		if i >= len(saved.Examples) {
			p.Story = storyOfHistory(found).Text(story.TextOptions{})
		} else {
			p.Story = storyOf(c, w, saved.Examples[i], saved.Files[i])
		}
		all = append(all, p)
	}
	return all
}

// storyOfHistory is the story of a violation on real servers.
func storyOfHistory(found sim.Found) *story.Story {
	h, _ := found.History.(linearizability.History)
	return story.FromHistory(h, found.Property, found.Message, 3, func(o linearizability.Operation) bool {
		return slices.ContainsFunc(found.Ops, func(op *world.Op) bool { return op.Call == o.Call })
	})
}
