package failures_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/failures"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// first is when the first night begins.
var first = time.Date(2026, 1, 31, 22, 0, 0, 0, time.UTC)

func meta(night int) failures.Meta {
	return failures.Meta{
		Began: first.AddDate(0, 0, night), Commit: fmt.Sprintf("c0ffee%d", night), Go: "go1.26.8",
	}
}

// counterexample is one of a recipe; they differ by their number.
func counterexample(recipe, property string, number int) *sim.Counterexample {
	return &sim.Counterexample{
		Format: sim.CounterexampleFormat, Workload: "lock", Recipe: recipe, Faults: "loss,expiry", Clients: 3, Ops: 4,
		Property: property, Message: fmt.Sprintf("c%d still waits in acquire <&>", number),
		Hash:    digest.Hex(uint64(number)),
		Choices: world.Choices{number, 0, 2}, Trace: []string{"    0    0.000s  c1  > acquire()"},
		History: []byte(`{"version":3,"of":"a < b"}`),
	}
}

// job is a job with 1000 episodes.
func job(recipe string) campaign.JobReport {
	return campaign.JobReport{Job: campaign.Job{
		Kind: "lock", Recipe: recipe, Strategy: "mix", Seed: 7, Faults: "loss,expiry", Clients: 3, Ops: 4,
	}, Result: sim.Result{Counts: tally.Counts{Episodes: 1000}, Verdict: sim.VerdictOK}}
}

// finds adds a failure to a job.
func finds(j campaign.JobReport, id string, times int, c *sim.Counterexample) campaign.JobReport {
	j.Verdict = sim.VerdictViolation
	j.Failures = append(slices.Clone(j.Failures), campaign.Failure{
		ID: id, Shape: []string{"connection breaks", "last answer: get ok"}, Property: c.Property, Message: c.Message,
		Times: times, Clients: 2, Faults: 1, Steps: 11, Counterexample: c,
	})
	return j
}

// report is what a campaign has seen.
func report(jobs ...campaign.JobReport) *campaign.Report {
	plan := &campaign.Plan{Format: campaign.PlanFormat, Name: "nightly"}
	return &campaign.Report{Format: campaign.ReportFormat, Plan: plan, Digest: "d1", Jobs: jobs, Units: len(jobs)}
}

// again adds a known failure that was run again.
func again(r *campaign.Report, id string, c *sim.Counterexample, a campaign.Again) *campaign.Report {
	r.Plan.Known = append(r.Plan.Known, campaign.Known{ID: id, Counterexample: c})
	r.Again = append(r.Again, campaign.KnownReport{ID: id, Again: a})
	return r
}

var (
	breaks  = campaign.Again{Breaks: true, Same: true, Message: "it breaks"}
	stops   = campaign.Again{}
	problem = campaign.Again{Problem: "there is no recipe of this name"}
)

