package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/failures"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/internal/webpage"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

// Outcome is what is known of a campaign that has ended.
type Outcome struct {
	Report *campaign.Report
	Status status.Status   // as it was at the end; zero: not known
	Night  *failures.Night // nil: no earlier ones are known
}

// Judge says how the campaign stands.
func (o Outcome) Judge() Judgement { return judge(o.Status, o.Report) }

// paceOf is how fast the jobs of a campaign were: episodes a second of a worker, by what [campaign.Job] says of itself.
func paceOf(s status.Status) map[string]float64 {
	pace := map[string]float64{}
	for _, job := range s.Jobs {
		if job.Took > 0 && job.Episodes > 0 {
			pace[job.String()] = float64(job.Episodes) / job.Took.Seconds()
		}
	}
	return pace
}

// failure is a failure of the campaign, in all jobs that have it: what is likely the same mistake is one.
type failure struct {
	ID, Property, Message, Story string // of the first job
	Expected                     bool   // recipes of the zoo
	Places                       []place
	Night                        *failures.Failure // nil: not known
}

// place is a job that has a failure.
type place struct {
	Kind, Recipe, How string
	Times, First      int
	Clients, Faults   int
	Page, File        string // of the story and of the counterexample, within the report's folder; "": there is none
	Night             *failures.Recipe
}

// News reports whether somebody has to look at it. Of what nobody remembers everything is news.
func (f failure) News() bool { return !f.Expected && (f.Night == nil || f.Night.News()) }

// State is what became of it since the last campaign; "" if nobody knows.
func (f failure) State() failures.State {
	if f.Night == nil {
		return ""
	}
	return f.Night.State
}

// failures lists what broke, the news first and what is expected last.
func (o Outcome) failures() []*failure {
	type key struct {
		id       string
		expected bool
	}
	var all []*failure
	known := map[key]*failure{}
	for n, job := range o.Report.Jobs {
		for i, f := range job.Failures {
			at := key{cmp.Or(f.ID, fmt.Sprint(n, " ", i)), job.Job.Animal != ""}
			if known[at] == nil {
				known[at] = &failure{ID: escape.Text(f.ID), Property: escape.Text(f.Property), Expected: at.expected,
					Message: escape.Text(f.Message), Story: escape.Text(f.Story), Night: o.remembered(f.ID, at.expected)}
				all = append(all, known[at])
			}
			p := place{
				Kind: escape.Text(job.Job.Kind), Recipe: escape.Text(job.Job.Recipe), How: how(job.Job),
				Times: f.Times, First: f.First, Clients: f.Clients, Faults: f.Faults,
				Night: recipeOf(known[at].Night, job.Job),
			}
			if f.Counterexample != nil {
				p.File = storyFile(n, i)
			}
			known[at].Places = append(known[at].Places, p)
		}
	}
	slices.SortStableFunc(all, func(a, b *failure) int {
		return cmp.Or(last(a.Expected)-last(b.Expected), last(!a.News())-last(!b.News()))
	})
	return all
}

// remembered is what the night says of a failure.
func (o Outcome) remembered(id string, expected bool) *failures.Failure {
	if o.Night == nil {
		return nil
	}
	for i, f := range o.Night.Failures {
		if f.ID == id && f.Expected == expected {
			return &o.Night.Failures[i]
		}
	}
	return nil
}

func recipeOf(f *failures.Failure, job campaign.Job) *failures.Recipe {
	if f == nil {
		return nil
	}
	for i, r := range f.Recipes {
		if r.Kind == job.Kind && r.Recipe == job.Recipe {
			return &f.Recipes[i]
		}
	}
	return nil
}

// unseen lists the failures that the store knows and the campaign has not seen.
func (o Outcome) unseen() (unseen []failures.Failure) {
	if o.Night == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, job := range o.Report.Jobs {
		for _, f := range job.Failures {
			seen[fmt.Sprint(f.ID, job.Job.Animal != "")] = true
		}
	}
	for _, f := range o.Night.Failures {
		if !f.Expected && !seen[fmt.Sprint(f.ID, f.Expected)] {
			unseen = append(unseen, f)
		}
	}
	return unseen
}

