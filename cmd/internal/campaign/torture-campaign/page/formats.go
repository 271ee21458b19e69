package page

import (
	"fmt"
	"io"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/failures"
	"github.com/zktorture/zktorture/cmd/internal/ciformat"
	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/sim"
)

// JUnit writes JUnit XML: a case for the campaign itself, which is an error if it is red or unknown, one for each
// job, and one for each known failure that was run again. What animals of the zoo break is expected, and passes.
func (o Outcome) JUnit(w io.Writer) error { return o.ci().JUnit(w) }

// ci is the report for CI services.
func (o Outcome) ci() ciformat.Report {
	j := o.Judge()
	self := ciformat.Case{Name: "the campaign did what its plan says", Verdict: sim.VerdictOK}
	if reasons := j.Reasons(); len(reasons) > 0 {
		self.Verdict, self.Reason = sim.VerdictUnknown, strings.Join(reasons, " ")
	}
	r := ciformat.Report{Title: "campaign " + o.name(), Cases: []ciformat.Case{self}}
	for _, job := range o.Report.Jobs {
		r.Cases = append(r.Cases, caseOf(job))
	}
	for i, k := range o.Report.Again {
		c := ciformat.Case{Name: "known failure " + escape.Text(k.ID), Verdict: sim.VerdictOK}
		if k.Breaks {
			a := o.again(i, k)
			c.Verdict = sim.VerdictViolation
			c.Problems = []ciformat.Problem{{Property: a.Property, Message: fmt.Sprintf("%s: %s: %s", a.Recipe, a.What,
				escape.Text(k.Message))}}
		}
		r.Cases = append(r.Cases, c)
	}
	for _, job := range o.Status.Jobs {
		r.Seconds += job.Took.Seconds()
	}
	return r
}

// caseOf is the case of a job.
func caseOf(job campaign.JobReport) ciformat.Case {
	c := ciformat.Case{Name: escape.Text(job.Job.String()), Verdict: job.Judged(),
		Reason: escape.Text(job.Reason)}
	if job.Hunt != nil {
		c.Problems = []ciformat.Problem{{Property: job.Hunt.Property, Message: escape.Text(job.Hunt.Problem)}}
		return c
	}
	for i, f := range job.Failures {
		c.Problems = append(c.Problems, ciformat.Problem{Property: escape.Text(f.Property),
			Message: escape.Text(f.Message),
			Story:   escape.Text(f.Story), Place: i})
	}
	return c
}

// signs stand for verdicts.
var signs = map[Verdict]string{OK: "✅", Violation: "❌", Unknown: "❔", Red: "🔴", Running: "⏳"}

// Markdown writes a summary, as for the summary page of a CI job ($GITHUB_STEP_SUMMARY): what is new with its stories,
// what is known, what is gone, and the jobs that are not ok.
func (o Outcome) Markdown(w io.Writer) error {
	var b strings.Builder
	j, all := o.Judge(), o.failures()
	fmt.Fprintf(&b, "## %s %s: %s\n\n", signs[j.Verdict], ciformat.Inline(o.name()), j.Verdict)
	for _, reason := range j.Reasons() {
		fmt.Fprintf(&b, "- **%s**\n", ciformat.Inline(reason))
	}
	for _, c := range canariesOf(o.Status, o.Report) {
		fmt.Fprintf(&b, "- canary: %s, in %s of %s episodes\n", c.word(), count(c.times), count(c.episodes))
	}
	for _, fact := range o.facts() {
		fmt.Fprintf(&b, "- %s: %s\n", fact[0], ciformat.Inline(fact[1]))
	}
	b.WriteString(o.broken(all))
	b.WriteString(o.jobsText())
	news := 0
	for _, f := range all {
		if f.News() {
			title := f.Property + ": " + f.Places[0].Kind + " " + f.Places[0].Recipe
			b.WriteString(ciformat.Folded(title, f.Story, news == 0, ciformat.SummaryMax-b.Len()))
			news++
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rowsMax bounds the rows of a table in Markdown; the page has all.
const rowsMax = 100

// broken is the table of failures that are not expected, and of those that were not seen again.
func (o Outcome) broken(all []*failure) string {
	var rows []string
	for _, f := range all {
		if f.Expected {
			continue
		}
		where := []string{}
		for _, p := range f.Places {
			where = append(where, p.Kind+" "+p.Recipe)
		}
		state := string(f.State())
		if state == "" {
			state = "broken"
		}
		rows = append(rows, row(state, f.Property, listed(where, "; "), f.Message))
	}
	for _, f := range o.unseen() {
		rows = append(rows, row(string(f.State), escape.Text(f.Property), recipesOf(f), escape.Text(f.Reason)))
	}
	return table("\n| state | property | recipe | what |\n|---|---|---|---|\n", rows)
}

func recipesOf(f failures.Failure) string {
	var names []string
	for _, r := range f.Recipes {
		names = append(names, escape.Text(r.Kind+" "+r.Recipe))
	}
	return listed(names, "; ")
}

// jobsText is the table of jobs that are not ok, and how many are.
func (o Outcome) jobsText() string {
	var rows []string
	fine := 0
	for _, job := range o.Report.Jobs {
		c := caseOf(job)
		if c.Verdict == sim.VerdictOK {
			fine++
			continue
		}
		what := []string{}
		for _, p := range c.Problems {
			what = append(what, p.Property)
		}
		if c.Reason != "" {
			what = append(what, c.Reason)
		}
		rows = append(rows, row(ciformat.Signs[c.Verdict], c.Name, count(job.Episodes)+" episodes", listed(what, "; ")))
	}
	return table("\n| | job | | |\n|---|---|---|---|\n", rows) +
		fmt.Sprintf("\n%s of %s jobs are as they should be.\n\n", count(fine),
			count(len(o.Report.Jobs)))
}

func row(cells ...string) string {
	for i, c := range cells {
		cells[i] = ciformat.Inline(c)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// table is a table, if there are rows.
func table(head string, rows []string) string {
	if len(rows) == 0 {
		return ""
	}
	more := ""
	if n := len(rows) - rowsMax; n > 0 {
		rows, more = rows[:rowsMax], fmt.Sprintf("\nAnd %d others.\n", n)
	}
	return head + strings.Join(rows, "") + more
}