func open(t testing.TB, dir string) *failures.Store {
	t.Helper()
	s, err := failures.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func record(t testing.TB, s *failures.Store, night int, r *campaign.Report) *failures.Night {
	t.Helper()
	n, err := s.Record(r, meta(night))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// states are the states of all failures, and in recipes, by their names.
func states(n *failures.Night) map[string]failures.State {
	if n == nil {
		return nil
	}
	all := map[string]failures.State{}
	for _, f := range n.Failures {
		name := f.ID
		if f.Expected {
			name += " expected"
		}
		all[name] = f.State
		for _, r := range f.Recipes {
			all[name+" "+r.Recipe] = r.State
		}
	}
	return all
}

const waits = "lost-wakeup" // a property

// Each row of the table of states in the package documentation, by what one recipe's failure goes through.
func TestStates(t *testing.T) {
	type nights = []*campaign.Report
	c, old := counterexample("ours", waits, 1), counterexample("ours", waits, 3)
	found, clean := finds(job("ours"), "w-1", 10, c), job("ours")
	newer := finds(job("ours"), "w-1", 10, old)
	other := finds(job("ours"), "w-2", 10, counterexample("ours", waits, 2))
	few, justEnough := clean, clean
	few.Episodes, justEnough.Episodes = 299, 300
	// stop is a night in which jobs are run, and the counterexample no longer breaks.
	stop := func(jobs ...campaign.JobReport) *campaign.Report { return again(report(jobs...), "w-1", c, stops) }
	// with is such a night with a job that is changed.
	with := func(change func(j *campaign.JobReport)) nights {
		j := clean
		change(&j)
		return nights{stop(j)}
	}
	for _, tt := range []struct {
		name   string
		nights nights // after that in which it is found in 10 of 1000 episodes
		want   failures.State
	}{
		{"found for the first time", nil, failures.New},
		{"found again", nights{report(found)}, failures.Ongoing},
		{"its counterexample breaks", nights{again(report(clean), "w-1", c, breaks)}, failures.Ongoing},
		{"by another run", nights{again(report(clean), "w-1", c, campaign.Again{Breaks: true})}, failures.Ongoing},
		{"nothing is run", nights{report()}, failures.Unseen},
		{"another recipe is run", nights{report(job("theirs"))}, failures.Unseen},
		{"not run again", nights{report(clean)}, failures.Unseen},
		{"cannot be run again", nights{again(report(clean), "w-1", c, problem)}, failures.Unseen},
		{"run again and searched for", nights{stop(clean)}, failures.Gone},
		{"searched for just long enough", nights{stop(justEnough)}, failures.Gone},
		{"run again only", nights{stop()}, failures.Changed},
		{"searched for too short", nights{stop(few)}, failures.Changed},
		{"… and for longer the next night", nights{stop(few), report(few)}, failures.Gone},
		{"seen after it was searched for", nights{report(few), report(newer), again(report(few), "w-1", old, stops)},
			failures.Changed},
		{"gone, and not looked for", nights{stop(clean), report()}, failures.Gone},
		{"come back", nights{stop(clean), report(found)}, failures.Back},
		{"come back by its counterexample", nights{stop(clean), again(report(), "w-1", c, breaks)}, failures.Back},
		{"ongoing after it came back", nights{stop(clean), report(found), report(found)}, failures.Ongoing},
		{"another one of the property hides it", nights{stop(other)}, failures.Changed},
		{"an unknown job", with(func(j *campaign.JobReport) { j.Verdict = sim.VerdictUnknown }), failures.Changed},
		{"not judged", with(func(j *campaign.JobReport) { j.NotJudged = []string{waits} }), failures.Changed},
		{"waived", with(func(j *campaign.JobReport) { j.Waived = []string{waits} }), failures.Changed},
		{"fewer faults", with(func(j *campaign.JobReport) { j.Job.Faults = "loss" }), failures.Changed},
		{"more faults", with(func(j *campaign.JobReport) { j.Job.Faults = "all" }), failures.Gone},
		{"fewer clients", with(func(j *campaign.JobReport) { j.Job.Clients = 2 }), failures.Changed},
		{"fewer operations", with(func(j *campaign.JobReport) { j.Job.Ops = 3 }), failures.Changed},
		{"another strategy", with(func(j *campaign.JobReport) { j.Job.Strategy = "pos" }), failures.Changed},
		{"another kind", with(func(j *campaign.JobReport) { j.Job.Kind = "queue" }), failures.Changed},
		{"in exact mode", with(func(j *campaign.JobReport) { j.Job.Exact = true }), failures.Changed},
		{"over the wire", with(func(j *campaign.JobReport) { j.Job.Wire = true }), failures.Changed},
		{"another seed", with(func(j *campaign.JobReport) { j.Job.Seed = 8 }), failures.Gone},
		{"another version of Go", with(func(j *campaign.JobReport) { j.Job.Go = "go1.25.0" }), failures.Gone},
		{"an old counterexample stops", nights{report(newer), stop(clean)}, failures.Unseen},
		{"… after it broke again", nights{report(newer), again(report(), "w-1", c, breaks), stop(clean)}, failures.Gone},
		{"a newer one stops, the old one broke again", nights{report(newer), again(report(), "w-1", c, breaks),
			again(report(clean), "w-1", old, stops)}, failures.Unseen},
		{"one stops and another breaks", nights{again(stop(clean), "w-1", old, breaks)}, failures.Ongoing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir())
			n := record(t, s, 0, report(found))
			for i, r := range tt.nights {
				n = record(t, s, i+1, r)
			}
			if got := states(n)["w-1 ours"]; got != tt.want {
				t.Errorf("it is %q, want %q\n%s", got, tt.want, n.Text(100))
			}
		})
	}
}

