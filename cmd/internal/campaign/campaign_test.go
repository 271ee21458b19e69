package campaign_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// fataler is a test, or one of a property.
type fataler interface {
	Helper()
	Fatal(...any)
}

// plan reads a plan from its fields.
func plan(t fataler, fields string) *campaign.Plan {
	t.Helper()
	p, err := campaign.ParsePlan([]byte(`{"format": "zktorture plan 1", "name": "test", ` + fields + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// throughJSON is the value as it comes out of a file.
func throughJSON[T any](t fataler, v T) (read T) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func asJSON(t fataler, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func must[T any](t fataler) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// strategies are all that there are, near too: of three recipes, one of them broken.
const strategies = `"jobs": [
	{"kinds": ["lock"], "recipes": ["ours", "published/WriteLock"],
		"strategies": ["random", "mix", "pos", "conflicts", "patterns", "near"]},
	{"kinds": ["queue"], "recipes": ["ours"],
		"strategies": ["random", "mix", "pos", "conflicts", "patterns", "near"]},
	{"kinds": ["queue"], "recipes": ["ours", "published/DistributedQueue"], "strategies": ["exhaustive"],
		"clients": 1, "faults": "loss", "shares": 3}
	], "episodes": 60, "canary": "none"`

// wholes are what one machine finds, by the job; only if it shrinks are counterexamples made small, which takes long.
func wholes(t *testing.T, p *campaign.Plan, shrinks bool) map[campaign.Job]sim.Result {
	t.Helper()
	all := map[campaign.Job]sim.Result{}
	for i, j := range must[[]campaign.Job](t)(p.List()) {
		w, cfg, err := p.Config(i)
		if err != nil {
			t.Fatal(err)
		}
		cfg.NoShrink = !shrinks
		all[j] = must[sim.Result](t)(sim.Run(t.Context(), w, cfg))
	}
	return all
}

// known are failures of which strategy near makes episodes.
func known(t *testing.T) (all []campaign.Known) {
	t.Helper()
	for _, kind := range []string{"lock", "queue"} {
		broken := map[string]string{"lock": "published/WriteLock", "queue": "published/DistributedQueue"}[kind]
		w := must[*workload.Workload](t)(workload.Find(kind, broken))
		cfg := sim.Config{Episodes: 60, Seed: 1, Workers: 1, NoShrink: true}
		r := must[sim.Result](t)(sim.Run(t.Context(), w, cfg))
		example := must[*sim.Counterexample](t)(cfg.Counterexample(r, r.Violations[0]))
		all = append(all, campaign.Known{ID: kind, Counterexample: example})
	}
	return all
}

// Units of any size, that were run anywhere, in any order, some of them twice, add up to what one machine finds, byte
// for byte: of every strategy. What is known already is run again first.
func TestCampaignIsOneMachines(t *testing.T) {
	failures := known(t)
	recorded := func(fields string) *campaign.Plan {
		return must[*campaign.Plan](t)(plan(t, fields).Record(nil, failures))
	}
	whole := wholes(t, recorded(strategies), false)
	rapid.Check(t, func(t *rapid.T) {
		p := recorded(fmt.Sprintf(`%s, "unit": %d`, strategies, rapid.IntRange(7, 60).Draw(t, "unit")))
		list := must[[]campaign.Job](t)(p.List())
		job := rapid.IntRange(0, len(list)-1).Draw(t, "job")
		var units []int
		for n := range p.Units() {
			if u, _ := p.Unit(n); u.Job == job || u.Job < 0 {
				units = append(units, n)
			}
		}
		units = append(units, rapid.SliceOfN(rapid.SampledFrom(units), 0, 2).Draw(t, "again")...)
		sum := must[*campaign.Sum](t)(campaign.NewSum(p))
		for _, n := range rapid.Permutation(units).Draw(t, "order") {
			r := must[campaign.UnitResult](t)(p.Run(context.Background(), n))
			read := throughJSON(t, r)
			if must[campaign.Digest](t)(r.Digest()) != must[campaign.Digest](t)(read.Digest()) {
				t.Fatalf("unit %d has another digest when it comes out of a file", n)
			}
			if err := sum.Add(read); err != nil {
				t.Fatal(err)
			}
		}
		sum = must[*campaign.Sum](t)(p.ReadSum([]byte(asJSON(t, sum))))
		w, cfg, err := p.Config(job)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Shares, cfg.NoShrink = list[job].Shares, true
		merged := must[sim.Result](t)(cfg.Conclude(context.Background(), w, sum.Part(job)))
		want := whole[list[job]]
		merged.Elapsed, want.Elapsed = 0, 0
		if a, b := asJSON(t, want), asJSON(t, merged); a != b {
			t.Fatalf("%v: one machine:\n%s\nmerged:\n%s", list[job], a, b)
		}
		if len(sum.Done) != len(slices.Compact(slices.Sorted(slices.Values(units)))) || len(sum.Unequal) > 0 {
			t.Fatalf("%d units are done, %v unequal", len(sum.Done), sum.Unequal)
		}
		for i, again := range sum.Again {
			if !again.Same || !again.Breaks || again.Problem != "" {
				t.Fatalf("known failure %d: %+v", i, again)
			}
		}
	})
}

// A job is reported as one machine's run of it is, with the stories.
func TestReport(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["queue"], "recipes": ["ours", "published/DistributedQueue"], "clients": 1,
		"faults": "loss"}], "episodes": 40, "unit": 15, "canary": "none"`)
	sum := must[*campaign.Sum](t)(campaign.NewSum(p))
	for n := range p.Units() {
		if err := sum.Add(must[campaign.UnitResult](t)(p.Run(t.Context(), n))); err != nil {
			t.Fatal(err)
		}
	}
	alone := wholes(t, p, true)
	var jobs, whole []campaign.JobReport
	for i, j := range must[[]campaign.Job](t)(p.List()) {
		jobs = append(jobs, must[campaign.JobReport](t)(sum.Conclude(t.Context(), i)))
		whole = append(whole, must[campaign.JobReport](t)(p.ReportOf(t.Context(), i, alone[j])))
	}
	report := sum.Report(jobs)
	if a, b := asJSON(t, whole), asJSON(t, report.Jobs); a != b {
		t.Errorf("one machine:\n%s\nmerged:\n%s", a, b)
	}
	if report.Units != 6 || len(report.Unknown) > 0 || report.Verdict() != sim.VerdictViolation ||
		report.Jobs[0].Verdict != sim.VerdictOK {
		t.Errorf("%s", asJSON(t, report))
	}
	for _, f := range report.Jobs[1].Failures {
		if f.ID == "" || !strings.Contains(strings.Join(strings.Fields(f.Story), " "), "("+f.Property+")") || f.Times < 1 || f.Steps < 1 ||
			f.Counterexample.Property != f.Property {
			t.Errorf("%s", asJSON(t, f))
		}
	}
	if len(report.Jobs[1].Failures) == 0 {
		t.Error("nothing was found")
	}
}

// animals are all of the zoo.
func animals() []zoo.Animal { return append(zoo.Animals(), zoo.Skipped()...) }

// A canary has to be found at its known rate, and an animal at all. That units are missing is no reason to doubt what was
// found, unless it has to be found at a rate.
func TestAnimalsAreToBeFound(t *testing.T) {
	p := plan(t, `"jobs": [{"animals": ["W2"]}], "episodes": 40, "unit": 10000`)
	var parts []*tally.Part
	for n := range p.Units() {
		parts = append(parts, must[campaign.UnitResult](t)(p.Run(t.Context(), n)).Part)
	}
	for _, c := range []struct {
		job    int
		of     float64 // of the times that it was found
		reason string
		want   sim.Verdict
		says   string
	}{
		{0, 1, "", sim.VerdictOK, ""},
		{0, .3, "", sim.VerdictViolation, "the harness is broken"},
		{0, 3, "", sim.VerdictViolation, "the harness is broken"},
		{0, 0, "", sim.VerdictViolation, "found in 0.00 % of the episodes, not in about 1.56 %"},
		{0, 1, "no result of unit 1", sim.VerdictUnknown, ""},
		{1, 1, "", sim.VerdictOK, ""},
		{1, 1, "no result of unit 1", sim.VerdictOK, ""},
		{1, 0, "", sim.VerdictViolation, "not found in 40 episodes"},
		{1, 0, "no result of unit 1", sim.VerdictUnknown, "not found"},
	} {
		job := must[[]campaign.Job](t)(p.List())[c.job]
		r := campaign.JobReport{Job: job, Result: sim.Result{Counts: tally.Counts{Episodes: parts[c.job].Episodes}, Reason: c.reason}}
		for _, f := range parts[c.job].Found {
			if times := int(c.of * float64(f.Times)); times > 0 {
				r.Failures = append(r.Failures, campaign.Failure{Property: f.Property, Times: times})
			}
		}
		r = must[campaign.JobReport](t)(campaign.Hunted(r))
		if r.Judged() != c.want || !strings.Contains(r.Hunt.Problem, c.says) || (c.says == "") != (r.Hunt.Problem == "") {
			t.Errorf("%v, found %g times as often, %q: %v, %+v", job, c.of, c.reason, r.Judged(), r.Hunt)
		}
	}
}
