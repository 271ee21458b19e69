package campaign_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// counted is a plan of two jobs with three units each, and its results.
func counted(t *testing.T) (*campaign.Plan, []campaign.UnitResult) {
	t.Helper()
	p := plan(t, `"jobs": [{"kinds": ["counter", "barrier"], "recipes": ["ours"]}],
		"episodes": 9, "unit": 3, "canary": "none"`)
	var results []campaign.UnitResult
	for n := range p.Units() {
		results = append(results, throughJSON(t, must[campaign.UnitResult](t)(p.Run(t.Context(), n))))
	}
	return p, results
}

// sumOf adds results up.
func sumOf(t *testing.T, p *campaign.Plan, results ...campaign.UnitResult) *campaign.Sum {
	t.Helper()
	s := must[*campaign.Sum](t)(campaign.NewSum(p))
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
	for want, change := range map[string]func(*campaign.UnitResult){
		"it is of another plan":             func(r *campaign.UnitResult) { r.Plan = "0123456789abcdef" },
		`its format is "v0"`:                func(r *campaign.UnitResult) { r.Format = "v0" },
		"the plan has no such unit":         func(r *campaign.UnitResult) { r.Unit.Number = 6 },
		"no such unit: {Number:0 Job:0":     func(r *campaign.UnitResult) { r.Unit.Episodes = 4 },
		"the result of unit 0 is":           func(r *campaign.UnitResult) { r.Part = nil },
		"the result of unit 0 is incomplet": func(r *campaign.UnitResult) { r.Again = &campaign.Again{} },
		"unit 3: sim: it is no part of the": func(r *campaign.UnitResult) {
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

// A unit that was done again is compared, and counted once.
func TestTwiceIsOnce(t *testing.T) {
	p, results := counted(t)
	s := sumOf(t, p, results...)
	once := asJSON(t, s.Parts)
	other := throughJSON(t, results[2])
	other.Part.Steps++
	other.Worker, results[3].Worker = "a", "b"
	for _, r := range []campaign.UnitResult{results[3], other, other} {
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if asJSON(t, s.Parts) != once || s.Twice != 3 || len(s.Unequal) != 1 || s.Unequal[0] != 2 {
		t.Errorf("%d twice, %v unequal, parts\n%s\nnot\n%s", s.Twice, s.Unequal, asJSON(t, s.Parts), once)
	}
}

// Over the wire a unit that is run again may be another run, which is no news.
func TestUnequalOverTheWire(t *testing.T) {
	for wire, unequal := range map[bool]int{true: 0, false: 1} {
		p := plan(t, fmt.Sprintf(`"jobs": [{"kinds": ["counter"], "wire": %v}], "episodes": 2, "canary": "none"`, wire))
		r := must[campaign.UnitResult](t)(p.Run(t.Context(), 0))
		s := sumOf(t, p, r)
		r.Part.Steps++
		if err := s.Add(r); err != nil || len(s.Unequal) != unequal || s.Twice != 1 {
			t.Errorf("wire %v: %v, %v", wire, s.Unequal, err)
		}
	}
}

// A job of which a unit gave no result is unknown, and the unit is named with its reason; a result that comes later
// makes it good.
func TestMissingUnitsAreUnknown(t *testing.T) {
	p, results := counted(t)
	report := func(s *campaign.Sum) *campaign.Report {
		var jobs []campaign.JobReport
		for i := range must[[]campaign.Job](t)(p.List()) {
			jobs = append(jobs, must[campaign.JobReport](t)(s.Conclude(t.Context(), i)))
		}
		return s.Report(jobs)
	}
	s := sumOf(t, p, results[0], results[1], results[3], results[5])
	for _, why := range []string{"it was killed", "it froze\nat a.go:3", "it was killed"} {
		lost := results[2]
		lost.Part, lost.Unknown = nil, why
		if err := s.Add(lost); err != nil {
			t.Fatal(err)
		}
	}
	r := report(s)
	if r.Verdict() != sim.VerdictUnknown ||
		r.Jobs[0].Verdict != sim.VerdictUnknown || r.Jobs[1].Verdict != sim.VerdictOK ||
		r.Jobs[0].Reason != "no result of units 2, 4; unit 2: it froze" || r.Unknown[4] != "no result came" ||
		r.Unknown[2] != "it froze\nat a.go:3" {
		t.Errorf("%s", asJSON(t, r))
	}
	for _, n := range []int{4, 2} {
		if err := s.Add(results[n]); err != nil {
			t.Fatal(err)
		}
	}
	if r = report(s); r.Verdict() != sim.VerdictOK || len(r.Unknown) > 0 || r.Jobs[0].Reason != "" {
		t.Errorf("%s", asJSON(t, r))
	}
	lost := results[2]
	lost.Part, lost.Unknown = nil, "too late"
	if err := s.Add(lost); err != nil || len(s.Unknown) > 0 {
		t.Errorf("%v, %v", err, s.Unknown)
	}
}

// Sums add up where they have no unit of a job in common, or where one has all that the other has.
func TestSumsMerge(t *testing.T) {
	p, results := counted(t) // units 0, 2, 4 are of one job, and 1, 3, 5 of the other
	pick := func(units ...int) *campaign.Sum {
		var picked []campaign.UnitResult
		for _, n := range units {
			picked = append(picked, results[n])
		}
		return must[*campaign.Sum](t)(p.ReadSum([]byte(asJSON(t, sumOf(t, p, picked...)))))
	}
	for _, c := range []struct{ a, b, sum []int }{
		{[]int{0, 1}, []int{2, 3, 4, 5}, []int{0, 1, 2, 3, 4, 5}},
		{[]int{0, 1, 2, 3}, []int{0, 1}, []int{0, 1, 2, 3}},
		{[]int{0, 1}, []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
		{[]int{0, 2, 1}, []int{0, 1, 3}, []int{0, 1, 2, 3}},
		{[]int{3}, []int{3}, []int{3}},
		{nil, []int{1}, []int{1}},
		{[]int{0, 2}, []int{0, 4}, nil},
	} {
		s := pick(c.a...)
		err := s.Merge(pick(c.b...))
		want := pick(c.sum...)
		if c.sum == nil {
			if want = pick(c.a...); err == nil || !strings.Contains(err.Error(), "merge the files of the units instead") {
				t.Errorf("%v and %v: %v", c.a, c.b, err)
			}
		} else if err != nil {
			t.Errorf("%v and %v: %v", c.a, c.b, err)
		}
		if got, want := asJSON(t, s), asJSON(t, want); got != want {
			t.Errorf("%v and %v: the sum is\n%s\nnot\n%s", c.a, c.b, got, want)
		}
	}
	changed := pick(0)
	changed.Done[0] = campaign.Digest{1}
	lost := results[2]
	lost.Part, lost.Unknown = nil, "it froze"
	if err := changed.Add(lost); err != nil {
		t.Fatal(err)
	}
	s := pick(0)
	if err := s.Merge(changed); err != nil || len(s.Unequal) != 1 || s.Unknown[2] != "it froze" {
		t.Errorf("%v, %v unequal, %v unknown", err, s.Unequal, s.Unknown)
	}
}

// A sum that was cut off, or is of something else, is refused.
func TestBadSums(t *testing.T) {
	p, results := counted(t)
	good := asJSON(t, sumOf(t, p, results[0]))
	other := plan(t, `"jobs": [{"kinds": ["counter"]}]`)
	for text, want := range map[string]string{
		good[:len(good)/2]: "cut off",
		strings.Replace(good, campaign.SumFormat, "sum 0", 1):                    `its format is "sum 0"`,
		strings.Replace(good, p.Digest(), other.Digest(), 1):                     "it is of another plan",
		`{"format": "` + campaign.SumFormat + `", "plan": "` + p.Digest() + `"}`: "the sum is incomplete",
		strings.Replace(good, `"0": "`, `"17": "`, 1):                            "the sum is incomplete",
		strings.Replace(good, `"`+digestOf(t, results[0])+`"`, `"beef"`, 1):      `"beef" is not a SHA-256`,
	} {
		if _, err := p.ReadSum([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwanted: %s", err, want)
		}
	}
}

func digestOf(t *testing.T, r campaign.UnitResult) string {
	t.Helper()
	d := must[campaign.Digest](t)(r.Digest())
	return string(must[[]byte](t)(d.MarshalText()))
}

// A known failure whose recipe is there no more has a problem, and no verdict; one that is a failure still is one.
func TestKnownFailures(t *testing.T) {
	failures := known(t)
	gone := throughJSON(t, failures[0])
	gone.ID, gone.Counterexample.Recipe = "gone", "published/Gone"
	other := throughJSON(t, failures[0])
	other.ID, other.Counterexample.Property = "other", "herd"
	mended := throughJSON(t, failures[1])
	mended.ID, mended.Counterexample.Recipe = "mended", "ours"
	p := must[*campaign.Plan](t)(plan(t, `"jobs": [{"kinds": ["counter"]}], "episodes": 3, "canary": "none"`).
		Record(nil, append(failures, gone, other, mended)))
	s := must[*campaign.Sum](t)(campaign.NewSum(p))
	for n := range 5 {
		if err := s.Add(must[campaign.UnitResult](t)(p.Run(t.Context(), n))); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Report([]campaign.JobReport{must[campaign.JobReport](t)(s.Conclude(t.Context(), 0))})
	var verdicts []sim.Verdict
	for _, k := range r.Again {
		verdicts = append(verdicts, k.Judged())
	}
	want := []sim.Verdict{sim.VerdictViolation, sim.VerdictViolation, sim.VerdictUnknown, sim.VerdictOK,
		sim.VerdictOK}
	if asJSON(t, verdicts) != asJSON(t, want) || r.Verdict() != sim.VerdictViolation {
		t.Errorf("%s", asJSON(t, r.Again))
	}
}

// A program runs what it was built for, and nothing else.
func TestForeignUnitsAreRefused(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["counter"]}], "go": ["go1.11"], "canary": "none"`)
	if _, err := p.Run(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "build it with GOTOOLCHAIN=go1.11") {
		t.Error(err)
	}
	if _, err := p.Conclude(t.Context(), 0, tally.Part{}); err == nil || !strings.Contains(err.Error(), "job 0: it is for") {
		t.Error(err)
	}
	if !sim.Exact() {
		p = plan(t, `"jobs": [{"kinds": ["counter"], "exact": true}], "canary": "none"`)
		if _, err := p.Run(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "unit 0: it needs exact mode") {
			t.Error(err)
		}
	}
	p = must[*campaign.Plan](t)(p.Record([]campaign.Program{{SHA256: "another", Build: "revision x"}}, nil))
	if err := p.CheckProgram(); err == nil || !strings.Contains(err.Error(), "was begun for revision x") {
		t.Error(err)
	}
	p = must[*campaign.Plan](t)(p.Record([]campaign.Program{campaign.ThisProgram()}, nil))
	if err := p.CheckProgram(); err != nil {
		t.Error(err)
	}
}

// A unit that is interrupted has no result.
func TestInterruptedUnit(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["counter"]}], "canary": "none"`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := p.Run(ctx, 0); !errors.Is(err, context.Canceled) || r.Part != nil {
		t.Errorf("%v, %+v", err, r)
	}
}

// What a sum keeps of each unit is little.
func TestSumIsSmall(t *testing.T) {
	const units, most = 100_000, 10 << 20
	p := &campaign.Plan{Format: campaign.PlanFormat, Jobs: []campaign.Group{{}}, PerUnit: 1,
		Resolved: []campaign.Job{{Kind: "counter", Recipe: "ours", Episodes: units}}}
	s := must[*campaign.Sum](t)(campaign.NewSum(p))
	before := heap()
	for n := range units {
		u, _ := p.Unit(n)
		r := campaign.UnitResult{Format: campaign.UnitFormat, Plan: p.Digest(), Unit: u, Part: &tally.Part{Counts: tally.Counts{Episodes: 1}}}
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if used := heap() - before; used > most || len(s.Done) != units {
		t.Errorf("%d bytes for %d units", used, len(s.Done))
	} else {
		t.Logf("%d bytes for %d units", used, units)
	}
	runtime.KeepAlive(s)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