// Each state comes with its reason.
func TestReasons(t *testing.T) {
	s := open(t, t.TempDir())
	c := counterexample("ours", waits, 1)
	few := job("ours")
	few.Episodes = 100
	other := job("theirs")
	for i, tt := range []struct {
		report *campaign.Report
		want   string
	}{
		{report(finds(job("ours"), "w-1", 10, c), finds(job("ours"), "w-1", 5, c)), "found in 15 of 2000 episodes"},
		{again(report(), "w-1", c, breaks), "its counterexample breaks, by the same run"},
		{again(report(), "w-1", c, campaign.Again{Breaks: true}), "its counterexample breaks, by another run"},
		{again(report(few), "w-1", c, problem), "its counterexample cannot be run again: there is no recipe of this name"},
		{report(other), "not found in 100 episodes, where about 0.5 sightings were to be expected; " +
			"its counterexample was not run again"},
		{again(report(few, other), "w-1", c, stops), "its counterexample no longer breaks; " +
			"not found in 200 episodes, where about 1 sightings were to be expected, too few to say that it is gone"},
		{report(job("ours")), "not found in 1200 episodes, where about 6 sightings were to be expected"},
		{report(finds(few, "w-1", 1, c)), "found in 1 of 100 episodes"},
		{report(), "no job has looked for it"},
		{again(report(), "w-1", c, stops), "its counterexample no longer breaks; no job has looked for it"},
	} {
		n := record(t, s, i, tt.report)
		if f := n.Failures[0]; f.Reason != tt.want || f.Recipes[0].Reason != tt.want {
			t.Errorf("night %d: %s: %q, want %q", i, f.State, f.Reason, tt.want)
		}
	}
}

// A failure in several recipes is one.
func TestSeveralRecipes(t *testing.T) {
	s := open(t, t.TempDir())
	ours, theirs := counterexample("ours", waits, 1), counterexample("theirs", waits, 2)
	both := func(one, two campaign.Again) *campaign.Report {
		return again(again(report(job("ours"), job("theirs")), "w-1", ours, one), "w-1", theirs, two)
	}
	for i, tt := range []struct {
		report *campaign.Report
		want   failures.State
		news   bool
		nights int
		last   int // the night in which it was seen last
	}{
		{report(finds(job("ours"), "w-1", 10, ours)), failures.New, true, 1, 0},
		{report(finds(job("theirs"), "w-1", 10, theirs)), failures.Ongoing, true, 2, 1},
		{both(breaks, stops), failures.Ongoing, false, 3, 2},
		{again(report(), "w-1", ours, problem), failures.Unseen, false, 3, 2},
		{again(report(), "w-1", ours, stops), failures.Changed, false, 3, 2},
		{report(job("ours")), failures.Gone, false, 3, 2},
		{both(stops, breaks), failures.Back, true, 4, 6},
		{report(finds(job("ours"), "w-1", 10, ours), finds(job("theirs"), "w-1", 10, theirs)),
			failures.Ongoing, true, 5, 7},
	} {
		n := record(t, s, i, tt.report)
		f := n.Failures[0]
		if len(n.Failures) != 1 || f.State != tt.want || f.News() != tt.news || f.Nights != tt.nights {
			t.Errorf("night %d: %s, news %v, nights %d, want %+v", i, f.State, f.News(), f.Nights, tt)
		}
		if f.First.Commit != "c0ffee0" || f.Last.Commit != fmt.Sprintf("c0ffee%d", tt.last) || f.Property != waits ||
			len(f.Shape) != 2 || f.Message != f.Recipes[0].Message {
			t.Errorf("night %d: %+v", i, f)
		}
		if i == 7 && (f.Recipes[0].Nights != 3 || f.Recipes[1].Nights != 3) {
			t.Errorf("each recipe was seen in three nights: %+v", f.Recipes)
		}
	}
	f := record(t, s, 8, again(report(), "w-1", counterexample("unseen by jobs", waits, 8), breaks)).Failures[0]
	if len(f.Shape) != 2 || !f.News() {
		t.Errorf("in a recipe that no job has run: %+v", f)
	}
	f = record(t, s, 9, again(report(), "w-9", counterexample("new", "order", 9), breaks)).Failures[0]
	if f.State != failures.New || f.ID != "w-9" || f.Property != "order" || f.Recipes[0].Command != "" {
		t.Errorf("a known failure of another store: %+v", f)
	}
}

