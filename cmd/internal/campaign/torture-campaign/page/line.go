package page

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
)

// Line is how far a campaign is, in one line: drawn again and again on a terminal. Elsewhere, as in the log of a CI
// job, a line is written when something new is to be said, and once a minute.
type Line struct {
	w     io.Writer
	width func() int // of the terminal; 0: it is none
	last  time.Time  // by the coordinator's clock
	said  string     // what is news when it changes
}

// NewLine returns a line that is written to w, which may be a terminal.
func NewLine(w io.Writer) *Line {
	return &Line{w: w, width: func() int {
		file, ok := w.(*os.File)
		if !ok {
			return 0
		}
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 0
		}
		return width
	}}
}

// lineEvery is how often a line is written where there is no terminal.
const lineEvery = time.Minute

// Show shows how far the campaign is.
func (l *Line) Show(s status.Status) {
	j := judge(s, nil)
	if width := l.width(); width > 0 {
		fmt.Fprintf(l.w, "\r%s\x1b[K", cut(lineOf(s, j), width-1))
		return
	}
	said := fmt.Sprint(s.State, j.Verdict, j.Broken, len(j.Red), len(s.Unknown))
	if since := s.Now.Sub(l.last); said == l.said && since >= 0 && since < lineEvery {
		return
	}
	l.last, l.said = s.Now, said
	fmt.Fprintf(l.w, "%s %s\n", s.Now.UTC().Format("15:04:05"), lineOf(s, j))
	for _, reason := range j.Reasons() {
		fmt.Fprintf(l.w, "  %s\n", reason)
	}
}

// Clear removes the line from a terminal, so that something else can be written.
func (l *Line) Clear() {
	if l.width() > 0 {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

// lineOf is the line: what is the matter first, as a narrow terminal shows the beginning alone.
func lineOf(s status.Status, j Judgement) string {
	parts := []string{strings.ToUpper(string(j.Verdict))}
	switch s.State {
	case status.Running:
	case status.Concluding:
		parts = append(parts, fmt.Sprintf("minimising failures: job %d of %d", s.Concluded, len(s.Jobs)))
	default:
		parts = append(parts, string(s.State))
	}
	parts = append(parts, progress(s), fmt.Sprintf("%s episodes, %s/s", count(s.Episodes), count(int(s.Rate+0.5))))
	if j.Broken > 0 {
		parts = append(parts, plural(j.Broken, "property", "properties")+" broken")
	}
	if n := len(s.Unknown); n > 0 {
		parts = append(parts, plural(n, "unit", "units")+" unknown")
	}
	parts = append(parts, plural(workersThere(s), "worker", "workers"))
	if left := s.Ends.Sub(s.Now); !s.Ends.IsZero() && s.State == status.Running {
		parts = append(parts, "ends in about "+rounded(max(left, 0)))
	}
	return strings.Join(parts, " · ")
}

// progress is how many units are done.
func progress(s status.Status) string {
	if s.Units == 0 {
		return plural(s.Done, "unit", "units") + " done"
	}
	return fmt.Sprintf("%s of %s units (%d %%)", count(s.Done), count(s.Units), 100*s.Done/s.Units)
}

func workersThere(s status.Status) (n int) {
	for _, w := range s.Workers {
		if state := stateOf(w, s.Now); state == workerWorking || state == workerIdle {
			n++
		}
	}
	return n
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// cut cuts a text to so many characters.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}

// count prints a whole number, in groups of three digits.
func count[N ~int | ~int64](n N) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