// facts say what was run, each with its name.
func (o Outcome) facts() [][2]string {
	r := o.Report
	episodes, steps, operations, struck := 0, int64(0), int64(0), map[string]int{}
	for _, job := range r.Jobs {
		episodes, steps, operations = episodes+job.Episodes, steps+job.Steps, operations+job.Operations
		for fault, n := range job.Struck {
			struck[fault] += n
		}
	}
	facts := [][2]string{
		{"jobs", count(len(r.Jobs))}, {"units", count(r.Units)}, {"episodes", count(episodes)}, {"operations",
			count(operations)},
		{"steps", count(steps)}, {"faults injected", faultLine(struck)}, {"plan", r.Digest},
	}
	if s := o.Status; !s.Began.IsZero() {
		facts = append(facts, [2]string{"began", minute(s.Began)}, [2]string{"took", rounded(s.Now.Sub(s.Began))},
			[2]string{"workers", count(len(s.Workers))}, [2]string{"units done twice, and equal", count(s.Twice)})
	}
	if n := o.Night; n != nil {
		facts = append(facts, [2]string{"commit", n.Commit}, [2]string{"Go", n.Go},
			[2]string{"nights remembered", count(n.Nights)})
	}
	if r.Plan != nil {
		for _, p := range r.Plan.Programs {
			facts = append(facts, [2]string{"program", strings.TrimSpace(fmt.Sprintf("%s, %s, SHA-256 %.16s", p.Build,
				p.System, p.SHA256))})
		}
	}
	for i := range facts {
		facts[i][1] = escape.Text(facts[i][1])
	}
	return slices.DeleteFunc(facts, func(f [2]string) bool { return f[1] == "" })
}