// What is news comes first, what is expected last, and the rest by its state.
func TestOrder(t *testing.T) {
	s := open(t, t.TempDir())
	find := func(recipe, id string) campaign.JobReport {
		return finds(job(recipe), id, 10, counterexample(recipe, id, 1))
	}
	animal := func(id string) campaign.JobReport {
		j := find("zoo", id)
		j.Job.Animal = "W5"
		return j
	}
	gone := counterexample("a", "a-gone", 1)
	record(t, s, 0, report(find("a", "a-gone"), find("b", "b-ongoing"), find("c", "c-spreads"), find("d", "d-unseen"),
		animal("e-ongoing")))
	n := record(t, s, 1, again(report(job("a"), find("b", "b-ongoing"), find("c", "c-spreads"), find("c2", "c-spreads"),
		animal("a-new"), animal("e-ongoing"), find("z", "z-new")), "a-gone", gone, stops))
	var order []string
	for _, f := range n.Failures {
		order = append(order, f.ID)
	}
	want := []string{"z-new", "c-spreads", "b-ongoing", "d-unseen", "a-gone", "a-new", "e-ongoing"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
	if got := n.Failures[1].Recipes[0].Recipe; got != "c2" {
		t.Errorf("the recipe in which it is new comes after %s", got)
	}
	if summary := n.Summary(); summary != "1 new, 2 ongoing, 1 not seen, 1 gone, 2 expected" {
		t.Errorf("the summary is %q", summary)
	}
}

// A search of all executions that comes to its end finds what it has found before, however often.
func TestSearchThatIsComplete(t *testing.T) {
	c := counterexample("ours", waits, 1)
	search := job("ours")
	search.Job.Strategy, search.Job.AtMost, search.Job.Plain = sim.Exhaustive, 2, true
	search.Extent.Word = tally.Complete
	shorter, cut, whole := search, search, search
	shorter.Job.AtMost = 1
	cut.Extent.Word = tally.Bounded
	whole.Job.Plain = false
	for name, tt := range map[string]struct {
		job  campaign.JobReport
		want failures.State
	}{
		"complete": {search, failures.Gone}, "fewer faults": {shorter, failures.Changed},
		"cut off": {cut, failures.Changed}, "of all plans": {whole, failures.Gone},
	} {
		s := open(t, t.TempDir())
		record(t, s, 0, report(finds(search, "w-1", 1, c)))
		n := record(t, s, 1, again(report(tt.job), "w-1", c, stops))
		if got := states(n)["w-1"]; got != tt.want {
			t.Errorf("%s: it is %q, want %q", name, got, tt.want)
		}
	}
	s := open(t, t.TempDir())
	record(t, s, 0, report(finds(whole, "w-1", 1, c)))
	if n := record(t, s, 1, again(report(search), "w-1", c, stops)); states(n)["w-1"] != failures.Changed {
		t.Errorf("one plan was searched instead of all, and it is %q", states(n)["w-1"])
	}
}

// What animals break is expected, and apart from the same failure of another recipe, which is news.
func TestExpected(t *testing.T) {
	s := open(t, t.TempDir())
	animal := job("zoo")
	animal.Job.Animal = "W12"
	c := counterexample("zoo", waits, 1)
	n := record(t, s, 0, report(finds(animal, "w-1", 10, c)))
	if f := n.Failures[0]; !f.Expected || f.News() || f.State != failures.New {
		t.Errorf("of an animal: %+v", f)
	}
	ours := finds(job("ours"), "w-1", 10, counterexample("ours", waits, 2))
	n = record(t, s, 1, report(finds(animal, "w-1", 10, c), ours))
	want := map[string]failures.State{"w-1": failures.New, "w-1 ours": failures.New, "w-1 expected": failures.Ongoing,
		"w-1 expected zoo": failures.Ongoing}
	if diff := cmp.Diff(want, states(n)); diff != "" {
		t.Error(diff)
	}
	if f := n.Failures[0]; !f.News() || !slices.Equal(f.Like, []string{"W12"}) {
		t.Errorf("the news first, with the animal: %+v", f)
	}
	if f := n.Failures[1]; f.Like != nil {
		t.Errorf("an animal is like %q", f.Like)
	}
	animal.Episodes = 299 // of which 3 would be expected to show it, nearly
	if n = record(t, s, 2, report(animal)); states(n)["w-1 expected"] != failures.Unseen {
		t.Errorf("it is %v", states(n))
	}
	reason := "about 2.99 sightings were to be expected, too few to say that it is gone"
	if got := n.Failures[1].Reason; !strings.HasSuffix(got, reason) {
		t.Errorf("the reason is %q", got)
	}
	if n = record(t, s, 3, report(animal)); states(n)["w-1 expected"] != failures.Gone {
		t.Errorf("an animal that is not found any more is %v", states(n))
	}
	suite, err := s.Known(0)
	if err != nil || len(suite.Known) != 1 || suite.Known[0].Counterexample.Recipe != "ours" {
		t.Errorf("those of animals are not run again: %+v, error %v", suite, err)
	}
}

// modelNight is what a night of the model does to one recipe's failure.
type modelNight struct {
	episodes int // 0: it is not run
	times    int
	hidden   bool // another failure of the property is found
	again    campaign.Again
	reruns   bool
}

func (m modelNight) seen() bool { return m.times > 0 || m.reruns && m.again.Breaks }

// modelState is the reference: the state after the last of some nights, by its definition.
func modelState(nights []modelNight) failures.State {
	k := len(nights) - 1
	last := -1
	rate := math.Inf(1)
	for i, n := range nights {
		if n.seen() {
			last = i
		}
		if n.times > 0 {
			rate = min(rate, float64(n.times)/float64(n.episodes))
		}
	}
	switch {
	case last < 0:
		return ""
	case last == k && k > 0 && modelState(nights[:k]) == failures.Gone:
		return failures.Back
	case last == k && (k == 0 || modelState(nights[:k]) == ""):
		return failures.New
	case last == k:
		return failures.Ongoing
	}
	stopped, expected := false, 0.0
	for _, n := range nights[last+1:] {
		stopped = stopped || n.reruns && !n.again.Breaks && n.again.Problem == ""
		if n.episodes > 0 && !n.hidden && !math.IsInf(rate, 1) {
			expected += rate * float64(n.episodes)
		}
	}
	switch {
	case stopped && expected >= 3:
		return failures.Gone
	case stopped:
		return failures.Changed
	}
	return failures.Unseen
}

// The store agrees with the model, whatever the order in which nights are recorded, however often, and in however many
// copies of the store, which are then put together by copying files.
func TestStoreIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recipes := []string{"ours", "theirs"}[:rapid.IntRange(1, 2).Draw(t, "recipes")]
		count := rapid.IntRange(1, 7).Draw(t, "nights")
		history := map[string][]modelNight{}
		latest := map[string]*sim.Counterexample{}
		var reports []*campaign.Report
		for night := range count {
			r := report()
			for i, recipe := range recipes {
				m := drawNight(t, latest[recipe] != nil)
				history[recipe] = append(history[recipe], m)
				if known := latest[recipe]; m.reruns {
					again(r, "w-1", known, m.again)
				}
				if m.episodes == 0 {
					continue
				}
				j := job(recipe)
				j.Episodes = m.episodes
				if m.times > 0 {
					latest[recipe] = counterexample(recipe, waits, night*2+i)
					j = finds(j, "w-1", m.times, latest[recipe])
				}
				if m.hidden {
					j = finds(j, "w-2", 1, counterexample(recipe, waits, 100+night))
				}
				r.Jobs = append(r.Jobs, j)
			}
			reports = append(reports, r)
		}
		n := recordAnywhere(t, reports)
		for _, recipe := range recipes {
			want := modelState(history[recipe])
			if got := states(n)["w-1 "+recipe]; got != want {
				t.Fatalf("in %s it is %q, want %q, after %+v", recipe, got, want, history[recipe])
			}
		}
	})
}

