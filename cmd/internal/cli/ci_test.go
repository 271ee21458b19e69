package cli

import (
	"bytes"
	"encoding/xml"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/ciformat"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// An unknown verdict is no pass, neither in the XML nor on the page.
func TestUnknownDoesNotPass(t *testing.T) {
	r := &Trial{backend: "sim"}
	report := r.ciOf(sim.Result{Workload: "lock", Recipe: "ours", Verdict: sim.VerdictUnknown,
		Reason: "episode 3 could not be judged"}, nil)
	if len(report.Cases) < 5 {
		t.Fatalf("there are %d cases", len(report.Cases))
	}
	var text bytes.Buffer
	if err := report.JUnit(&text); err != nil {
		t.Fatal(err)
	}
	suite := parseSuite(t, text.Bytes())
	for _, c := range suite.Cases {
		if c.Error == nil || c.Error.Message != "episode 3 could not be judged" {
			t.Errorf("%s passes: %+v", c.Name, c.Error)
		}
	}
	if suite.Errors != len(suite.Cases) || suite.Failures != 0 {
		t.Errorf("%d errors and %d failures of %d", suite.Errors, suite.Failures, len(suite.Cases))
	}
}

func parseSuite(t *testing.T, text []byte) ciformat.Suite {
	t.Helper()
	var all ciformat.Suites
	if err := xml.Unmarshal(text, &all); err != nil || len(all.Suites) != 1 {
		t.Fatalf("%v in\n%s", err, text)
	}
	return all.Suites[0]
}

// Each violation fails exactly one case, whatever its property is called.
func TestEveryViolationIsACase(t *testing.T) {
	for _, kind := range workload.Kinds() {
		for _, property := range []string{"exclusion", "orphan", "watch-leak", "goroutine-leak", "panic", "progress",
			"lost-wakeup", "unexpected-error", "no", "order"} {
			result := sim.Result{Workload: kind.Name, Verdict: sim.VerdictViolation,
				Violations: []sim.Found{{Violation: sim.Violation{Property: property, Message: "m"}}}}
			red := 0
			for _, c := range (&Trial{}).ciOf(result, []ciformat.Problem{{Property: property}}).Cases {
				if c.Verdict == sim.VerdictViolation {
					red++
				}
			}
			if red != 1 {
				t.Errorf("%s of a %s is in %d cases", property, kind.Name, red)
			}
		}
	}
}
