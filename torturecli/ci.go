package torturecli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

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
func (f *ciFlags) write(r ciReport) error {
	if f.JUnit != "" {
		var text bytes.Buffer
		if err := r.junit(&text); err != nil {
			return err
		}
		if err := wholefile.Write(f.JUnit, text.Bytes()); err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	if f.Summary != "" {
		return appendTo(f.Summary, r.markdown)
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

// ciReport is a report for a CI service: cases, each with a verdict.
type ciReport struct {
	title   string
	verdict sim.Verdict
	facts   [][2]string // what was run
	cases   []ciCase
	seconds float64
}

// ciCase is one property of a recipe, or one animal of the zoo.
type ciCase struct {
	name     string
	help     string // the property, or the animal
	verdict  sim.Verdict
	reason   string                     // of an unknown verdict
	brokenBy func(property string) bool // of a property
	problems []ciProblem
	seconds  float64 // 0 if not measured alone
}

// ciProblem is a violation. One property can have several.
type ciProblem struct {
	property, message, story string
	place                    int // rank among the run's violations; 0 is the likely root cause
}

// ciOf reports a run: a case for each property of the workload, and for each violation of a property common to all
// recipes. An unbroken property passes only if the run was decided.
func (r *runCmd) ciOf(result sim.Result, stories []string) ciReport {
	report := ciReport{
		title: fmt.Sprintf("%s (%s) on %s", result.Workload, result.Recipe, r.Backend), verdict: result.Verdict,
		seconds: result.Elapsed.Seconds(),
		facts: [][2]string{{"run", countLine(result)}, {"origin", originLine(result)},
			{"faults struck", faultLine(result.Struck)}},
	}
	rest := sim.VerdictOK
	if result.Reason != "" || result.Interrupted {
		rest = sim.VerdictUnknown
	}
	if kind, err := workload.KindNamed(result.Workload); err == nil {
		for _, promise := range kind.Promises {
			if name := promise.Name(); name != "" {
				report.cases = append(report.cases, ciCase{name: name, help: promise.Help(), brokenBy: promise.BrokenBy,
					verdict: rest, reason: result.Reason})
			}
		}
	}
	for i, found := range result.Violations {
		report.breaks(found, stories[i], i)
	}
	return report
}

// breaks adds a violation to the case of its property.
func (r *ciReport) breaks(found sim.Found, text string, place int) {
	i := slices.IndexFunc(r.cases, func(c ciCase) bool { return c.brokenBy(found.Property) })
	if i < 0 {
		i = len(r.cases)
		r.cases = append(r.cases, ciCase{name: found.Property,
			brokenBy: func(property string) bool { return property == found.Property }})
	}
	c := &r.cases[i]
	c.verdict = sim.VerdictViolation
	c.problems = append(c.problems, ciProblem{found.Property, found.Message, text, place})
}

// joined joins a part of each problem of a case.
func (c ciCase) joined(separator string, part func(ciProblem) string) string {
	var parts []string
	for _, p := range c.problems {
		parts = append(parts, part(p))
	}
	return strings.Join(parts, separator)
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
