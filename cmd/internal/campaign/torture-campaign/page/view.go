package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/sim"
)

// view is what the live page shows, without the stories. Its texts have no characters that steer.
type view struct {
	Name     string        `json:"name"`
	Digest   string        `json:"digest"`
	State    status.State  `json:"state"`
	Verdict  Verdict       `json:"verdict"`
	Red      []string      `json:"red"`
	Unclear  []string      `json:"unclear"` // what has no result, in sentences
	Began    time.Time     `json:"began"`
	Ends     *time.Time    `json:"ends"`
	Running  float64       `json:"running"` // seconds since it began
	Last     float64       `json:"last"`    // seconds since the last result; negative: there is none
	Units    int           `json:"units"`
	Done     int           `json:"done"`
	Unknown  int           `json:"unknown"`
	Twice    int           `json:"twice"`
	Episodes int           `json:"episodes"`
	Steps    int64         `json:"steps"`
	Rate     float64       `json:"rate"`
	Broken   int           `json:"broken"`
	Canaries []canaryView  `json:"canaries"`
	Workers  []workerView  `json:"workers"`
	Jobs     []jobView     `json:"jobs"`
	Found    []failureView `json:"found"`
	Coverage matrix        `json:"coverage"`
	Course   courseView    `json:"course"`
}

// canaryView is how a canary stands.
type canaryView struct {
	Name     string  `json:"name"`
	Word     string  `json:"word"`
	Times    int     `json:"times"`
	Episodes int     `json:"episodes"`
	Rate     float64 `json:"rate"` // to be expected, in percent
}

// workerView is a worker.
type workerView struct {
	Name   string  `json:"name"`
	State  string  `json:"state"`
	Why    string  `json:"why"` // it is refused
	Build  string  `json:"build"`
	System string  `json:"system"`
	Units  int     `json:"units"`
	Unit   int     `json:"unit"`
	Silent float64 `json:"silent"` // seconds since it was heard of
}

// jobView is a job. Its number is its place in the plan's list.
type jobView struct {
	Number   int    `json:"number"`
	Verdict  string `json:"verdict"`
	Kind     string `json:"kind"`
	Recipe   string `json:"recipe"`
	How      string `json:"how"`
	Units    int    `json:"units"`
	Done     int    `json:"done"`
	Episodes int    `json:"episodes"`
	Failures int    `json:"failures"`
}

// failureView is a property that a job broke.
type failureView struct {
	Job      int    `json:"job"`
	Property string `json:"property"`
	Kind     string `json:"kind"`
	Recipe   string `json:"recipe"`
	How      string `json:"how"`
	Message  string `json:"message"`
	Times    int    `json:"times"`
	First    int    `json:"first"`
	ID       string `json:"id"`
	Story    bool   `json:"story"`
	Expected bool   `json:"expected"` // the recipe is broken on purpose
}

// viewOf is what the live page shows.
func viewOf(s status.Status, j Judgement, c *course) view {
	v := view{
		Digest: s.Digest, State: s.State, Verdict: j.Verdict, Red: filled(j.Red), Unclear: filled(j.Unknown), Began: s.Began,
		Running: s.Now.Sub(s.Began).Seconds(), Last: -1,
		Units: s.Units, Done: s.Done, Unknown: len(s.Unknown), Twice: s.Twice,
		Episodes: s.Episodes, Steps: s.Steps, Rate: s.Rate, Broken: j.Broken, Canaries: canaryViews(canariesOf(s, nil)),
		Workers: []workerView{}, Jobs: []jobView{}, Found: []failureView{}, Course: c.view(),
		Coverage: matrixOf(func(yield func(campaign.Job, *sim.Coverage) bool) {
			for _, job := range s.Jobs {
				if !yield(job.Job, job.Coverage) {
					return
				}
			}
		}),
	}
	if s.Plan != nil {
		v.Name = escape.Text(s.Plan.Name)
	}
	if !s.Last.IsZero() {
		v.Last = max(s.Now.Sub(s.Last).Seconds(), 0)
	}
	if !s.Ends.IsZero() {
		v.Ends = &s.Ends
	}
	for _, w := range s.Workers {
		v.Workers = append(v.Workers, workerView{escape.Text(w.Name), string(stateOf(w, s.Now)),
			escape.Text(w.Refused),
			escape.Text(w.Build), escape.Text(w.System), w.Units, w.Unit, max(s.Now.Sub(w.Last).Seconds(), 0)})
	}
	for i, job := range s.Jobs {
		v.Jobs = append(v.Jobs, jobViewOf(i, job))
		for _, f := range job.Found {
			v.Found = append(v.Found, failureView{
				i, escape.Text(f.Property), escape.Text(job.Kind), escape.Text(job.Recipe), how(job.Job),
				escape.Text(f.Message), f.Times, f.First, f.ID, f.Story != "", job.Animal != "",
			})
		}
	}
	slices.SortStableFunc(v.Found, func(a, b failureView) int { return last(a.Expected) - last(b.Expected) })
	return v
}

// last sorts what is true behind the rest.
func last(b bool) int { return int(truth(b)) }

func canaryViews(all []*canary) []canaryView {
	views := []canaryView{}
	for _, c := range all {
		views = append(views, canaryView{escape.Text(c.name), c.word(), c.times, c.episodes, 100 * c.rate})
	}
	return views
}

func jobViewOf(number int, job status.Job) jobView {
	verdict := "running"
	switch {
	case job.Animal != "" && job.Failures+len(job.Found) > 0:
		verdict = "found"
	case job.Failures+len(job.Found) > 0:
		verdict = "violation"
	case job.Episodes == 0:
		verdict = "waiting"
	case job.Units > 0 && job.Done >= job.Units && job.Animal != "":
		verdict = "not found"
	case job.Units > 0 && job.Done >= job.Units:
		verdict = "ok"
	}
	return jobView{number, verdict, escape.Text(job.Kind), escape.Text(job.Recipe), how(job.Job), job.Units,
		job.Done,
		job.Episodes, job.Failures}
}

// how says how a job is run, in a few words.
func how(job campaign.Job) string {
	words := []string{job.Strategy, fmt.Sprintf("seed %d", job.Seed)}
	if job.Animal != "" {
		words = append(words, "known bug "+job.Animal)
	}
	if job.Faults != "" && job.Faults != "all" {
		words = append(words, "faults "+job.Faults)
	}
	for _, mode := range []struct {
		is   bool
		name string
	}{{job.Exact, "exact"}, {job.Wire, "wire"}, {job.Go != "", job.Go}} {
		if mode.is {
			words = append(words, mode.name)
		}
	}
	return escape.Text(strings.Join(words, ", "))
}

// filled is never nil, so that JSON has a list.
func filled(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// faultLine says which faults struck how often, the most frequent first.
func faultLine(struck map[string]int) string {
	faults := slices.SortedFunc(maps.Keys(struck), func(a, b string) int {
		if struck[a] != struck[b] {
			return struck[b] - struck[a]
		}
		return strings.Compare(a, b)
	})
	words := []string{}
	for _, f := range faults {
		if struck[f] > 0 {
			words = append(words, fmt.Sprintf("%s %s", f, count(struck[f])))
		}
	}
	return escape.Text(strings.Join(words, ", "))
}
