package torturecli

import (
	"bytes"
	"encoding/xml"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/internal/bubbles"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// An unknown verdict is no pass, neither in the XML nor on the page.
func TestUnknownDoesNotPass(t *testing.T) {
	r := &runCmd{Backend: "sim"}
	report := r.ciOf(sim.Result{Workload: "lock", Recipe: "ours", Verdict: sim.VerdictUnknown,
		Reason: "episode 3 could not be judged"}, nil)
	if len(report.cases) < 5 {
		t.Fatalf("there are %d cases", len(report.cases))
	}
	var text bytes.Buffer
	if err := report.junit(&text); err != nil {
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
	if report.markdown(&text); strings.Contains(text.String(), "✅") ||
		!strings.Contains(text.String(), "## ❔ lock (ours) on sim: unknown") {
		t.Errorf("the page says:\n%s", text.String())
	}
}

func parseSuite(t *testing.T, text []byte) junitSuite {
	t.Helper()
	var all junitSuites
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
			for _, c := range (&runCmd{}).ciOf(result, []string{"s"}).cases {
				if c.verdict == sim.VerdictViolation {
					red++
				}
			}
			if red != 1 {
				t.Errorf("%s of a %s is in %d cases", property, kind.Name, red)
			}
		}
	}
}

// With any story the XML parses back to the same text, and the page's block ends at its fence.
func TestAnyTextIsWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		markup, cdata := rapid.StringMatching("[`<>&|\"\n ]{0,30}"), rapid.StringMatching(`]]>|<!\[CDATA\[`)
		text := rapid.OneOf(rapid.String(), markup, cdata).Draw(rt, "text")
		text = strings.ToValidUTF8(text, "")
		broken := ciCase{name: text, verdict: sim.VerdictViolation, problems: []ciProblem{{text, text, text, 0}}}
		report := ciReport{title: text, verdict: sim.VerdictViolation, cases: []ciCase{broken}}
		var out bytes.Buffer
		if err := report.junit(&out); err != nil {
			rt.Fatal(err)
		}
		suite := parseSuite(t, out.Bytes())
		if got := suite.Cases[0].Failure.Text; got != printable(text) {
			rt.Fatalf("%q comes back as %q", text, got)
		}
		fence, _, _ := strings.Cut(fenced(text), "text\n")
		if strings.Count(fenced(text), fence) != 2 {
			rt.Fatalf("the block of %q does not end where it should: %s", text, fenced(text))
		}
	})
}

// printable maps a text to one that XML 1.0 can hold.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' ||
			r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 {
			return r
		}
		return '\ufffd'
	}, text)
}

// A summary that is too long says which stories it omits.
func TestLongSummaries(t *testing.T) {
	long := strings.Repeat("x\n", summaryMax/2)
	report := ciReport{cases: []ciCase{{problems: []ciProblem{{"order", "m", "short", 0}, {"herd", "m", long, 1}}}}}
	var out bytes.Buffer
	if err := report.markdown(&out); err != nil {
		t.Fatal(err)
	}
	if out.Len() > summaryMax || !strings.Contains(out.String(), "short") ||
		!strings.Contains(out.String(), "The story of herd is too long") {
		t.Errorf("%d bytes:\n%.300s", out.Len(), out.String())
	}
}

// A violation of a twin on real servers is reported, and not sought again in simulation.
func TestATwinThatRealServersAccuse(t *testing.T) {
	t.Chdir(t.TempDir())
	animals, err := zoo.Find([]string{"SP12"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := &commandContext{t.Context(), streams{out: &out, err: &out, self: "torture"}}
	z := &zooCmd{Seed: 1, Backend: "ensemble", ciFlags: ciFlags{JUnit: "zoo.xml"}}
	catch := zoo.Catch{Animal: animals[0], Found: &sim.Found{}, Problem: "the twin is accused of orphan: so it is"}
	got := status(c.streams, z.report(c, []zoo.Catch{catch}, nil))
	if got != exitViolation || !strings.Contains(out.String(), "accused twins: SP12") {
		t.Errorf("exit status %d:\n%s", got, out.String())
	}
	text, err := os.ReadFile("zoo.xml")
	if err != nil {
		t.Fatal(err)
	}
	f := parseSuite(t, text).Cases[0].Failure
	if f == nil || f.Type != "accused twin" || !strings.Contains(f.Text+f.Message, "so it is") {
		t.Errorf("the case says %+v", f)
	}
}

// An accused twin has counterexamples that replay and explain, and its story is in the report.
func TestAnAccusedTwinHasAStory(t *testing.T) {
	bubbles.Many(t)
	t.Chdir(t.TempDir())
	animals, err := zoo.Find([]string{"DQ6"})
	if err != nil {
		t.Fatal(err)
	}
	sound := animals[0]
	sound.Broken, sound.Twin = sound.Twin, sound.Broken
	var out bytes.Buffer
	c := &commandContext{t.Context(), streams{out: &out, err: &out, self: "torture"}}
	z := &zooCmd{Seed: 1, Episodes: 3000, ciFlags: ciFlags{JUnit: "zoo.xml", Summary: "zoo.md"}}
	problem := "not found in 3000 episodes; the fixed twin is accused: order"
	catch := zoo.Catch{Animal: sound, Episodes: 3000, Problem: problem}
	if got := status(c.streams, z.report(c, []zoo.Catch{catch}, nil)); got != exitViolation {
		t.Errorf("exit status %d:\n%s", got, out.String())
	}
	text, err := os.ReadFile("zoo.xml")
	if err != nil {
		t.Fatal(err)
	}
	failure := parseSuite(t, text).Cases[0].Failure
	if failure == nil || failure.Type != "accused twin" ||
		!strings.Contains(failure.Text, "breaks order") || !strings.Contains(failure.Text, "pivotal step") {
		t.Errorf("the case says %+v", failure)
	}
	_, line, found := strings.Cut(out.String(), "\nexplain: torture ")
	line, _, _ = strings.Cut(line, "\n")
	if !found || run(t.Context(), strings.Fields(line), streams{out: &out, err: &out, self: "torture"}) != exitOK {
		t.Errorf("%q does not work:\n%s", line, out.String())
	}
	_, line, _ = strings.Cut(out.String(), "\nreplay: torture ")
	line, _, _ = strings.Cut(line, "\n")
	if run(t.Context(), strings.Fields(line), streams{out: &out, err: &out, self: "torture"}) != exitViolation {
		t.Errorf("%q does not work:\n%s", line, out.String())
	}
}
