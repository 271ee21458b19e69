package ciformat

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

// With any story the XML parses back to the same text, and the page's block ends at its fence.
func TestAnyTextIsWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		markup, cdata := rapid.StringMatching("[`<>&|\"\n ]{0,30}"), rapid.StringMatching(`]]>|<!\[CDATA\[`)
		text := rapid.OneOf(rapid.String(), markup, cdata).Draw(rt, "text")
		text = strings.ToValidUTF8(text, "")
		broken := Case{Name: text, Verdict: sim.VerdictViolation, Problems: []Problem{{Property: text, Message: text, Story: text}}}
		report := Report{Title: text, Verdict: sim.VerdictViolation, Cases: []Case{broken}}
		var out bytes.Buffer
		if err := report.JUnit(&out); err != nil {
			rt.Fatal(err)
		}
		var all Suites
		if err := xml.Unmarshal(out.Bytes(), &all); err != nil {
			rt.Fatalf("%v in\n%s", err, out.Bytes())
		}
		if got := all.Suites[0].Cases[0].Failure.Text; got != printable(text) {
			rt.Fatalf("%q comes back as %q", text, got)
		}
		fence, _, _ := strings.Cut(Fenced(text), "text\n")
		if strings.Count(Fenced(text), fence) != 2 {
			rt.Fatalf("the block of %q does not end where it should: %s", text, Fenced(text))
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
	long := strings.Repeat("x\n", SummaryMax/2)
	report := Report{Cases: []Case{{Problems: []Problem{
		{Property: "order", Message: "m", Story: "short"}, {Property: "herd", Message: "m", Story: long, Place: 1}}}}}
	var out bytes.Buffer
	if err := report.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	if out.Len() > SummaryMax || !strings.Contains(out.String(), "short") ||
		!strings.Contains(out.String(), "The story of herd is too long") {
		t.Errorf("%d bytes:\n%.300s", out.Len(), out.String())
	}
}

// parsed is what a report says as SARIF.
func parsed(t *testing.T, r Report) Run {
	t.Helper()
	var out bytes.Buffer
	if err := r.SARIF(&out); err != nil {
		t.Fatal(err)
	}
	var log Log
	if err := json.Unmarshal(out.Bytes(), &log); err != nil || len(log.Runs) != 1 {
		t.Fatalf("%v in\n%s", err, out.Bytes())
	}
	return log.Runs[0]
}

// madeRepository makes a folder with a module below its root, and goes there.
func madeRepository(t *testing.T) {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		".git/HEAD": "", "app/go.mod": "module example.com/app\n", "app/locks/my lock.go": "package locks\n",
		"app/out/order.json": "{}", "app/go.sum": "",
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(root, "app"))
}

// A failure is at the innermost line that is in the repository, or else in its file, or else nowhere.
func TestSARIFPlaces(t *testing.T) {
	madeRepository(t)
	outside := filepath.Join(t.TempDir(), "order.json")
	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	mine, other := "example.com/app/locks/my lock.go:42", "example.com/lib/lock.go:7"
	for _, c := range []struct {
		code story.Lines
		file string
		uri  string
		line int
	}{
		{story.Lines{mine}, "", "app/locks/my%20lock.go", 42},
		{story.Lines{other, mine}, "out/order.json", "app/locks/my%20lock.go", 42},
		{story.Lines{other}, "out/order.json", "app/out/order.json", 1},
		{story.Lines{"example.com/app/locks/gone.go:1", "no line"}, "out/order.json", "app/out/order.json", 1},
		{nil, "out/gone.json", "", 0},
		{nil, outside, "", 0},
	} {
		run := parsed(t, Report{Cases: []Case{{Problems: []Problem{{Property: "order", Code: c.code, File: c.file}}}}})
		got := run.Results[0].Locations
		if c.uri == "" && len(got) > 0 {
			t.Errorf("%v and %q are at %+v", c.code, c.file, got)
		}
		if c.uri != "" && (len(got) != 1 || got[0].Physical != Physical{Artifact{c.uri, "%SRCROOT%"}, Region{c.line}}) {
			t.Errorf("%v and %q are at %+v, not at %s:%d", c.code, c.file, got, c.uri, c.line)
		}
	}
}

// The file of a failure is linked, what looks like a link is none, and each result has its rule.
func TestSARIFResults(t *testing.T) {
	madeRepository(t)
	run := parsed(t, Report{Title: "lock (mine) on sim", Verdict: sim.VerdictViolation, Cases: []Case{
		{Name: "order", Verdict: sim.VerdictViolation, Problems: []Problem{{Property: "order", Of: "lock (mine)", ID: "order-1",
			Message: "it [says](https://example.com)\x1b[31m", File: "out/order.json", Again: "replay: it"}}},
		{Name: "one job", Problems: []Problem{{Property: "of my own", Message: "m"}}},
		{Name: "herd", Verdict: sim.VerdictUnknown, Reason: "no time"},
		{Name: "leak", Verdict: sim.VerdictUnknown, Reason: "no time"},
	}})
	want := []string{
		"lock (mine) breaks order: it \\[says\\](https://example.com)\\u001b[31m\nreplay: it\nAll of it is in [app/out/order.json](1).",
		"one job: of my own: m", "lock (mine) on sim: unknown, which is no pass: no time (herd; leak)",
	}
	rules, levels := []string{"order", "of my own", "undecided"}, []string{"error", "error", "warning"}
	if len(run.Results) != len(want) {
		t.Fatalf("there are %d results", len(run.Results))
	}
	for i, r := range run.Results {
		if r.Message.Text != want[i] || r.RuleID != rules[i] || r.Level != levels[i] || run.Tool.Driver.Rules[r.RuleIndex].ID != rules[i] {
			t.Errorf("result %d is %+v", i, r)
		}
	}
	if first := run.Results[0]; first.Fingerprints["zktortureFailure/v1"] != "lock (mine): order-1" || first.Related[0].ID != 1 {
		t.Errorf("the first has fingerprints %v and files %v", first.Fingerprints, first.Related)
	}
	if run.Invocations[0].Successful {
		t.Error("it is said that all was judged")
	}
}

// A property's help is the first page of the cookbook that has it.
func TestCookbookOfProperties(t *testing.T) {
	index, err := os.ReadFile("../../docs/cookbook/index.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\|[^|]*\|[^|]*\| ([^|]*) \| \[(.*)\.md\]`).FindAllStringSubmatch(string(index), -1) {
		for _, property := range strings.Split(row[1], ", ") {
			if pages[property] == "" {
				pages[property] = row[2]
			}
		}
	}
	if diff := cmp.Diff(pages, cookbook); diff != "" {
		t.Errorf("the index of the cookbook says otherwise (-index +code):\n%s", diff)
	}
}
