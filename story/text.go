package story

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/plaintext"
)

// TextOptions are the options of the text.
type TextOptions struct {
	Width int  // columns; 0: [WidthDefault]; less than [WidthMin]: that
	Color bool // for a terminal
}

// Widths of texts in columns.
const (
	WidthDefault = 100
	WidthMin     = 60
)

// style is an emphasis on a terminal.
type style string

const (
	plain  style = ""
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	yellow style = "33"
)

// paint emphasises a text with the escape sequences of ECMA-48, SGR.
func paint(color bool, s style, text string) string {
	if !color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Text tells the story for a terminal or a log: the sentence; a table of events; the cited sessions and znodes; what
// waits for what; the pivotal step; the commands. Lines fit the width, except for commands, which must not be broken.
func (s *Story) Text(o TextOptions) string {
	if o.Width == 0 {
		o.Width = WidthDefault
	}
	o.Width = max(o.Width, WidthMin)
	s = s.Folded()
	w := &writer{o: o}
	w.paragraph(bold, s.short(s.Title))
	if s.Note != "" {
		w.paragraph(yellow, s.Note)
	}
	w.blank()
	w.out.WriteString(newTable(s, o).String())
	if s.Left > 0 {
		w.item(fmt.Sprintf("not shown: %d more of the history's operations", s.Left))
	}
	s.textBeside(w)
	s.textSessions(w)
	s.textZnodes(w)
	s.textWaits(w)
	s.textPivot(w)
	s.textCode(w)
	s.textCommands(w)
	return w.out.String()
}

// writer prints sections.
type writer struct {
	o   TextOptions
	out strings.Builder
}

func (w *writer) blank() { w.out.WriteByte('\n') }

func (w *writer) paragraph(s style, text string) {
	for _, line := range breakLines(text, w.o.Width, "", "") {
		w.out.WriteString(paint(w.o.Color, s, line) + "\n")
	}
}

func (w *writer) section(title string) {
	w.blank()
	w.paragraph(bold, title)
}

// item prints a text below a section's title.
func (w *writer) item(text string) {
	for _, line := range breakLines(text, w.o.Width, "  ", "    ") {
		w.out.WriteString(line + "\n")
	}
}

func (s *Story) textSessions(w *writer) {
	if len(s.Sessions) == 0 {
		return
	}
	w.section("sessions")
	for _, session := range s.Sessions {
		w.item(s.tellSession(session))
	}
}

func (s *Story) tellSession(session Session) string {
	text := fmt.Sprintf("%s is %s of %s, from step %d", session.Name, session.ID,
		s.Clients[session.Client].Name, session.Begin)
	switch {
	case session.End < 0:
		return text + " on; it lives"
	case !session.Expired:
		return text + fmt.Sprintf(" to %d, closed by its client", session.End)
	case session.Learned < 0:
		return text + fmt.Sprintf(" to %d, when it expires at the servers; its client never learns that", session.End)
	}
	return text + fmt.Sprintf(" to %d, when it expires at the servers; its client learns that at step %d",
		session.End, session.Learned)
}

func (s *Story) textZnodes(w *writer) {
	asked := 0
	for _, z := range s.Znodes {
		if !z.Cited {
			continue
		}
		if asked++; asked == 1 {
			w.section("znodes in question")
		}
		w.item(z.Name + " is " + z.Path)
		if len(z.Lives) == 0 {
			w.item("- it never exists")
		}
		for _, l := range z.Lives {
			w.item("- " + s.tellLife(l))
		}
	}
}

func (s *Story) tellLife(l Life) string {
	text := fmt.Sprintf("step %d: %s", l.From, s.deedOf("made by", l.Maker))
	if l.Maker < 0 {
		text = fmt.Sprintf("step %d: made by the world", l.From)
	}
	if l.Owner >= 0 {
		text += fmt.Sprintf(", ephemeral of %s", s.Sessions[l.Owner].Name)
	}
	if n := len(l.Sets); n > 0 {
		text += fmt.Sprintf("; set %s, last at step %d", times(n), l.Sets[n-1])
	}
	return text + "; " + s.tellEnd(l)
}

func (s *Story) tellEnd(l Life) string {
	switch {
	case l.Until < 0:
		return "it stays"
	case l.Expired:
		return fmt.Sprintf("step %d: gone with its session", l.Until)
	case l.Remover < 0:
		return fmt.Sprintf("step %d: deleted", l.Until)
	}
	return fmt.Sprintf("step %d: %s", l.Until, s.deedOf("deleted by", l.Remover))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// deedOf names the operation that did something.
func (s *Story) deedOf(done string, operation int) string {
	if operation < 0 {
		return done + " nobody"
	}
	o := s.Operations[operation]
	return fmt.Sprintf("%s %s's %s", done, s.user(o.Client, o.User), o.Name)
}

func (s *Story) textWaits(w *writer) {
	if len(s.Waits) == 0 {
		return
	}
	w.section("who waits for whom, when all faults are healed")
	for _, wait := range s.Waits {
		w.item(s.tellWait(wait))
	}
}

func (s *Story) tellWait(wait Wait) string {
	o := s.Operations[wait.Operation]
	text := fmt.Sprintf("%s in %s(%s) since step %d", s.user(o.Client, o.User), o.Name, o.Arg, o.Call)
	if wait.Session >= 0 {
		text += ", session " + s.Sessions[wait.Session].Name
	}
	if len(wait.For) == 0 {
		return text + ": for nothing; no watch is armed that could wake it"
	}
	var parts []string
	for _, a := range wait.For {
		parts = append(parts, s.tellAwaited(a))
	}
	return text + ": for " + strings.Join(parts, "; for ")
}

func (s *Story) tellAwaited(a Awaited) string {
	name := s.short(a.Path)
	switch {
	case !a.Exists:
		return "the creation of " + name + ", which does not exist" + s.lastEnd(a.Path)
	case a.Kind == string(fakezk.WatchChild):
		return "a change of the children of " + name
	case a.Owner < 0:
		return "a change of " + name
	}
	return "the end of " + name + ", which belongs to " + s.tellOwner(s.Sessions[a.Owner])
}

// tellOwner names a session and its client, and says whether it lives.
func (s *Story) tellOwner(owner Session) string {
	text := owner.Name + " of " + s.Clients[owner.Client].Name
	if owner.End >= 0 {
		return text + fmt.Sprintf(", which ended at step %d", owner.End)
	}
	return text + ", which lives"
}

// lastEnd says when a deleted znode was deleted last.
func (s *Story) lastEnd(path string) string {
	for _, z := range s.Znodes {
		if z.Path == path && len(z.Lives) > 0 {
			return fmt.Sprintf(" since step %d", z.Lives[len(z.Lives)-1].Until)
		}
	}
	return ""
}

func (s *Story) textPivot(w *writer) {
	if s.Pivot == nil {
		return
	}
	w.section("pivotal step")
	w.item(s.Pivot.Text)
	if s.Pivot.Why != "" {
		w.item("why: " + s.Pivot.Why)
	}
	if s.Pivot.Step > 0 {
		w.item(fmt.Sprintf("from step 0 to %d: %s", s.Curve[len(s.Curve)-1].Step, s.sparkline(w.o.Width-24)))
	}
}

// textCode lists the lines of code that sent requests, each with its steps: in the table they would leave no room.
func (s *Story) textCode(w *writer) {
	steps := map[string][]string{}
	for _, e := range s.Events {
		if at := fmt.Sprint(e.Step); e.Code != "" && !slices.Contains(steps[e.Code], at) {
			steps[e.Code] = append(steps[e.Code], at)
		}
	}
	if len(steps) == 0 {
		return
	}
	w.section("code that sent the requests, by step")
	for _, code := range slices.SortedFunc(maps.Keys(steps), byLine) {
		w.item(code + ": " + strings.Join(steps[code], " "))
	}
}

// byLine orders lines of code by file and number.
func byLine(a, b string) int {
	fileA, lineA, _ := strings.Cut(a, ":")
	fileB, lineB, _ := strings.Cut(b, ":")
	return cmp.Or(cmp.Compare(fileA, fileB), len(lineA)-len(lineB), cmp.Compare(lineA, lineB))
}

// sparkline draws the curve with a character for each step, or for each few steps if there are many.
func (s *Story) sparkline(width int) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	each := (len(s.Curve) + width - 1) / width
	var out []rune
	for i := 0; i < len(s.Curve); i += each {
		p := s.Curve[i]
		out = append(out, levels[p.Broken*(len(levels)-1)/max(p.Runs, 1)])
	}
	return string(out)
}

func (s *Story) textCommands(w *writer) {
	if len(s.Commands) > 0 {
		w.blank()
	}
	for _, c := range s.Commands {
		w.out.WriteString(plaintext.String(c.Name+": "+c.Line) + "\n")
	}
}
