package torturecli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim"
)

// summaryMax bounds the stories in one summary, in bytes. A CI service shows about a megabyte.
const summaryMax = 512 << 10

// markdown writes a report for the summary page of a CI job: the verdict, a table of the cases, and the stories of
// the failed ones. The story of the likely root comes first, the others are folded.
func (r ciReport) markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s %s: %s\n\n", verdictSigns[r.verdict], inline(r.title), r.verdict)
	for _, fact := range r.facts {
		if fact[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", fact[0], inline(fact[1]))
		}
	}
	fmt.Fprint(&b, "\n| | case | |\n|---|---|---|\n")
	for _, c := range r.cases {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", verdictSigns[c.verdict], inline(c.name), inline(c.remark()))
	}
	b.WriteByte('\n')
	for _, p := range r.problems() {
		b.WriteString(p.details(summaryMax - b.Len()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// problems are those of all cases, by rank.
func (r ciReport) problems() (all []ciProblem) {
	for _, c := range r.cases {
		all = append(all, c.problems...)
	}
	slices.SortStableFunc(all, func(a, b ciProblem) int { return cmp.Compare(a.place, b.place) })
	return all
}

var verdictSigns = map[sim.Verdict]string{sim.VerdictOK: "✅", sim.VerdictViolation: "❌", sim.VerdictUnknown: "❔"}

// remark is the third column: what broke, or the property.
func (c ciCase) remark() string {
	switch c.verdict {
	case sim.VerdictViolation:
		return c.joined("; ", func(p ciProblem) string { return p.property + ": " + p.message })
	case sim.VerdictUnknown:
		return "unknown: " + c.reason
	}
	return c.help
}

// details is the story of a problem, if there is room for it.
func (p ciProblem) details(room int) string {
	if p.story == "" {
		return ""
	}
	open := " open"
	if p.place > 0 {
		open = ""
	}
	text := fmt.Sprintf("<details%s><summary>%s</summary>\n\n%s\n\n</details>\n\n", open,
		inline(p.property), fenced(p.story))
	if len(text) > room {
		return fmt.Sprintf("The story of %s is too long for this page.\n\n", inline(p.property))
	}
	return text
}

// inline escapes a text for a line or a table cell.
func inline(text string) string {
	escapes := strings.NewReplacer("\n", " ", "<", "&lt;", ">", "&gt;", "&", "&amp;",
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