// sentence is a text that begins and ends as a sentence does.
func sentence(text string) string {
	text = escape.Text(strings.TrimSuffix(text, "."))
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// minute is a time as a report has it.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// name is what the plan calls the campaign.
func (o Outcome) name() string {
	if o.Report.Plan == nil || o.Report.Plan.Name == "" {
		return "campaign"
	}
	return escape.Text(o.Report.Plan.Name)
}

// storiesDir is the folder of the stories, within that of the report.
const storiesDir = "stories"

// storyFile is the counterexample of a failure of a job, within the report's folder.
func storyFile(job, at int) string { return fmt.Sprintf("%s/job%d-%d.json", storiesDir, job, at) }

// Stories is how many pages of stories a report has at most, if nobody says otherwise: each takes about a second to make.
const Stories = 200

// Write writes the static page into a folder, as index.html, and for each failure its counterexample and, where this
// program knows the recipe, a page with its story: so many at most, the news first. Pages that are there are replaced.
// It loads nothing, and its links are relative.
func (o Outcome) Write(dir string, stories int) error {
	all := o.failures()
	if err := o.tell(dir, all, stories); err != nil {
		return err
	}
	return wholefile.WriteBy(filepath.Join(dir, "index.html"), func(w io.Writer) error {
		return staticTemplate.Execute(w, o.page(all))
	})
}

// tell writes the counterexamples and the pages of the stories.
func (o Outcome) tell(dir string, all []*failure, stories int) error {
	if err := os.RemoveAll(filepath.Join(dir, storiesDir)); err != nil {
		return err
	}
	told := 0
	for _, f := range all {
		for i := range f.Places {
			p := &f.Places[i]
			if p.File == "" {
				continue
			}
			if err := os.MkdirAll(filepath.Join(dir, storiesDir), 0o755); err != nil {
				return err
			}
			var job, at int
			if _, err := fmt.Sscanf(p.File, storiesDir+"/job%d-%d.json", &job, &at); err != nil {
				return err
			}
			text, err := json.Marshal(o.Report.Jobs[job].Failures[at].Counterexample)
			if err == nil {
				err = wholefile.Write(filepath.Join(dir, filepath.FromSlash(p.File)), append(text, '\n'))
			}
			if err != nil {
				return err
			}
			if told++; told > stories {
				continue
			}
			if page := o.story(job, at, p.File); page != nil {
				p.Page = strings.TrimSuffix(p.File, ".json") + ".html"
				if err := wholefile.Write(filepath.Join(dir, filepath.FromSlash(p.Page)), page); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// story is the page of a failure's story; nil if this program cannot make it, as the recipe is of another program, or
// the mode. The story as text is in the report.
func (o Outcome) story(job, at int, file string) []byte {
	w := o.Report.Workload(job)
	if w == nil {
		return nil
	}
	s, err := story.Tell(context.Background(), w, o.Report.Jobs[job].Failures[at].Counterexample)
	if err != nil {
		return nil
	}
	s.Commands = []story.Command{{Name: "replay", Line: "torture replay " + file}, {Name: "explain",
		Line: "torture explain " + file}}
	var page bytes.Buffer
	if s.HTML(&page) != nil {
		return nil
	}
	return page.Bytes()
}

// staticTemplate is the template of the static page.
var staticTemplate = template.Must(template.New("static.html").Funcs(template.FuncMap{
	"count": func(n any) string {
		switch n := n.(type) {
		case int64:
			return count(n)
		case int:
			return count(n)
		case float64:
			return count(int64(n + 0.5))
		}
		return fmt.Sprint(n)
	},
	"plain":    escape.Text,
	"sentence": sentence,
	"minute":   minute,
	"short":    func(text string) string { return cut(text, 12) },
	"faults":   faultLine,
}).ParseFS(assets, "assets/static.html"))

// staticPage is the data of the template.
type staticPage struct {
	Judgement
	Style    template.CSS
	Script   template.JS
	Scripts  string
	Name     string
	Reasons  []string
	Facts    [][2]string
	Memory   bool // something is remembered of earlier campaigns
	News     []*failure
	Known    []*failure
	Expected []*failure
	Unseen   []failures.Failure
	Canaries []canaryView
	Hunted   int
	Missed   []string
	Jobs     []staticJob
	Coverage matrix
	Again    []staticAgain
	Problems []string
}

// staticJob is a row of the table of jobs.
type staticJob struct {
	campaign.JobReport
	How, Word string
	Class     string
	Pace      float64
	Note      string
}

// staticAgain is a known failure that was run again.
type staticAgain struct {
	ID, Property, Recipe, What string
}

func (o Outcome) page(all []*failure) staticPage {
	script := asset("table.js") + asset("static.js")
	p := staticPage{
		Judgement: o.Judge(), Style: template.CSS(webpage.Look +
			asset("page.css")), Script: template.JS(script), Scripts: escape.Script(script),
		Name: o.name(), Facts: o.facts(), Memory: o.Night != nil, Unseen: o.unseen(),
		Canaries: canaryViews(canariesOf(o.Status, o.Report)),
		Coverage: matrixOf(func(yield func(campaign.Job, *sim.Coverage) bool) {
			for _, job := range o.Report.Jobs {
				if !yield(job.Job, job.Coverage) {
					return
				}
			}
		}),
	}
	p.Reasons = p.Judgement.Reasons()
	for _, f := range all {
		switch {
		case f.Expected:
			p.Expected = append(p.Expected, f)
		case f.News():
			p.News = append(p.News, f)
		default:
			p.Known = append(p.Known, f)
		}
	}
	pace := paceOf(o.Status)
	for _, job := range o.Report.Jobs {
		row := staticJob{JobReport: job, How: how(job.Job), Word: string(job.Verdict), Class: string(job.Verdict),
			Pace: pace[job.Job.String()],
			Note: escape.Text(job.Reason)}
		if job.Hunt != nil && !job.Job.Canary {
			p.Hunted++
			if !job.Hunt.Found {
				p.Missed = append(p.Missed, fmt.Sprintf("%s by %s in %s episodes", job.Job.Animal, how(job.Job),
					count(job.Episodes)))
			}
		}
		if job.Job.Animal != "" {
			row.Word, row.Class = "not found", "unknown"
			if len(job.Failures) > 0 {
				row.Word, row.Class = "found", "ok"
			}
		}
		p.Jobs = append(p.Jobs, row)
	}
	for i, k := range o.Report.Again {
		p.Again = append(p.Again, o.again(i, k))
	}
	if o.Night != nil {
		p.Problems = o.Night.Problems
	}
	return p
}

func (o Outcome) again(i int, k campaign.KnownReport) staticAgain {
	a := staticAgain{ID: escape.Text(k.ID), What: "no longer breaks"}
	if p := o.Report.Plan; p != nil && i < len(p.Known) && p.Known[i].Counterexample != nil {
		c := p.Known[i].Counterexample
		a.Property, a.Recipe = escape.Text(c.Property), escape.Text(c.Workload+" "+c.Recipe)
	}
	switch {
	case k.Problem != "":
		a.What = "could not be run: " + escape.Text(k.Problem)
	case k.Breaks && k.Same:
		a.What = "still breaks, with the same steps"
	case k.Breaks:
		a.What = "still breaks, in another run"
	}
	return a
}
