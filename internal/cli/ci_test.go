package cli

import (
	"bytes"
	"encoding/xml"
	"os"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/ciformat"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// An unknown verdict is no pass, neither in the XML nor on the page.
func TestUnknownDoesNotPass(t *testing.T) {
	r := &runCmd{Backend: "sim"}
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
	text.Reset()
	if report.Markdown(&text); strings.Contains(text.String(), "✅") ||
		!strings.Contains(text.String(), "## ❔ lock (ours) on sim: unknown") {
		t.Errorf("the page says:\n%s", text.String())
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
			for _, c := range (&runCmd{}).ciOf(result, []ciformat.Problem{{Property: property}}).Cases {
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

// A violation of a twin is reported.
func TestAnAccusedTwin(t *testing.T) {
	t.Chdir(t.TempDir())
	animals, err := zoo.Find([]string{"SP12"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := &console.Context{Context: t.Context(), Streams: console.Streams{Stdout: &out, Stderr: &out, Self: "torture"}}
	z := &zooCmd{Seed: 1, Backend: "ensemble", CIFlags: output.CIFlags{JUnit: "zoo.xml"}}
	catch := zoo.Catch{Animal: animals[0], Found: &sim.Found{}, Problem: "the fixed version is accused of orphan: so it is"}
	got := console.Status(c.Streams, z.report(c, []zoo.Catch{catch}, nil))
	if got != console.ExitViolation || !strings.Contains(out.String(), "accused fixed versions: SP12") {
		t.Errorf("exit status %d:\n%s", got, out.String())
	}
	text, err := os.ReadFile("zoo.xml")
	if err != nil {
		t.Fatal(err)
	}
	f := parseSuite(t, text).Cases[0].Failure
	if f == nil || f.Type != "accused fixed version" || !strings.Contains(f.Text+f.Message, "so it is") {
		t.Errorf("the case says %+v", f)
	}
}
