package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/sim"
)

// A failure is new, then open, fixed when its counterexample does not break any more, and new when it comes back. What
// could not be run again stays open.
func TestStatesOfFailures(t *testing.T) {
	dir := nights(t.TempDir())
	example := &sim.Counterexample{Format: sim.CounterexampleFormat, Workload: "lock", Recipe: "ours", Property: "order", Message: "m",
		Hash: "0123456789abcdef", Trace: []string{"1"}}
	began := time.Date(2026, 11, 1, 22, 0, 0, 0, time.UTC)
	found := func(j *JobReport) {
		j.Failures = []Failure{{ID: "order-1", Property: "order", Message: "m", Times: 3, Counterexample: example}}
	}
	for n, c := range []struct {
		found bool
		again *Again // nil: it is not known before
		want  FailureState
		known int // counterexamples of the next night
	}{
		{true, nil, New, 1},
		{true, &Again{Breaks: true, Message: "m"}, Open, 1},
		{false, &Again{Breaks: true, Message: "m"}, Open, 1},
		{false, &Again{Problem: "the recipe is not there"}, Open, 1},
		{false, &Again{}, Fixed, 0},
		{false, nil, Fixed, 0},
		{true, nil, New, 1},
		{true, &Again{}, Open, 1},
	} {
		p := &Plan{Name: "night"}
		r := &Report{Plan: p, Digest: strings.Repeat("d", 64), Jobs: []JobReport{{Job: Job{Kind: "lock", Recipe: "ours"}}}}
		if c.found {
			found(&r.Jobs[0])
		}
		if c.again != nil {
			p.Known = must[[]Known](t)(dir.known())
			r.Again = []KnownReport{{ID: "order-1", Again: *c.again}}
		}
		for range 2 { // to record a night again changes nothing
			list := must[[]NightFailure](t)(dir.record(r, began.AddDate(0, 0, n)))
			if len(list) != 1 || list[0].State != c.want || list[0].ID != "order-1" || list[0].Message != "m" {
				t.Fatalf("night %d: %s, not %s", n, asJSON(t, list), c.want)
			}
		}
		if known := must[[]Known](t)(dir.known()); len(known) != c.known {
			t.Errorf("night %d: %d counterexamples, not %d", n, len(known), c.known)
		}
	}
	if list := failures(must[[]night](t)(dir.read())); !list[0].First.Equal(began.AddDate(0, 0, 6)) {
		t.Errorf("it is new since %v", list[0].First)
	}
	// A counterexample that is missing is an error that names it, and so is a file of another version.
	name := must[[]string](t)(filepath.Glob(filepath.Join(string(dir), "????????????????????????????????????????????????????????????????.json")))[0]
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.known(); err == nil || !strings.Contains(err.Error(), filepath.Base(name)) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(string(dir), "night-x.json"), []byte(`{"format": "v0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.known(); err == nil || !strings.Contains(err.Error(), "night-x.json: it is no night of this version") {
		t.Error(err)
	}
}

// What a recipe or a file says is text on the page.
func TestPage(t *testing.T) {
	const evil = "<script>alert(1)</script>"
	j := JobReport{Job: Job{Kind: "lock", Recipe: evil}, Result: sim.Result{Verdict: sim.VerdictViolation},
		Failures: []Failure{{ID: "order-1", Property: "order", Message: evil, Story: "a story of " + evil, Counterexample: &sim.Counterexample{}}}}
	v := view{Status: Status{Name: evil, Problem: evil, Workers: []beat{{Name: evil}}, Jobs: []Progress{{Job: j.Job, Found: map[string]int{evil: 1}}}},
		Refresh: 5}
	for _, report := range []*Report{nil, {Plan: &Plan{Name: evil}, Jobs: []JobReport{j}, Again: []KnownReport{{ID: evil}}, Unknown: map[int]string{3: evil}}} {
		v.Report = report
		var page strings.Builder
		if err := v.write(&page); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page.String(), evil) || !strings.Contains(page.String(), "&lt;script&gt;") || strings.Contains(page.String(), "a story of") != (report != nil) {
			t.Error(page.String())
		}
	}
}
