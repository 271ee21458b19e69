package ciformat

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim"
)

// SummaryMax bounds the stories in one summary, in bytes. A CI service shows about a megabyte.
const SummaryMax = 512 << 10

// Markdown writes a report for the summary page of a CI job: the verdict, a table of the cases, and the stories of
// the failed ones. The story of the likely root comes first, the others are folded.
func (r Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s %s: %s\n\n", Signs[r.Verdict], Inline(r.Title), r.Verdict)
	for _, fact := range r.Facts {
		if fact[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", fact[0], Inline(fact[1]))
		}
	}
	fmt.Fprint(&b, "\n| | case | |\n|---|---|---|\n")
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", Signs[c.Verdict], Inline(c.Name), Inline(c.remark()))
	}
	b.WriteByte('\n')
	for _, p := range r.problems() {
		b.WriteString(Folded(p.Property, p.Story, p.Place == 0, SummaryMax-b.Len()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// problems are those of all cases, by rank.
func (r Report) problems() (all []Problem) {
	for _, c := range r.Cases {
		all = append(all, c.Problems...)
	}
	slices.SortStableFunc(all, func(a, b Problem) int { return cmp.Compare(a.Place, b.Place) })
	return all
}

// Signs stand for verdicts.
var Signs = map[sim.Verdict]string{sim.VerdictOK: "✅", sim.VerdictViolation: "❌", sim.VerdictUnknown: "❔"}

// remark is the third column: what broke, or the property.
func (c Case) remark() string {
	switch c.Verdict {
	case sim.VerdictViolation:
		return c.joined("; ", func(p Problem) string { return p.Property + ": " + p.Message })
	case sim.VerdictUnknown:
		return "unknown: " + c.Reason
	}
	return c.Help
}

// Folded is a text that a click on its title unfolds, if there is room for it.
func Folded(title, text string, open bool, room int) string {
	if text == "" {
		return ""
	}
	mark := ""
	if open {
		mark = " open"
	}
	folded := fmt.Sprintf("<details%s><summary>%s</summary>\n\n%s\n\n</details>\n\n", mark, Inline(title), fenced(text))
	if len(folded) > room {
		return fmt.Sprintf("The story of %s is too long for this page.\n\n", Inline(title))
	}
	return folded
}

// Inline escapes a text for a line or a table cell.
func Inline(text string) string {
	escapes := strings.NewReplacer("\n", " ", "\\", "\\\\", "[", "\\[", "<", "&lt;", ">", "&gt;", "&", "&amp;",
		"|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`")
	return escapes.Replace(strings.TrimSpace(text))
}

// fenced puts a text into a code block with a fence longer than any in the text.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + strings.TrimRight(text, "\n") + "\n" + fence
}
