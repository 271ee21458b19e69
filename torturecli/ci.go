package torturecli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

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
}

// wanted tells whether any report is to be written.
func (f *ciFlags) wanted() bool { return f.JUnit != "" || f.Summary != "" }

// probe fails before a long run if a report could not be written after it.
func (f *ciFlags) probe() error {
	for _, name := range []string{f.JUnit, f.Summary} {
		if name == "" {
			continue
		}
		file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		file.Close()
	}
	return nil
}

// write writes the reports.
func (f *ciFlags) write(r ciformat.Report) error {
	if f.JUnit != "" {
		var text bytes.Buffer
		if err := r.JUnit(&text); err != nil {
			return err
		}
		if err := wholefile.Write(f.JUnit, text.Bytes()); err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	if f.Summary != "" {
		return appendTo(f.Summary, r.Markdown)
	}
	return nil
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
func (r *runCmd) ciOf(result sim.Result, stories []string) ciformat.Report {
	report := ciformat.Report{
		Title: fmt.Sprintf("%s (%s) on %s", result.Workload, result.Recipe, r.Backend), Verdict: result.Verdict,
		Seconds: result.Elapsed.Seconds(),
		Facts: [][2]string{{"run", countLine(result)}, {"origin", originLine(result)},
			{"faults struck", faultLine(result.Struck)}},
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
	for i, found := range result.Violations {
		report.Breaks(ciformat.Problem{Property: found.Property, Message: found.Message, Story: stories[i], Place: i})
	}
	return report
}

// stories returns the story of each violation of a run.
func (r *runCmd) stories(c *commandContext, w *workload.Workload, result sim.Result, saved evidence) (texts []string) {
	for i, found := range result.Violations {
		if i < len(saved.examples) {
			texts = append(texts, storyOf(c, w, saved.examples[i], saved.files[i]))
			continue
		}
		h, _ := found.History.(linearizability.History)
		s := story.FromHistory(h, found.Property, found.Message, 3, func(o linearizability.Operation) bool {
			return slices.ContainsFunc(found.Ops, func(op *sim.Op) bool { return op.Call == o.Call })
		})
		texts = append(texts, s.Text(story.TextOptions{}))
	}
	return texts
}
