package campaign

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// counted is a plan of two jobs with three units each, and its results.
func counted(t *testing.T) (*Plan, []UnitResult) {
	t.Helper()
	p := plan(t, `"jobs": [{"kinds": ["counter", "barrier"], "recipes": ["ours"]}], "episodes": 9, "unit": 3, "canary": "none"`)
	var results []UnitResult
	for n := range p.Units() {
		results = append(results, throughJSON(t, must[UnitResult](t)(p.Run(t.Context(), n))))
	}
	return p, results
}

// sumOf adds results up.
func sumOf(t *testing.T, p *Plan, results ...UnitResult) *Sum {
	t.Helper()
	s := NewSum(p)
	for _, r := range results {
		if err := s.Add(throughJSON(t, r)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// What is not of the plan is refused, with a reason, and changes nothing.
func TestSumRefusesWhatIsNotOfThePlan(t *testing.T) {
	p, results := counted(t)
	s := sumOf(t, p, results[1])
	before := asJSON(t, s)
	for want, change := range map[string]func(*UnitResult){
		"is of another plan":                func(r *UnitResult) { r.Plan = "0123456789abcdef" },
		"the plan has no such unit":         func(r *UnitResult) { r.Unit.Number = 6 },
		"no such unit: {Number:0 Job:0":     func(r *UnitResult) { r.Unit.Episodes = 4 },
		"the result of unit 0 is":           func(r *UnitResult) { r.Part = nil },
		"the result of unit 0 is incomplet": func(r *UnitResult) { r.Again = &Again{} },
		"unit 3: sim: it is no part of the": func(r *UnitResult) {
			*r = throughJSON(t, results[3])
			r.Part.Of = "another campaign"
		},
	} {
		r := throughJSON(t, results[0])
		change(&r)
		if err := s.Add(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwanted: %s", err, want)
		}
	}
	if after := asJSON(t, s); after != before {
		t.Errorf("the sum has changed:\n%s\nwas\n%s", after, before)
	}
	if err := s.Add(results[0]); err != nil {
		t.Error(err)
	}
}

// A unit that was done again is compared, and counted once. Over the wire another run is no news.
func TestTwiceIsOnce(t *testing.T) {
	p, results := counted(t)
	s := sumOf(t, p, results...)
	once := asJSON(t, s.Parts)
	other := throughJSON(t, results[2])
	other.Part.Steps++
	for _, r := range []UnitResult{results[3], other, other} {
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if asJSON(t, s.Parts) != once || s.Twice != 3 || len(s.Unequal) != 1 || s.Unequal[0] != 2 {
		t.Errorf("%d twice, %v unequal, parts\n%s\nnot\n%s", s.Twice, s.Unequal, asJSON(t, s.Parts), once)
	}
	p = plan(t, `"jobs": [{"kinds": ["counter"], "wire": true}], "episodes": 2, "canary": "none"`)
	r := must[UnitResult](t)(p.Run(t.Context(), 0))
	s = sumOf(t, p, r)
	r.Part.Steps++
	if err := s.Add(r); err != nil || len(s.Unequal) != 0 || s.Twice != 1 {
		t.Errorf("over the wire: %v, %v", s.Unequal, err)
	}
}

// concluded is the report of a sum.
func concluded(t *testing.T, s *Sum) *Report {
	t.Helper()
	var jobs []JobReport
	for i, part := range s.Parts {
		jobs = append(jobs, must[JobReport](t)(s.plan.Conclude(t.Context(), i, part)))
	}
	return s.Report(jobs)
}

// A job of which a unit gave no result is unknown, and the unit is named with its reason; a result that comes later
// makes it good.
func TestMissingUnitsAreUnknown(t *testing.T) {
	p, results := counted(t)
	s := sumOf(t, p, results[0], results[1], results[3], results[5], p.unknown(results[4].Unit, "it ended"))
	for _, why := range []string{"it was killed", "it froze\nat a.go:3", "it was killed"} {
		if err := s.Add(p.unknown(results[2].Unit, why)); err != nil {
			t.Fatal(err)
		}
	}
	r := concluded(t, s)
	if r.Verdict() != sim.VerdictUnknown ||
		r.Jobs[0].Verdict != sim.VerdictUnknown || r.Jobs[1].Verdict != sim.VerdictOK ||
		r.Jobs[0].Reason != "no result of unit 2, 4: it froze" || r.Unknown[2] != "it froze\nat a.go:3" {
		t.Errorf("%q, %s", r.Reasons(), asJSON(t, r))
	}
	for _, n := range []int{4, 2} {
		if err := s.Add(results[n]); err != nil {
			t.Fatal(err)
		}
	}
	if r = concluded(t, s); r.Verdict() != sim.VerdictOK || len(r.Unknown) > 0 || r.Jobs[0].Reason != "" {
		t.Errorf("%s", asJSON(t, r))
	}
	if err := s.Add(p.unknown(results[2].Unit, "too late")); err != nil || len(s.Unknown) > 0 {
		t.Errorf("%v, %v", err, s.Unknown)
	}
	r.Unequal = []int{3}
	if r.Verdict() != sim.VerdictUnknown || len(r.Reasons()) != 1 {
		t.Errorf("unequal units are %v: %q", r.Verdict(), r.Reasons())
	}
	if r := (&Report{Jobs: []JobReport{{Job: Job{Canary: true}, Result: sim.Result{Counts: tally.Counts{Episodes: 9}, Verdict: sim.VerdictOK}}}}); r.Verdict() != sim.VerdictUnknown {
		t.Errorf("of a canary alone the verdict is %v", r.Verdict())
	}
}

// known are failures of earlier nights.
func known(t *testing.T) (all []Known) {
	t.Helper()
	for kind, broken := range map[string]string{"lock": "published/WriteLock", "queue": "published/DistributedQueue"} {
		w := must[*workload.Workload](t)(workload.Find(kind, broken))
		cfg := sim.Config{Episodes: 60, Seed: 1, Workers: 1, NoShrink: true}
		r := must[sim.Result](t)(sim.Run(t.Context(), w, cfg))
		all = append(all, Known{ID: kind, Counterexample: must[*sim.Counterexample](t)(cfg.Counterexample(r, r.Violations[0]))})
	}
	return all
}

// Units of any size, that were run anywhere, in any order, some of them twice, add up to what one process finds, byte for
// byte: of every strategy. What is known already is run again first.
func TestSumIsOneProcesss(t *testing.T) {
	failures := known(t)
	recorded := func(unit int) *Plan {
		return must[*Plan](t)(plan(t, fmt.Sprintf(`"jobs": [
			{"kinds": ["lock"], "recipes": ["ours", "published/WriteLock"], "strategies": ["random", "mix", "pos", "conflicts", "patterns"]},
			{"kinds": ["queue"], "recipes": ["ours"], "strategies": ["mix", "patterns"]}
			], "episodes": 20, "canary": "none", "unit": %d`, unit)).Record("", failures))
	}
	whole := map[Job]sim.Result{}
	one := recorded(20)
	for i, j := range one.list {
		w, cfg, err := one.Config(i)
		if err != nil {
			t.Fatal(err)
		}
		cfg.NoShrink = true
		whole[j] = must[sim.Result](t)(sim.Run(t.Context(), w, cfg))
	}
	rapid.Check(t, func(t *rapid.T) {
		p := recorded(rapid.IntRange(3, 20).Draw(t, "unit"))
		list := p.list
		job := rapid.IntRange(0, len(list)-1).Draw(t, "job")
		var units []int
		for n := range p.Units() {
			if u, _ := p.Unit(n); u.Job == job || u.Job < 0 {
				units = append(units, u.Number)
			}
		}
		units = append(units, rapid.SliceOfN(rapid.SampledFrom(units), 0, 2).Draw(t, "again")...)
		sum := NewSum(p)
		for _, n := range rapid.Permutation(units).Draw(t, "order") {
			r := must[UnitResult](t)(p.Run(context.Background(), n))
			read := throughJSON(t, r)
			if must[string](t)(r.digest()) != must[string](t)(read.digest()) {
				t.Fatalf("unit %d has another digest when it comes out of a file", n)
			}
			if err := sum.Add(read); err != nil {
				t.Fatal(err)
			}
		}
		sum = must[*Sum](t)(p.ReadSum([]byte(asJSON(t, sum))))
		w, cfg, err := p.Config(job)
		if err != nil {
			t.Fatal(err)
		}
		cfg.NoShrink = true
		merged := must[sim.Result](t)(cfg.Conclude(context.Background(), w, sum.Parts[job]))
		if a, b := asJSON(t, whole[list[job]]), asJSON(t, merged); a != b {
			t.Fatalf("%v: one process:\n%s\nunits:\n%s", list[job], a, b)
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

// The canary has to be found at its known rate. If units are missing it is not known whether it was.
func TestCanaryIsToBeFound(t *testing.T) {
	a := must[zoo.KnownBug](t)(canary())
	for _, c := range []struct {
		of     float64 // of the times that it was found
		reason string
		want   sim.Verdict
		says   string
	}{
		{1, "", sim.VerdictOK, ""},
		{.3, "", sim.VerdictViolation, "the harness is broken"},
		{3, "", sim.VerdictViolation, "the harness is broken"},
		{0, "", sim.VerdictViolation, "found in 0.00 % of the episodes, not in about 1.56 %"},
		{1, "no result of unit 1", sim.VerdictUnknown, ""},
	} {
		r := JobReport{Job: Job{Canary: true}, Result: sim.Result{Counts: tally.Counts{Episodes: CanaryEpisodes}, Reason: c.reason}}
		if times := int(c.of * a.Rate * CanaryEpisodes); times > 0 {
			r.Failures = []Failure{{Property: a.Property, Times: times}}
		}
		r.Missed = must[string](t)(r.missed())
		if r.Judged() != c.want || !strings.Contains(r.Missed, c.says) || (c.says == "") != (r.Missed == "") {
			t.Errorf("found %g times as often, %q: %v, %s", c.of, c.reason, r.Judged(), r.Missed)
		}
	}
}
