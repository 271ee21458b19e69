package ciformat

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/sim"
)

// With any story the XML parses back to the same text.
func TestAnyTextIsWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		markup, cdata := rapid.StringMatching("[`<>&|\"\n ]{0,30}"), rapid.StringMatching(`]]>|<!\[CDATA\[`)
		text := rapid.OneOf(rapid.String(), markup, cdata).Draw(rt, "text")
		text = strings.ToValidUTF8(text, "")
		broken := Case{Name: text, Verdict: sim.VerdictViolation, Problems: []Problem{{Property: text, Message: text, Story: text}}}
		report := Report{Title: text, Cases: []Case{broken}}
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