func drawNight(t *rapid.T, known bool) (m modelNight) {
	m.episodes = rapid.SampledFrom([]int{0, 100, 1000}).Draw(t, "episodes")
	if m.episodes > 0 && rapid.Bool().Draw(t, "found") {
		m.times = rapid.SampledFrom([]int{1, 2, 10}).Draw(t, "times")
	}
	m.hidden = m.times == 0 && m.episodes > 0 && rapid.IntRange(0, 3).Draw(t, "hidden") == 0
	if m.reruns = known && rapid.IntRange(0, 2).Draw(t, "again") > 0; m.reruns {
		m.again = rapid.SampledFrom([]campaign.Again{stops, breaks, problem, stops}).Draw(t, "outcome")
	}
	return m
}

// recordAnywhere records nights in any order in two stores, some of them in both, puts these together, and returns the
// last night.
func recordAnywhere(t *rapid.T, reports []*campaign.Report) *failures.Night {
	dir, err := os.MkdirTemp("", "failures")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	at := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	order := rapid.Permutation(numbers(len(reports))).Draw(t, "order")
	for _, night := range order {
		for copies := range rapid.IntRange(1, 2).Draw(t, "copies") {
			where := at[(night+copies)%2]
			s, err := failures.Open(where)
			if err == nil {
				_, err = s.Record(reports[night], meta(night))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	united := filepath.Join(dir, "united")
	for _, from := range at {
		if err := unite(united, from); err != nil {
			t.Fatal(err)
		}
	}
	s, err := failures.Open(united)
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.Last()
	if err != nil {
		t.Fatal(err)
	}
	if n.Nights != len(reports) || len(n.Problems) > 0 {
		t.Fatalf("%d nights, want %d, problems %q", n.Nights, len(reports), n.Problems)
	}
	return n
}

func numbers(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// unite copies the files of a store that are not there yet.
func unite(to, from string) error {
	names, err := filepath.Glob(filepath.Join(from, "*", "*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.Base(filepath.Dir(name)), filepath.Base(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Campaigns that end together do not harm each other.
func TestRecordTogether(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for night := range 8 {
		all.Go(func() {
			s, err := failures.Open(dir)
			if err == nil {
				found := finds(job("ours"), "w-1", 1, counterexample("ours", waits, night/2))
				_, err = s.Record(report(found), meta(night/2))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n, err := open(t, dir).Last()
	if err != nil || n.Nights != 4 || len(n.Problems) > 0 || n.Failures[0].Nights != 4 {
		t.Errorf("%+v, error %v", n, err)
	}
}
