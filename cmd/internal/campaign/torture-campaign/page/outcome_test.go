package page

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/failures"
	"github.com/zktorture/zktorture/cmd/internal/ciformat"
	"github.com/zktorture/zktorture/sim"
)

// found runs the zoo's animal W1 until it is found, and reports that as a recipe's own.
func found(t *testing.T) (*campaign.Plan, campaign.JobReport) {
	t.Helper()
	p := &campaign.Plan{Format: campaign.PlanFormat, Name: "night " + steering, Canary: "none", Episodes: 2000,
		Jobs: []campaign.Group{{Animals: []string{"W1"}, Strategies: []string{"random"}}}}
	w, cfg, err := p.Config(0)
	if err != nil {
		t.Fatal(err)
	}
	result, err := sim.Run(t.Context(), w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	report, err := p.ReportOf(t.Context(), 0, result)
	if err != nil || len(report.Failures) == 0 {
		t.Fatalf("%d failures, %v", len(report.Failures), err)
	}
	report.Job.Animal, report.Hunt = "", nil
	return p, report
}

// night is a campaign that found something new, something known and something expected, and missed what it knew; all of
// its texts want to be something else.
func night(t *testing.T) Outcome {
	plan, real := found(t)
	r := reported()
	r.Plan = plan
	r.Plan.Canary = ""
	hurt := real
	hurt.Job.Recipe = "yours " + steering
	hurt.Failures = []campaign.Failure{{ID: "known", Property: "order" + steering, Message: "b came before a " +
		steering, Times: 1, First: 3,
		Story: "once upon a time " + steering, Counterexample: &sim.Counterexample{Workload: "lock", Recipe: "unknown here"}}}
	hurt.Reason = steering
	hurt.Coverage = broken(1, 0).Jobs[3].Coverage
	r.Jobs = append([]campaign.JobReport{real, hurt}, r.Jobs...)
	r.Unknown = map[int]string{4: "it froze: " + steering}
	r.Again = []campaign.KnownReport{{ID: "known", Again: campaign.Again{Breaks: true, Message: steering}}, {ID: "gone"}}
	seen := failures.Sighting{Began: began.Add(-48 * time.Hour), Commit: "0123456789abcdef" + steering, Go: "go1.26.8" +
		steering}
	today := failures.Sighting{Began: began, Commit: "fedcba9876543210", Go: "go1.26.8"}
	entry := func(id string, state failures.State, first, last failures.Sighting, job campaign.Job) failures.Failure {
		return failures.Failure{ID: id, Property: "order" + steering, State: state, Reason: "it is " +
			string(state) + " " + steering, First: first, Last: last,
			Nights: 2, Recipes: []failures.Recipe{{Kind: job.Kind, Recipe: job.Recipe, State: state, First: first, Last: last,
				Command: "torture run lock --seed 1 " + steering}}}
	}
	s := ended()
	for i := range s.Jobs {
		s.Jobs[i].Took = time.Duration(s.Jobs[i].Episodes) * time.Millisecond
	}
	return Outcome{
		Report: r, Status: s,
		Night: &failures.Night{Name: "night", Commit: "fedcba9876543210", Go: "go1.26.8", Nights: 3,
			Failures: []failures.Failure{
				entry(real.Failures[0].ID, failures.New, today, today, real.Job),
				entry("known", failures.Ongoing, seen, today, hurt.Job),
				entry("gone", failures.Gone, seen, seen, hurt.Job),
			}, Problems: []string{"a file " + steering}},
	}
}

// Of a campaign of which nobody remembers an earlier one all failures are told.
func TestReportWithoutMemory(t *testing.T) {
	o := night(t)
	o.Night, o.Status = nil, ended()
	all := o.failures()
	if len(all) != 4 || !all[0].News() || !all[1].News() || all[2].News() || all[3].News() {
		t.Errorf("there are %d failures", len(all))
	}
	o = night(t)
	o.Report.Jobs[0], o.Report.Jobs[1] = o.Report.Jobs[1], o.Report.Jobs[0]
	if all := o.failures(); len(all) != 4 || !all[0].News() || all[1].News() || all[1].Expected || !all[2].Expected {
		t.Errorf("with memory what is new is not the first of %d failures", len(all))
	}
	o.Night, o.Status = nil, ended()
	dir := t.TempDir()
	if err := o.Write(dir, Stories); err != nil {
		t.Fatal(err)
	}
	raw, _ := os.ReadFile(filepath.Join(dir, "index.html"))
	if want := "no earlier campaign to compare with"; !strings.Contains(string(raw), want) {
		t.Errorf("it does not say that %s", want)
	}
}

// JUnit fails what is broken, errs where it is not known, and passes what is expected.
func TestJUnit(t *testing.T) {
	o := night(t)
	var out bytes.Buffer
	if err := o.JUnit(&out); err != nil {
		t.Fatal(err)
	}
	var all ciformat.Suites
	if err := xml.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatalf("%v in\n%s", err, out.Bytes())
	}
	s := all.Suites[0]
	if s.Tests != 8 || s.Errors != 1 || s.Failures != 3 || s.Tests != len(s.Cases) {
		t.Errorf("%d tests, %d errors, %d failures", s.Tests, s.Errors, s.Failures)
	}
	for i, want := range []string{"error", "failure", "failure", "", "", "", "failure", ""} {
		got := ""
		if c := s.Cases[i]; c.Error != nil {
			got = "error"
		} else if c.Failure != nil {
			got = "failure"
		}
		if got != want {
			t.Errorf("case %d, %s, is %q, not %q", i, s.Cases[i].Name, got, want)
		}
	}
	if steers(out.String()) || !strings.Contains(s.Cases[2].Failure.Text,
		"once upon a time <img") {
		t.Errorf("the story is %q", s.Cases[2].Failure.Text)
	}
}

// The summary says what is new with its story, and nothing of what recipes say is markup.
func TestMarkdown(t *testing.T) {
	o := night(t)
	var out bytes.Buffer
	if err := o.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(out.String(), "<details open>")
	for _, want := range []string{"## ❌ night &lt;img", "- **No result of unit 4: it froze",
		"- canary: found at its rate, in 100 of 6,400 episodes",
		"| new | " + o.Report.Jobs[0].Failures[0].Property +
			" | ", "| ongoing | order", "| gone | order", "| 2,000 episodes | lost-wakeup |",
		"3 of 5 jobs are as they should be."} {
		if !strings.Contains(before, want) {
			t.Errorf("there is no %q in\n%s", want, before)
		}
	}
	if strings.Contains(before, "<img") || steers(out.String()) {
		t.Errorf("there is markup in\n%s", before)
	}
	if strings.Count(out.String(), "<details") != 1 || !strings.Contains(out.String(),
		o.Report.Jobs[0].Failures[0].Story[:40]) {
		t.Errorf("the stories are not told:\n%s", out.String())
	}
}

// Pages of stories are as many as wanted, those of news first; the counterexamples are there of all.
func TestStoriesAreBounded(t *testing.T) {
	o, dir := night(t), t.TempDir()
	for _, most := range []int{1, 0} {
		if err := o.Write(dir, most); err != nil {
			t.Fatal(err)
		}
		pages, _ := filepath.Glob(filepath.Join(dir, storiesDir, "*.html"))
		files, _ := filepath.Glob(filepath.Join(dir, storiesDir, "*.json"))
		if len(pages) != most || len(files) == 0 {
			t.Errorf("of at most %d stories there are the pages %v, and the files %v", most, pages, files)
		}
	}
}
